package config

import "strconv"

// Source is where an effective value comes from, with Kafka's numbers (DescribeConfigs).
type Source int8

// Sources.
const (
	SourceTopic          Source = 1
	SourceDynamicBroker  Source = 2
	SourceDynamicDefault Source = 3 // of all brokers, changed while they run
	SourceStaticBroker   Source = 4
	SourceDefault        Source = 5
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
	Absent     bool   // given nowhere, and no list that may be empty: null in DescribeConfigs
	Source     Source // of the strongest synonym that is listed
	Synonyms   []Synonym
}

// brokerSynonyms are the groups of broker settings that are one setting in several units, or the default of another:
// the strongest first.
var brokerSynonyms = [...][]string{
	{"log.roll.ms", "log.roll.hours"},
	{"log.roll.jitter.ms", "log.roll.jitter.hours"},
	{"log.flush.interval.ms", "log.flush.scheduler.interval.ms"},
	{"log.retention.ms", "log.retention.minutes", "log.retention.hours"},
}

// synonymsOf is the names that a broker setting's value may come from, as Kafka describes it.
func synonymsOf(d *Definition) []string {
	for _, group := range brokerSynonyms {
		for _, name := range group {
			if name == d.Name && name != "log.flush.scheduler.interval.ms" {
				return group
			}
		}
	}
	return []string{d.Name}
}

var emptyList value

// DescribeBroker lists all broker settings, sorted by name. A value is the setting's own, whatever its synonyms have.
func (b *Broker) DescribeBroker() []Described {
	r := &reader{layers: b.layers}
	var all []Described
	for i := range table {
		d := &table[i]
		if d.Scope&ScopeBroker == 0 {
			continue
		}
		names := synonymsOf(d)
		sources := given(nil, b.layers, names)
		for _, name := range names {
			if def := Lookup(name).Default; def != "" {
				sources = append(sources, Synonym{Name: name, Value: def, Source: SourceDefault})
			}
		}
		out := described(d, sources)
		out.listFrom(d.Name)
		value, ok := r.find(d.Name)
		if !ok {
			value = d.Default
		}
		out.Value, out.Absent = value, !ok && d.Default == "" && !(d.Type == List && d.Validator.accepts(emptyList))
		all = append(all, out)
	}
	return all
}

// DescribeDefaults lists what was changed for all brokers, sorted by name.
func (b *Broker) DescribeDefaults() []Described {
	var all []Described
	for _, l := range b.layers {
		if l.source != SourceDynamicDefault {
			continue
		}
		for _, p := range l.pairs {
			if d := Lookup(p.Name); d != nil {
				all = append(all, described(d, []Synonym{{Name: p.Name, Value: p.Value, Source: l.source}}))
			}
		}
	}
	return all
}

// DescribeTopic lists all topic settings of a topic with these pairs of its own, sorted by name. A setting that is
// given nowhere and has no default is left out.
func (b *Broker) DescribeTopic(own []Pair) []Described {
	r := topicReader{layers: b.layers, own: own}
	var all []Described
	for i := range table {
		if d := &table[i]; d.Scope&ScopeTopic != 0 {
			if sources := r.sources(d); len(sources) > 0 || d.Type == List {
				out := described(d, sources)
				out.listFrom(primary(d))
				all = append(all, out)
			}
		}
	}
	return all
}

// primary is the broker-level name under which Kafka looks for a topic setting's synonyms; "" when there is none.
func primary(d *Definition) string {
	if len(d.Synonyms) == 0 {
		return ""
	}
	return d.Synonyms[0]
}

// listFrom leaves of the broker-level synonyms those from the first of this name on, and names the source after what is
// left: Kafka passes over the others, so that retention.ms under log.retention.hours has no synonym and is a default. The
// value is that of the strongest all the same.
func (d *Described) listFrom(name string) {
	var own, rest []Synonym
	if len(d.Synonyms) > 0 && d.Synonyms[0].Source == SourceTopic {
		own, rest = d.Synonyms[:1], d.Synonyms[1:]
	} else {
		rest = d.Synonyms
	}
	for len(rest) > 0 && rest[0].Name != name {
		rest = rest[1:]
	}
	d.Synonyms, d.Source = append(own[:len(own):len(own)], rest...), SourceDefault
	if len(d.Synonyms) > 0 {
		d.Source = d.Synonyms[0].Source
	}
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
