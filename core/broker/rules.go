package broker

import (
	"fmt"
	"strings"

	"trialog/core/config"
	"trialog/core/controller"
	"trialog/core/producers"
	"trialog/core/replica"
	"trialog/core/seglog"
)

// Rules are the safety mechanisms of this room; true is the safe behaviour.
type Rules struct {
	// AckAfterAppend is broker.ack-after-append.
	AckAfterAppend bool
}

// AllRules has every mechanism on.
func AllRules() Rules { return Rules{AckAfterAppend: true} }

// Off switches the rule of that name off (without the room's name); false if
// there is none.
func (r *Rules) Off(name string) bool {
	if name != "ack-after-append" {
		return false
	}
	r.AckAfterAppend = false
	return true
}

var ruleDocs = []config.RuleDoc{{
	Room: "broker", Name: "ack-after-append",
	Doc:    "the response to a produce request leaves after the batch was appended, with the offset that it really has",
	Source: "Kafka's acks=1 and acks=all; INV-ACK",
}}

// RuleDocs documents the rules of all rooms that a broker is made of.
func RuleDocs() []config.RuleDoc {
	var all []config.RuleDoc
	for _, docs := range [][]config.RuleDoc{ruleDocs, controller.RuleDocs, producers.RuleDocs, replica.RuleDocs, seglog.RuleDocs} {
		all = append(all, docs...)
	}
	return all
}

// RuleSet is the rules of all rooms that a broker is made of.
type RuleSet struct {
	Broker     Rules
	Controller controller.Rules
	Producers  producers.Rules
	Replica    replica.Rules
	Seglog     seglog.Rules
}

// ParseRules switches off the named rules (room.rule, as in trialog.rules.off).
// An unknown name is an error that lists the known ones.
func ParseRules(off []string) (RuleSet, error) {
	set := RuleSet{
		Broker: AllRules(), Controller: controller.AllRules(), Producers: producers.AllRules(),
		Replica: replica.AllRules(), Seglog: seglog.AllRules(),
	}
	for _, full := range off {
		if !set.off(full) {
			return set, fmt.Errorf("broker: trialog.rules.off: no rule %q (known: %s)", full, strings.Join(ruleNames(), ", "))
		}
	}
	return set, nil
}

func (s *RuleSet) off(full string) bool {
	room, name, _ := strings.Cut(full, ".")
	switch room {
	case "broker":
		return s.Broker.Off(name)
	case "controller":
		return s.Controller.Off(name)
	case "producers":
		return s.Producers.Off(name)
	case "replica":
		return s.Replica.Off(name)
	case "seglog":
		return s.Seglog.Off(name)
	}
	return false
}

func ruleNames() []string {
	var names []string
	for _, d := range RuleDocs() {
		names = append(names, d.FullName())
	}
	return names
}
