package config

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Type is the type of a value, with Kafka's numbers (DescribeConfigs).
type Type int8

// Types. Kafka's short is an Int here with a validator.
const (
	Bool   Type = 1
	String Type = 2
	Int    Type = 3
	Long   Type = 5
	Double Type = 6
	List   Type = 7
)

// String is Kafka's word.
func (t Type) String() string {
	switch t {
	case Bool:
		return "boolean"
	case String:
		return "string"
	case Int:
		return "int"
	case Long:
		return "long"
	case Double:
		return "double"
	case List:
		return "list"
	}
	return fmt.Sprintf("type %d", int8(t))
}

// Scope is where a setting may be given.
type Scope uint8

// Scopes.
const (
	ScopeBroker Scope = 1 << iota
	ScopeTopic
	ScopeBoth = ScopeBroker | ScopeTopic
)

// Definition is one row of the table.
type Definition struct {
	Name      string
	Type      Type
	Default   string // as text; "" is none, and for String and List also the empty value
	Validator Validator
	Scope     Scope
	Dynamic   bool     // may change while the broker runs
	Inert     bool     // accepted because users' files have it; changes nothing
	Synonyms  []string // a topic setting's broker-level names, the strongest first
	Doc       string
}

// Definitions is the table, sorted by name. It is shared: do not change it.
func Definitions() []Definition { return table }

// Lookup finds a row; nil if there is none.
func Lookup(name string) *Definition {
	i, ok := slices.BinarySearchFunc(table, name, func(d Definition, name string) int {
		return strings.Compare(d.Name, name)
	})
	if !ok {
		return nil
	}
	return &table[i]
}

// table is sorted. A name twice, a default that its own validator refuses, or a synonym that does not exist is a bug,
// which the tests of this package look for: every process sorts this table when it starts, and most need it no further.
var table = sorted(slices.Concat(identityTable, networkTable, logTable, topicTable, laterTable))

func sorted(all []Definition) []Definition {
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// value is a parsed setting; which field counts depends on the type.
type value struct {
	number int64
	real   float64
	truth  bool
	text   string
	list   []string
}

// parse reads and validates text. The error names the key, the value and what is allowed.
func (d *Definition) parse(text string) (value, error) {
	v, ok := d.Type.parse(text)
	if !ok || !d.Validator.accepts(v) {
		return value{}, fmt.Errorf("%s=%s: must be %s", d.Name, text, d.Range())
	}
	return v, nil
}

// Range says in words what values are allowed: the type, then the validator's bounds.
func (d *Definition) Range() string {
	words := [...]string{
		Bool: "true or false", String: "a string", Int: "an integer of 32 bits", Long: "an integer of 64 bits",
		Double: "a number", List: "a list separated by commas",
	}[d.Type]
	if d.Validator.Range == "" {
		return words
	}
	return words + ", " + d.Validator.Range
}

func (t Type) parse(s string) (v value, ok bool) {
	var err error
	s = strings.TrimSpace(s)
	switch t {
	case Bool:
		v.truth = strings.EqualFold(s, "true")
		return v, v.truth || strings.EqualFold(s, "false")
	case Int:
		v.number, err = strconv.ParseInt(s, 10, 32)
	case Long:
		v.number, err = strconv.ParseInt(s, 10, 64)
	case Double:
		v.real, err = strconv.ParseFloat(s, 64)
		if math.IsNaN(v.real) || math.IsInf(v.real, 0) {
			return v, false
		}
	case List:
		v.list = splitList(s)
	default:
		v.text = s
	}
	return v, err == nil
}

// splitList splits at commas and drops empty words.
func splitList(s string) []string {
	var words []string
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}
