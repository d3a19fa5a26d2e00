package nemesis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
)

func plan(t *testing.T, seed uint64, s Spec) *Plan {
	t.Helper()
	p, err := Generate(kernel.NewRand(seed, "plan"), s)
	require.NoError(t, err)
	return p
}

var experiment = Spec{
	Targets: []string{"b1"}, Peers: []string{"c1", "c2", "c3"}, From: 2 * time.Second, To: 18 * time.Second,
}

func TestGeneratedPlansKeepTheirPromises(t *testing.T) {
	for _, name := range append(Profiles(), "") {
		s := experiment
		s.Profile = name
		if name == "" {
			for _, k := range Kinds() {
				s.Faults = append(s.Faults, Fault{Kind: k, Weight: 1})
			}
			s.Targets = []string{"b1", "b2", "b3"}
			s.Budget = Budget{Faults: 8, Down: 2}
		}
		for seed := range uint64(300) {
			p := plan(t, seed, s)
			text := p.String()
			require.Equal(t, text, plan(t, seed, s).String(), "the same seed, another plan")
			again, err := Parse("plan", text)
			require.NoError(t, err, text)
			require.True(t, p.Equal(again), text)
			require.Empty(t, p.Inexpressible("plan", Sim))
			follow(t, p, s)
		}
	}
}

// follow plays a plan in an obvious model of the world, and checks the budget and the end.
func follow(t *testing.T, p *Plan, s Spec) {
	t.Helper()
	text := p.String()
	hurt, last := 0, time.Duration(0)
	until := map[string]time.Duration{} // fault and target -> when it is undone by for
	for i := range p.Steps {
		step := &p.Steps[i]
		require.GreaterOrEqual(t, step.At, last, text)
		require.GreaterOrEqual(t, step.At, s.From, text)
		require.LessOrEqual(t, step.At+step.For, s.To, text)
		last = step.At
		for key, end := range until {
			if end <= step.At {
				delete(until, key)
			}
		}
		if !step.Hurts() {
			for _, target := range step.Targets {
				delete(until, "down "+target)
			}
			continue
		}
		hurt++
		require.Empty(t, until, "a fault begins before the last one ended:\n%s", text)
		for _, target := range step.Targets {
			end := step.At + step.For
			if step.Strike != (Strike{}) {
				end = 1 << 62 // when it strikes is not known; a start must follow
			}
			until["down "+target] = end
		}
		require.LessOrEqual(t, len(until), p.Budget.Down, text)
	}
	for key, end := range until {
		require.LessOrEqual(t, end, s.To, "%s is never undone:\n%s", key, text)
	}
	require.Positive(t, hurt)
	require.LessOrEqual(t, hurt, p.Budget.Faults, text)
}

func TestProfilesReachWhatTheyAreFor(t *testing.T) {
	type want struct {
		what string
		is   func(p *Plan, s *Step) bool
	}
	verb := func(v Verb) func(*Plan, *Step) bool { return func(_ *Plan, s *Step) bool { return s.Verb == v } }
	cleanStart := want{"a clean stop and start first", func(p *Plan, s *Step) bool { return p.Steps[0].Verb == Stop && s.Verb == Kill }}
	for name, wants := range map[string][]want{
		"kill": {
			cleanStart,
			{"a kill at a time", func(_ *Plan, s *Step) bool { return s.Verb == Kill && s.Strike == (Strike{}) }},
			{"before a call", func(_ *Plan, s *Step) bool { return s.Verb == Kill && s.Strike.Call > 0 && !s.Strike.After }},
			{"after a call", func(_ *Plan, s *Step) bool { return s.Verb == Kill && s.Strike.Call > 0 && s.Strike.After }},
			{"a short time down", func(_ *Plan, s *Step) bool { return s.For < 100*time.Millisecond }},
			{"a long time down", func(_ *Plan, s *Step) bool { return s.For > 1800*time.Millisecond }},
			{"next call", func(_ *Plan, s *Step) bool { return s.Strike.Call == 1 }},
			{"distant call", func(_ *Plan, s *Step) bool { return s.Strike.Call > 400 }},
		},
		"powercut": {
			{"all is lost", func(_ *Plan, s *Step) bool { return s.Lose == "unsynced" && !s.Torn }},
			{"some is lost", func(_ *Plan, s *Step) bool { return s.Lose == "some" && !s.Torn }},
			{"at a call", func(_ *Plan, s *Step) bool { return s.Verb == PowerCut && s.Strike.Call > 0 }},
		},
		"pause-partition": {
			{"pause", verb(Pause)},
			{"partition", verb(Partition)},
			{"cut towards the target", func(_ *Plan, s *Step) bool { return s.Verb == CutLink && s.To == "b1" }},
			{"cut from the target", func(_ *Plan, s *Step) bool { return s.Verb == CutLink && s.From == "b1" }},
			{"reset", func(_ *Plan, s *Step) bool { return s.Mode == Reset }},
			{"partition from all", func(_ *Plan, s *Step) bool { return s.Verb == Partition && len(s.Groups[1]) == 3 }},
			{"partition from one", func(_ *Plan, s *Step) bool { return s.Verb == Partition && len(s.Groups[1]) == 1 }},
		},
		"torn": {
			{"a clean stop, then a torn write", func(p *Plan, s *Step) bool {
				return p.Steps[0].Verb == Stop && s.Verb == Kill && s.Strike.MidWrite == "*.log"
			}},
			{"a torn power cut", func(_ *Plan, s *Step) bool { return s.Verb == PowerCut && s.Torn }},
			{"in the middle of a write", func(_ *Plan, s *Step) bool { return s.Torn && s.Strike.MidWrite != "" }},
		},
	} {
		s := experiment
		s.Profile = name
		for _, w := range wants {
			found := 0
			for seed := range uint64(200) {
				p := plan(t, seed, s)
				for i := range p.Steps {
					if w.is(p, &p.Steps[i]) {
						found++
						break
					}
				}
			}
			require.Greater(t, found, 3, "%s: %s", name, w.what)
		}
	}
}

func TestPlansDependOnTheSeed(t *testing.T) {
	s := experiment
	s.Profile = "kill"
	require.NotEqual(t, plan(t, 1, s).String(), plan(t, 2, s).String())
	require.Equal(t, plan(t, 1, s).String(), plan(t, 1, s).String())
}

func TestGenerateRefuses(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		`there is no profile "nope"; there are [kill powercut pause-partition torn]`: func(s *Spec) { s.Profile = "nope" },
		`there is no fault "nope"; there are [stop kill`:                             func(s *Spec) { s.Profile, s.Faults = "", []Fault{{"nope", 1}} },
		"fault kill: weight -1 is negative":                                          func(s *Spec) { s.Profile, s.Faults = "", []Fault{{"kill", -1}} },
		"no fault to choose from":                                                    func(s *Spec) { s.Profile = "" },
		"needs peers":                                                                func(s *Spec) { s.Profile, s.Peers = "pause-partition", nil },
		"no targets":                                                                 func(s *Spec) { s.Targets = nil },
		"from 2s to 2.1s is shorter than 500ms":                                      func(s *Spec) { s.To = s.From + 100*time.Millisecond },
		"budget faults=-1 down=1 is negative":                                        func(s *Spec) { s.Budget.Faults = -1 },
	} {
		s := experiment
		s.Profile = "kill"
		change(&s)
		_, err := Generate(kernel.NewRand(1), s)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "nemesis: generate: ")
	}
}
