package config

import (
	"fmt"
	"slices"
	"strings"
)

// RuleDoc documents one safety mechanism that can be switched off (architecture D3).
type RuleDoc struct {
	Room   string // the room that owns it
	Name   string // without the room
	Doc    string // what the mechanism does, one sentence
	Source string // the KIP, issue or failure that it answers
}

// FullName is room.rule, as in trialog.rules.off.
func (d RuleDoc) FullName() string { return d.Room + "." + d.Name }

// SwitchOn switches all documented rules of a room on. field finds a rule in the room's Rules by its name without the room.
func SwitchOn(docs []RuleDoc, field func(name string) *bool) {
	for i := range docs {
		*field(docs[i].Name) = true
	}
}

// SwitchOff switches one rule off; false if field, which then answers nil, knows none of that name.
func SwitchOff(name string, field func(name string) *bool) bool {
	f := field(name)
	if f != nil {
		*f = false
	}
	return f != nil
}

// ParseRulesOff reads the value of trialog.rules.off: names of the form room.rule, separated by commas. It returns
// them sorted, each once. It knows no rule: the rooms refuse the names that they do not have.
func ParseRulesOff(list string) ([]string, error) {
	var names []string
	for part := range strings.SplitSeq(list, ",") {
		name := strings.TrimSpace(part)
		if name == "" {
			continue
		}
		room, rule, ok := strings.Cut(name, ".")
		if !ok || !ruleWord(room) || !ruleWord(rule) {
			return nil, fmt.Errorf("config: trialog.rules.off: %q is not of the form room.rule", name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func ruleWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != ""
}
