package topiccmd

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"trialog/core/client"
)

// never is the flush setting that says that the broker does not flush of its own accord.
const never = math.MaxInt64

// durability is when the records of a topic are flushed to the disk, and what an acknowledged one survives therefore.
type durability struct {
	FlushMessages int64    `json:"flush_messages"` // math.MaxInt64: never
	FlushMs       int64    `json:"flush_ms"`       // math.MaxInt64: never
	Policy        string   `json:"policy"`
	Kill          string   `json:"process_kill"`
	PowerCut      string   `json:"power_cut"`
	RulesOff      []string `json:"rules_off,omitempty"` // safety rules of the broker that are switched off
}

// durabilityOf asks for it. Only a Trialog broker holds acknowledgements until a flush that its settings ask for; it is
// known by a setting that no other broker has.
func durabilityOf(ctx context.Context, cl *client.Client, topic string, leader int32) (*durability, error) {
	settings, err := cl.TopicSettings(ctx, topic, "flush.messages", "flush.ms")
	if err != nil {
		return nil, err
	}
	d := durability{FlushMessages: never, FlushMs: never}
	for _, s := range settings {
		n, err := strconv.ParseInt(s.Value, 10, 64)
		switch {
		case err != nil:
		case s.Name == "flush.messages":
			d.FlushMessages = n
		case s.Name == "flush.ms":
			d.FlushMs = n
		}
	}
	const rules = "trialog.rules.off"
	own, err := cl.BrokerSettings(ctx, strconv.Itoa(int(leader)), rules)
	if err != nil {
		return nil, err
	}
	ours := false
	for _, s := range own {
		if s.Name == rules {
			ours = true
			d.RulesOff = strings.FieldsFunc(s.Value, func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	d.say(ours)
	return &d, nil
}

// say puts it in words.
func (d *durability) say(ours bool) {
	d.Policy = "the operating system writes records when it sees fit"
	d.Kill = "acknowledged records survive"
	d.PowerCut = "acknowledged records that the operating system has not written yet are lost"
	if d.FlushMessages == never && d.FlushMs == never {
		return
	}
	var when []string
	switch {
	case d.FlushMessages == 1:
		when = append(when, "each record")
	case d.FlushMessages != never:
		when = append(when, fmt.Sprintf("after %d records", d.FlushMessages))
	}
	if d.FlushMs != never && d.FlushMessages != 1 {
		when = append(when, fmt.Sprintf("after %d ms", d.FlushMs))
	}
	d.Policy = "fsync " + strings.Join(when, " or ")
	switch {
	case ours:
		d.Policy += "; acknowledgements wait for it"
		d.PowerCut = "acknowledged records survive"
	case d.FlushMessages == 1:
		d.PowerCut = "acknowledged records survive"
	default:
		d.Policy += "; acknowledgements do not wait for it"
		d.PowerCut = "acknowledged records that are not flushed yet are lost"
	}
}

// lines are for people.
func (d *durability) lines() []string {
	out := []string{
		fmt.Sprintf("flush: %s (flush.messages=%s, flush.ms=%s)", d.Policy, orNever(d.FlushMessages), orNever(d.FlushMs)),
		"  kill of the process: " + d.Kill,
		"  power cut: " + d.PowerCut,
	}
	if len(d.RulesOff) > 0 {
		out = append(out, "  NB: none of this holds: safety rules are switched off: "+strings.Join(d.RulesOff, ", "))
	}
	return out
}

func orNever(n int64) string {
	if n == never {
		return "never"
	}
	return strconv.FormatInt(n, 10)
}
