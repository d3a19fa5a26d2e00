package explore

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
)

// Graph is all states of a small world and the steps between them.
type Graph struct {
	Title string   `json:"title"`
	Nodes []Node   `json:"nodes"`
	Edges []Edge   `json:"edges"`
	Kinds []string `json:"kinds"`
}

// Node is a state; Level is how many steps it is from an initial one.
type Node struct {
	Text     string   `json:"text"`
	Level    int      `json:"level"`
	Violates []string `json:"violates,omitempty"`
}

// Edge is a step between two nodes.
type Edge struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Text string `json:"text"`
	Kind int    `json:"kind"`
}

// Draw collects the graph of a world; it is an error if it has more than most states.
func Draw[S any](w World[S], title string, invariants []Property[S], noSymmetry bool, most int) (*Graph, error) {
	g := &Graph{Title: title, Kinds: w.Kinds()}
	c := newCanon(w, &Options[S]{NoSymmetry: noSymmetry})
	places := map[string]int{}
	var states []S
	add := func(s *S, level int) int {
		key := string(c.encode(s))
		at, there := places[key]
		if !there {
			at = len(states)
			places[key] = at
			states = append(states, *s)
			n := Node{Text: w.Show(s), Level: level}
			for _, inv := range invariants {
				if !inv.Holds(s) {
					n.Violates = append(n.Violates, inv.Name)
				}
			}
			g.Nodes = append(g.Nodes, n)
		}
		return at
	}
	for _, s := range w.Init() {
		add(&s, 0)
	}
	for at := 0; at < len(states); at++ {
		if len(states) > most {
			return nil, fmt.Errorf("more than %d states: too many to look at; give smaller bounds", most)
		}
		from := states[at]
		for _, a := range w.Enabled(&from, nil) {
			var to S
			w.Step(&from, a, &to)
			g.Edges = append(g.Edges, Edge{From: at, To: add(&to, g.Nodes[at].Level+1), Text: w.Describe(&from, a), Kind: w.Kind(a)})
		}
	}
	return g, nil
}

//go:embed graph.html
var page string

var pageTemplate = template.Must(template.New("graph").Parse(page))

// HTML writes the graph as one page that needs nothing else.
func (g *Graph) HTML(out io.Writer) error {
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return pageTemplate.Execute(out, map[string]any{"Title": g.Title, "Data": template.JS(data)})
}
