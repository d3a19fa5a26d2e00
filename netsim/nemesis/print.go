package nemesis

import (
	"fmt"
	"strings"
)

// String prints the plan so that Parse reads it back.
func (p *Plan) String() string {
	var b strings.Builder
	if p.Budget != nil {
		fmt.Fprintf(&b, "budget faults=%d down=%d\n", p.Budget.Faults, p.Budget.Down)
	}
	width := 0
	for i := range p.Steps {
		width = max(width, len(p.Steps[i].when()))
	}
	for i := range p.Steps {
		fmt.Fprintf(&b, "%-*s  %s\n", width, p.Steps[i].when(), p.Steps[i].what())
	}
	return b.String()
}

// String prints the step as one line.
func (s *Step) String() string { return s.when() + " " + s.what() }

func (s *Step) when() string {
	if s.On != nil {
		return "on " + strings.Join(s.On.Words, " ")
	}
	return "at " + s.At.String()
}

// what is the step from its verb on.
func (s *Step) what() string {
	words := append([]string{string(s.Verb)}, s.object()...)
	words = append(words, s.Targets...)
	if s.Verb != Disk && s.Verb != Link && s.Verb != Conn {
		words = append(words, s.details()...)
	} else {
		words = append(words, s.mode()...)
	}
	words = append(words, s.Args...)
	if s.For > 0 {
		words = append(words, "for", s.For.String())
	}
	return strings.Join(words, " ")
}

// object is what the verb is about when that is no list of targets.
func (s *Step) object() []string {
	var words []string
	for i, g := range s.Groups {
		if i > 0 {
			words = append(words, "|")
		}
		words = append(words, g...)
	}
	if s.From != "" {
		link := s.From + "->" + s.To
		if s.Nth > 0 {
			link += fmt.Sprintf("#%d", s.Nth)
		}
		words = append(words, link)
	}
	return words
}

// details are the options of kill, powercut, pause and clock.
func (s *Step) details() []string {
	var words []string
	if s.Verb == Clock {
		words = append(words, "skew", fmt.Sprintf("%+d", s.Amount)[:1]+s.Amount.Abs().String())
	}
	if s.Lose != "" {
		words = append(words, "lose="+s.Lose)
	}
	if s.Torn {
		words = append(words, "torn=1")
	}
	if st := s.Strike; st.Call > 0 {
		number := fmt.Sprint(st.Call)
		if st.Relative {
			number = "+" + number
		}
		words = append(words, "call", number)
		if st.After {
			words = append(words, "after")
		}
	} else if st.MidWrite != "" {
		words = append(words, "midwrite", st.MidWrite)
	}
	return words
}

// mode is what link, conn and disk do.
func (s *Step) mode() []string {
	words := []string{s.Mode}
	switch s.Mode {
	case Delay, Slow:
		words = append(words, s.Amount.String())
	case Throttle, Loss, Room:
		words = append(words, fmt.Sprint(s.Number))
	case Flip:
		words = append(words, s.Pattern, "offset", fmt.Sprint(s.Number))
	}
	return words
}
