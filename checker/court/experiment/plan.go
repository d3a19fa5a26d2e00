package experiment

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"trialog/netsim/kernel"
	"trialog/netsim/nemesis"
)

// parsePlan reads a literal plan so that errors name the line of the experiment file.
func parsePlan(file string, src PlanSource) (*nemesis.Plan, error) {
	return nemesis.Parse(file, strings.Repeat("\n", src.Line-1)+src.Literal)
}

// generator turns the words after `plan generate` into what the plan generator takes:
//
//	profile=NAME     kill, powercut, pause-partition, torn; see nemesis.Profiles
//	kinds=KIND,...   instead of a profile: kinds of faults, see nemesis.Kinds; KIND:N weighs it
//	from=3s to=16s   every fault happens and is undone in between
//	targets=b1       comma-separated; default b1
//	faults=5 down=1  the budget
//	files=*.log      for kills in the middle of a write
func generator(words []string) (nemesis.Spec, error) {
	s := nemesis.Spec{Targets: []string{"b1"}}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return s, fmt.Errorf("plan generate %q: want KEY=VALUE", word)
		}
		if err := setWord(&s, key, value); err != nil {
			return s, fmt.Errorf("plan generate %q: %w", word, err)
		}
	}
	if (s.Profile == "") == (len(s.Faults) == 0) {
		return s, fmt.Errorf("plan generate %q: want kinds=KIND,... or profile=NAME", strings.Join(words, " "))
	}
	return s, nil
}

func setWord(s *nemesis.Spec, key, value string) (err error) {
	switch key {
	case "profile":
		s.Profile = value
	case "kinds":
		s.Faults, err = kinds(value)
	case "from":
		s.From, err = time.ParseDuration(value)
	case "to":
		s.To, err = time.ParseDuration(value)
	case "targets":
		s.Targets = strings.Split(value, ",")
	case "faults":
		s.Budget.Faults, err = strconv.Atoi(value)
	case "down":
		s.Budget.Down, err = strconv.Atoi(value)
	case "files":
		s.Files = value
	default:
		err = errors.New("want profile, kinds, from, to, targets, faults, down or files")
	}
	return err
}

func kinds(list string) ([]nemesis.Fault, error) {
	var out []nemesis.Fault
	for word := range strings.SplitSeq(list, ",") {
		name, weight, given := strings.Cut(word, ":")
		f := nemesis.Fault{Kind: name, Weight: 1}
		if given {
			var err error
			if f.Weight, err = strconv.Atoi(weight); err != nil {
				return nil, err
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// Draw gives the plan: what is written down, or what the generator draws from rng. peers are the processes that talk to
// the targets of faults. Errors begin with file:line.
func (src PlanSource) Draw(file string, rng *kernel.Rand, peers []string) (*nemesis.Plan, error) {
	if src.Generate == nil {
		return parsePlan(file, src)
	}
	spec, err := generator(src.Generate)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, src.Line, err)
	}
	spec.Peers = peers
	plan, err := nemesis.Generate(rng, spec)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, src.Line, err)
	}
	return plan, nil
}
