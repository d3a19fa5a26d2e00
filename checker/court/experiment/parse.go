package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"trialog/checker/oracle"
	"trialog/netsim/kernel"
)

// Parse reads an experiment file, a txtar archive. file is its name in messages; every error begins with file:line.
//
//	Question: what is asked, in one sentence
//	Answer: the answer, and why; a value may go on in the lines that follow
//
//	-- cluster.properties --
//	internal.segment.bytes=16384           server.properties of the broker
//
//	-- workload --
//	work 20s                               how long the clients work before the final read-back
//	limit 90s                              the run is over then, drained or not
//	request-timeout 2s                     of every client; the default
//	delivery-timeout 8s                    of a produce with its retries; the default
//	all --pause 20ms..180ms                flags for every client
//	c1 producer --idempotent               NAME ROLE, and flags for `trialog client`
//	c4 producer start=12s                  a client may start later
//
//	-- cells --
//	cell kill
//	    plan    generate kills=1..3        or: plan literal NAME, the archive's file plan/NAME
//	    plan-real generate kinds=kill ...  for the real world, which can express less
//	    with    flush.messages=1           any number of times: properties of the broker
//	    client  c1 --compression gzip      any number of times: more flags for a client, or for all
//	    claims  order committed            which of Kafka's guarantees it claims
//	    judge   flush-first                what the judges hold it to, see oracle.ParsePromises
//	    seeds   40                         how many seeds a trial gives it
//	    expect  valid                      see [ParseExpectation]
//
//	-- mutants --
//	mutant seglog.fsync-directory          a rule switched off
//	    cells   powercut-flush torn        tried in this order
//	    expect  invalid lost-record within 200 seeds
//
//	-- plan/NAME --
//	at 5s kill b1                          a literal plan, see netsim/nemesis
//
// A line that begins with # is a comment.
func Parse(file string, text []byte) (*Experiment, error) {
	sum := sha256.Sum256(text)
	p := &parser{file: file, e: &Experiment{File: file, Text: text, Digest: hex.EncodeToString(sum[:]),
		RequestTimeout: 2 * time.Second, DeliveryTimeout: 8 * time.Second}, plans: map[string]section{}}
	ar := txtar.Parse(text)
	p.header(string(ar.Comment))
	line := strings.Count(string(ar.Comment), "\n") + 1
	seen := map[string]bool{}
	for _, f := range ar.Files {
		if seen[f.Name] {
			p.fail(line, "section %q occurs twice", f.Name)
		}
		seen[f.Name] = true
		p.section(f.Name, section{text: string(f.Data), line: line})
		line += strings.Count(string(f.Data), "\n") + 1
	}
	for _, name := range []string{"cluster.properties", "workload", "cells"} {
		if !seen[name] {
			p.fail(line, "section %q is missing", name)
		}
	}
	p.resolve()
	if p.err != nil {
		return nil, p.err
	}
	return p.e, nil
}

type section struct {
	text string
	line int // of the marker; the text begins on the next
}

// lines calls f for each line that is neither blank nor a comment.
func (s section) lines(f func(line int, text string)) {
	for i, text := range strings.Split(s.text, "\n") {
		if word := strings.TrimSpace(text); word != "" && word[0] != '#' {
			f(s.line+1+i, strings.TrimRight(text, " \t\r"))
		}
	}
}

// parser keeps the first error; what follows it is parsed in vain.
type parser struct {
	file  string
	e     *Experiment
	plans map[string]section
	err   error
}

func (p *parser) fail(line int, format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s:%d: %s", p.file, line, fmt.Sprintf(format, args...))
	}
}

func (p *parser) header(text string) {
	var into *string
	section{text: text, line: 0}.lines(func(_ int, line string) {
		if rest, ok := strings.CutPrefix(line, "Question:"); ok {
			into, line = &p.e.Question, rest
		} else if rest, ok := strings.CutPrefix(line, "Answer:"); ok {
			into, line = &p.e.Answer, rest
		}
		if into != nil {
			*into = strings.TrimSpace(*into + " " + strings.TrimSpace(line))
		}
	})
	if p.e.Question == "" || p.e.Answer == "" {
		p.fail(1, "the file must begin with the lines `Question: ...` and `Answer: ...`")
	}
}

func (p *parser) section(name string, s section) {
	switch {
	case name == "cluster.properties":
		s.lines(func(line int, text string) { p.e.Broker = p.property(p.e.Broker, line, text) })
	case name == "workload":
		s.lines(p.workload)
	case name == "cells":
		s.lines(p.cell)
	case name == "mutants":
		s.lines(p.mutant)
	case strings.HasPrefix(name, "plan/"):
		p.plans[path.Base(name)] = s
	default:
		p.fail(s.line, "unknown section %q", name)
	}
}

func (p *parser) property(have Properties, line int, text string) Properties {
	key, value, ok := strings.Cut(strings.TrimSpace(text), "=")
	key = strings.TrimSpace(key)
	switch {
	case !ok || key == "":
		p.fail(line, "%q is no property: want key=value", text)
	case slices.ContainsFunc(have, func(h Property) bool { return h.Key == key }):
		p.fail(line, "property %s is set twice", key)
	}
	return append(have, Property{key, strings.TrimSpace(value)})
}

func (p *parser) duration(line int, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		p.fail(line, "%q is no duration: want, for example, 20s", text)
	}
	return d
}

func (p *parser) workload(line int, text string) {
	words := strings.Fields(text)
	switch {
	case len(words) < 2:
		p.fail(line, "%q: want `work DURATION`, `limit DURATION` or `NAME ROLE [start=DURATION] [flags]`", text)
	case words[0] == "work":
		p.e.Work = p.duration(line, words[1])
	case words[0] == allClients:
		p.e.Flags = append(p.e.Flags, words[1:]...)
	case words[0] == "limit":
		p.e.Limit = p.duration(line, words[1])
	case words[0] == "request-timeout":
		p.e.RequestTimeout = p.duration(line, words[1])
	case words[0] == "delivery-timeout":
		p.e.DeliveryTimeout = p.duration(line, words[1])
	case slices.ContainsFunc(p.e.Clients, func(c Client) bool { return c.Name == words[0] }):
		p.fail(line, "client %s occurs twice", words[0])
	default:
		c := Client{Name: words[0], Role: words[1], Flags: words[2:]}
		if len(c.Flags) > 0 {
			if at, ok := strings.CutPrefix(c.Flags[0], "start="); ok {
				c.Start, c.Flags = p.duration(line, at), c.Flags[1:]
			}
		}
		p.e.Clients = append(p.e.Clients, c)
	}
}

// head reports whether a line opens a stanza, and its name.
func (p *parser) head(kind string, line int, text string) (name string, ok bool) {
	if text[0] == ' ' || text[0] == '\t' {
		return "", false
	}
	words := strings.Fields(text)
	if len(words) != 2 || words[0] != kind {
		p.fail(line, "%q: want `%s NAME`, with its settings indented below it", text, kind)
		return "", true
	}
	return words[1], true
}

func (p *parser) cell(line int, text string) {
	if name, ok := p.head("cell", line, text); ok {
		if _, err := p.e.Cell(name); err == nil {
			p.fail(line, "cell %s occurs twice", name)
		}
		p.e.Cells = append(p.e.Cells, Cell{Name: name, Line: line, Seeds: 1})
		return
	}
	if len(p.e.Cells) == 0 {
		p.fail(line, "a setting before the first cell")
		return
	}
	c := &p.e.Cells[len(p.e.Cells)-1]
	words := strings.Fields(text)
	rest := words[1:]
	switch key := words[0]; {
	case len(rest) == 0:
		p.fail(line, "%s of cell %s has no value", key, c.Name)
	case key == "plan":
		c.Plan = p.plan(line, rest)
	case key == "plan-real":
		c.PlanReal = p.plan(line, rest)
	case key == "with":
		c.Properties = p.property(c.Properties, line, strings.Join(rest, " "))
	case key == "client":
		c.Flags = append(c.Flags, ClientFlags{Client: rest[0], Flags: rest[1:], Line: line})
	case key == "claims":
		c.Claims = rest
		for _, word := range rest {
			if !slices.Contains(Guarantees, word) {
				p.fail(line, "cell %s claims %q: the guarantees are %s", c.Name, word, strings.Join(Guarantees, ", "))
			}
		}
	case key == "seeds":
		n, err := strconv.Atoi(rest[0])
		if err != nil || n < 1 {
			p.fail(line, "seeds %q: want a number from 1 up", rest[0])
		}
		c.Seeds = n
	case key == "judge":
		var err error
		if c.Judge, err = oracle.ParsePromises(strings.Join(rest, ",")); err != nil {
			p.fail(line, "cell %s: %v", c.Name, err)
		}
	case key == "expect":
		c.Expect = p.expect(line, rest)
	default:
		p.fail(line, "a cell has no %q: want plan, plan-real, with, client, claims, judge, seeds or expect", key)
	}
}

func (p *parser) expect(line int, words []string) Expectation {
	x, err := ParseExpectation(strings.Join(words, " "))
	if err != nil {
		p.fail(line, "%v", err)
	}
	return x
}

func (p *parser) plan(line int, words []string) PlanSource {
	switch {
	case words[0] == "generate":
		return PlanSource{Generate: words[1:], Line: line}
	case words[0] == "literal" && len(words) == 2:
		return PlanSource{Literal: words[1], Line: line}
	}
	p.fail(line, "plan %q: want `generate KEY=VALUE ...` or `literal NAME`", strings.Join(words, " "))
	return PlanSource{}
}

func (p *parser) mutant(line int, text string) {
	if name, ok := p.head("mutant", line, text); ok {
		if slices.ContainsFunc(p.e.Mutants, func(m Mutant) bool { return m.Rule == name }) {
			p.fail(line, "mutant %s occurs twice", name)
		}
		p.e.Mutants = append(p.e.Mutants, Mutant{Rule: name, Line: line})
		return
	}
	if len(p.e.Mutants) == 0 {
		p.fail(line, "a setting before the first mutant")
		return
	}
	m := &p.e.Mutants[len(p.e.Mutants)-1]
	words := strings.Fields(text)
	switch key, rest := words[0], words[1:]; {
	case len(rest) == 0:
		p.fail(line, "%s of mutant %s has no value", key, m.Rule)
	case key == "cells":
		m.Cells = rest
	case key == "expect":
		m.Expect = p.expect(line, rest)
	default:
		p.fail(line, "a mutant has no %q: want cells or expect", key)
	}
}

// resolve checks what can only be known at the end, and puts the text of literal plans in place.
func (p *parser) resolve() {
	e := p.e
	if len(e.Clients) == 0 || e.Work == 0 || e.Limit <= e.Work {
		p.fail(1, "the workload needs clients, `work`, and a `limit` above it")
	}
	if len(e.Cells) == 0 {
		p.fail(1, "the experiment has no cell")
	}
	for i := range e.Cells {
		c := &e.Cells[i]
		if c.Plan.Line == 0 || c.Expect.Result == "" {
			p.fail(c.Line, "cell %s needs a plan and an expectation", c.Name)
		}
		if c.Expect.Result == oracle.Invalid {
			p.fail(c.Line, "cell %s expects invalid: that is for mutants", c.Name)
		}
		for _, f := range c.Flags {
			known := f.Client == allClients || slices.ContainsFunc(e.Clients, func(c Client) bool { return c.Name == f.Client })
			if !known || len(f.Flags) == 0 {
				p.fail(f.Line, "client %s of cell %s: want `client NAME FLAGS` or `client all FLAGS`, of a client of the workload", f.Client, c.Name)
			}
		}
		p.resolvePlan(&c.Plan)
		p.resolvePlan(&c.PlanReal)
	}
	for _, m := range e.Mutants {
		if len(m.Cells) == 0 || m.Expect.Result != oracle.Invalid {
			p.fail(m.Line, "mutant %s needs cells and expects `invalid [CLASS,...] within N seeds`", m.Rule)
		}
		for _, name := range m.Cells {
			if _, err := e.Cell(name); err != nil {
				p.fail(m.Line, "mutant %s: %v", m.Rule, err)
			}
		}
	}
}

// resolvePlan finds the text of a literal plan, and draws a plan once to see that it can be.
func (p *parser) resolvePlan(src *PlanSource) {
	if src.Line == 0 || p.err != nil {
		return
	}
	if name := src.Literal; name != "" {
		s, ok := p.plans[name]
		if !ok {
			p.fail(src.Line, "no section plan/%s", name)
		}
		src.Literal, src.Line = s.text, s.line+1
	}
	var peers []string
	for _, c := range p.e.Clients {
		peers = append(peers, c.Name)
	}
	if _, err := src.Draw(p.file, kernel.NewRand(0, "check"), peers); err != nil && p.err == nil {
		p.err = err
	}
}
