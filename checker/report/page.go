package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"trialog/checker/oracle"
)

//go:embed assets
var assets embed.FS

// scripts in the order in which the page runs them.
var scripts = []string{"model.js", "timeline.js", "strip.js", "panel.js", "main.js"}

// Write writes the report of a run: one HTML file. An error means that the history is none, or that w failed.
func Write(w io.Writer, in *Input) error {
	d, err := Build(in)
	if err != nil {
		return err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return pages().ExecuteTemplate(w, "report.html", view(in, d, text))
}

// pages are parsed when the first one is written: a program that writes none does no work for them.
var pages = sync.OnceValue(func() *template.Template {
	funcs := template.FuncMap{"seconds": seconds, "thousands": thousands, "together": together, "asset": asset, "script": script, "style": style, "head": headOf}
	return template.Must(template.New("pages").Funcs(funcs).ParseFS(assets, "assets/*.html"))
})

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic("report: " + err.Error())
	}
	return string(text)
}

// script is the page's own code, which is part of this program.
func script() template.JS {
	var b strings.Builder
	for _, name := range scripts {
		b.WriteString("// " + name + "\n" + asset(name))
	}
	return template.JS(b.String())
}

// head is what the pages have before their bodies.
type head struct {
	Title   string
	Scripts bool // the page has some
}

func headOf(scripts bool, title ...any) head {
	var b strings.Builder
	for _, part := range title {
		fmt.Fprint(&b, part)
	}
	return head{b.String(), scripts}
}

func style() template.CSS { return template.CSS(asset("style.css")) }

// page is what the template shows.
type page struct {
	*Input
	Data     template.JS // JSON, with <, > and & escaped
	Result   string      // valid, invalid, documented, unknown: a word for CSS
	Label    string
	Sentence string
	Lead     *told // the story that the page begins with; nil: none
	Others   []told
	Classes  []classCount
	Coverage []Fact
	Lanes    int
	Notes    []string
	Empty    bool // nothing was run
}

// told is a story with its place in the data.
type told struct {
	Story
	Index    int
	Where    string
	Headline string
	Lead     bool
}

type classCount struct {
	Class, Means string
	N            int
}

var labels = map[oracle.Result][2]string{
	oracle.Valid: {"valid", "Valid"}, oracle.Invalid: {"invalid", "Invalid"},
	oracle.DocumentedLoss: {"documented", "Documented loss"}, oracle.Unknown: {"unknown", "Undecided"},
}

func view(in *Input, d *Data, data []byte) *page {
	shown := *in
	shown.Plan, shown.Properties = cut(in.Plan, textMax), cut(in.Properties, textMax)
	p := &page{Input: &shown, Data: template.JS(data), Result: "unknown", Label: "Undecided", Sentence: sentence(in, d), Lanes: len(d.Procs)}
	p.Empty = len(d.Ops) == 0 && len(d.Marks) == 0 && len(d.Output) == 0
	for i := range d.Stories {
		s := &d.Stories[i]
		t := told{Story: *s, Index: i, Headline: s.headline(d), Lead: i == leadIndex(d.Stories)}
		if s.Part >= 0 {
			t.Where = d.Parts[s.Part].Name
			if s.Offset >= 0 {
				t.Where += fmt.Sprintf(" offset %d", s.Offset)
			}
		}
		if t.Lead {
			p.Lead = &t
		} else {
			p.Others = append(p.Others, t)
		}
	}
	p.notes(d)
	if v := in.Verdict; v != nil {
		p.verdict(v)
	}
	return p
}

func (p *page) verdict(v *oracle.Verdict) {
	if l, ok := labels[v.Result]; ok {
		p.Result, p.Label = l[0], l[1]
	}
	for _, c := range oracle.Classes {
		if n := v.Counts[c.Class]; n > 0 {
			p.Classes = append(p.Classes, classCount{c.Class, strings.TrimPrefix(c.Doc, "(events) "), n})
		}
	}
	c := v.Coverage
	p.Coverage = []Fact{
		{"operations", thousands(c.Operations)}, {"records acknowledged", thousands(c.Acked)}, {"records read", thousands(c.Read)},
		{"produces of unknown outcome", fmt.Sprintf("%s of %s", thousands(c.Unknown), thousands(c.Produces))},
		{"partitions read to the end", fmt.Sprintf("%d of %d", c.Drained, c.Partitions)},
	}
}

// notes says what is not on the page, and what the reader should know before trusting it.
func (p *page) notes(d *Data) {
	add := func(format string, args ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, args...)) }
	if d.OpsLeftOut > 0 {
		add("%s were left out of this page; history.jsonl has all.", count(d.OpsLeftOut, "operation"))
	}
	if d.RecsLeftOut > 0 {
		add("%s were left out of the logs, of those that were acknowledged and read; that looks like holes.", count(d.RecsLeftOut, "record"))
	}
	if d.LinesLeftOut > 0 {
		add("%s of output were left out of this page; the files under out have all.", count(d.LinesLeftOut, "line"))
	}
	for _, s := range p.NotFired {
		add("This step of the plan never struck: %s", s)
	}
	for _, s := range p.Panics {
		add("A process panicked: %s", s)
	}
	if p.Input.Verdict != nil {
		for i, s := range p.Input.Verdict.Reasons {
			if i > 0 || p.Input.Verdict.Result != oracle.Unknown { // the sentence has the first
				add("Besides: %s", s)
			}
		}
		for _, s := range p.Input.Verdict.Asserts {
			add("An assertion of the broker failed: %s", s)
		}
	}
}

// together keeps names like t-0 in one piece where a line ends.
func together(text string) template.HTML {
	words := strings.Split(text, " ")
	for i, w := range words {
		words[i] = template.HTMLEscapeString(w)
		if strings.Contains(w, "-") && len(w) < 30 {
			words[i] = `<span class="name">` + words[i] + `</span>`
		}
	}
	return template.HTML(strings.Join(words, " "))
}

// RunRow is one run in the list that `trialog serve` shows.
type RunRow struct {
	Name, Experiment, Cell, World, Engine string
	Seed                                  uint64
	RulesOff                              []string
	Result                                oracle.Result
	Brief                                 string // class of a conviction, or what is missing
	Age                                   string
	Unreadable                            string // why the directory shows no run; the rest is empty then
}

// Word is the result as CSS knows it.
func (r RunRow) Word() string {
	if l, ok := labels[r.Result]; ok {
		return l[0]
	}
	return "unknown"
}

// WriteList writes the list of runs, in the order given. Links lead to NAME/.
func WriteList(w io.Writer, dir string, rows []RunRow) error {
	counts := map[oracle.Result]int{}
	for _, r := range rows {
		counts[r.Result]++
	}
	var totals []classCount
	for _, r := range []oracle.Result{oracle.Invalid, oracle.DocumentedLoss, oracle.Unknown, oracle.Valid} {
		if counts[r] > 0 {
			totals = append(totals, classCount{Class: string(r), Means: labels[r][0], N: counts[r]})
		}
	}
	var b bytes.Buffer
	err := pages().ExecuteTemplate(&b, "list.html", struct {
		Dir    string
		Rows   []RunRow
		Totals []classCount
	}{dir, slices.Clone(rows), totals})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}
