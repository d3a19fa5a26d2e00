package config

import "strconv"

// Source is where an effective value comes from, with Kafka's numbers (DescribeConfigs).
type Source int8

// Sources.
const (
	SourceTopic         Source = 1
	SourceDynamicBroker Source = 2
	SourceStaticBroker  Source = 4
	SourceDefault       Source = 5
)

// Synonym is one place where a value is given.
type Synonym struct {
	Name   string
	Value  string // as it is given there, in the unit of that name
	Source Source
}

// Described is one setting for DescribeConfigs.
type Described struct {
	Definition *Definition
	Value      string // in the unit of the setting's own name; "" when it is given nowhere
	Source     Source // of the value
	Synonyms   []Synonym
}

// DescribeBroker lists all broker settings, sorted by name.
func (b *Broker) DescribeBroker() []Described {
	var all []Described
	for i := range table {
		d := &table[i]
		if d.Scope&ScopeBroker == 0 {
			continue
		}
		var sources []Synonym
		if text, ok := Get(b.set, d.Name); ok {
			sources = append(sources, Synonym{Name: d.Name, Value: text, Source: SourceStaticBroker})
		}
		if d.Default != "" {
			sources = append(sources, Synonym{Name: d.Name, Value: d.Default, Source: SourceDefault})
		}
		all = append(all, described(d, sources))
	}
	return all
}

// DescribeTopic lists all topic settings of a topic with these pairs of its own, sorted by name. A setting that is
// given nowhere and has no default is left out.
func (b *Broker) DescribeTopic(own []Pair) []Described {
	r := topicReader{broker: b.set, own: own}
	var all []Described
	for i := range table {
		if d := &table[i]; d.Scope&ScopeTopic != 0 {
			if sources := r.sources(d); len(sources) > 0 || d.Type == List {
				all = append(all, described(d, sources))
			}
		}
	}
	return all
}

func described(d *Definition, sources []Synonym) Described {
	out := Described{Definition: d, Source: SourceDefault, Synonyms: sources}
	if len(sources) == 0 {
		return out
	}
	s := sources[0]
	out.Value, out.Source = s.Value, s.Source
	if from, to := unitMs(s.Name), unitMs(d.Name); from != to {
		if n, err := strconv.ParseInt(s.Value, 10, 64); err == nil {
			out.Value = strconv.FormatInt(scale(n, from, to), 10)
		}
	}
	return out
}
