// Package console is how records look as text: lines that `trialog produce` reads and `trialog consume` prints. Properties
// have the names, defaults and meanings of kafka-console-producer and kafka-console-consumer; one that nobody knows is an
// error here, where Kafka's tools pass over it. It does no I/O but writing to the buffer it is given.
package console

import (
	"fmt"
	"slices"
	"strings"
)

// Properties are --property name=value, the last of a name wins.
type Properties struct {
	values map[string]string
	known  []string // of the names that were asked for
}

// ParseProperties reads each as name=value.
func ParseProperties(texts []string) (*Properties, error) {
	p := &Properties{values: map[string]string{}}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--property %q is not name=value", text)
		}
		p.values[name] = value
	}
	return p, nil
}

// text puts the value of name into to, if it is given.
func (p *Properties) text(name string, to *string) {
	p.known = append(p.known, name)
	if v, ok := p.values[name]; ok {
		*to = v
	}
}

// truth does the same with true and false.
func (p *Properties) truth(name string, to *bool) error {
	text := fmt.Sprint(*to)
	p.text(name, &text)
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		*to = true
	case "false":
		*to = false
	default:
		return fmt.Errorf("--property %s=%s: must be true or false", name, text)
	}
	return nil
}

// rest is an error if there are properties that nobody asked for.
func (p *Properties) rest() error {
	var unknown []string
	for name := range p.values {
		if !slices.Contains(p.known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	slices.Sort(p.known)
	return fmt.Errorf("--property %s: no such property; there are %s", strings.Join(unknown, ", "), strings.Join(p.known, ", "))
}
