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
