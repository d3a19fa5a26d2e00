package court

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"trialog/checker/court/experiment"
	"trialog/netsim/kernel"
	"trialog/netsim/nemesis"
)

// TraceVersion changes when the simulator gives another trace for the same run on purpose.
const TraceVersion = kernel.TraceVersion

// Identity is everything that decides a run. In the simulator it fixes the run bit for bit.
type Identity struct {
	Guest        string   `json:"guest"` // source hash of the program
	Experiment   string   `json:"experiment"`
	Digest       string   `json:"experiment_sha256"`
	Cell         string   `json:"cell"`
	World        string   `json:"world"`
	Engine       string   `json:"engine,omitempty"` // of the simulated world's guests, see netsim/engine
	RulesOff     []string `json:"rules_off"`        // sorted
	Seed         uint64   `json:"seed"`
	TraceVersion int      `json:"trace_version"`
	Started      string   `json:"started,omitempty"` // real runs only: no two of them are equal
}

// ID names the run: 16 hexadecimal digits.
func (i Identity) ID() string {
	text, err := json.Marshal(i)
	if err != nil {
		panic(fmt.Sprintf("court: identity %+v: %v", i, err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Case is one run to be made.
type Case struct {
	Experiment *experiment.Experiment
	Cell       *experiment.Cell
	RulesOff   []string // sorted
	Seed       uint64

	// EveryJudge lets each judge speak, also when an earlier one has convicted. It is no part of the identity.
	EveryJudge bool
}

// Properties are the broker's, the cell's and the rules' together.
func (c *Case) Properties() experiment.Properties {
	p := c.Experiment.Broker.With(c.Cell.Properties...)
	if len(c.RulesOff) > 0 {
		p = p.With(experiment.Property{Key: "trialog.rules.off", Value: strings.Join(c.RulesOff, ",")})
	}
	return p
}

// Stream is a stream of random numbers for one purpose. It depends on the seed and the cell, not on the rules that are
// off: a mutant meets the faults and the workload that the sound program meets.
func (c *Case) Stream(purpose string) *kernel.Rand {
	return kernel.NewRand(c.Seed, "court", c.Cell.Name, purpose)
}

// Plan gives the plan of the case in a world: the cell's own, or the one that its seed generates.
func (c *Case) Plan(world string) (*nemesis.Plan, error) {
	var peers []string
	for _, client := range c.Experiment.Clients {
		peers = append(peers, client.Name)
	}
	src := c.Cell.Plan
	if world == realWorld && c.Cell.PlanReal.Line > 0 {
		src = c.Cell.PlanReal
	}
	return src.Draw(c.Experiment.File, c.Stream("plan"), peers)
}

// identity of the case in a world, for a guest. engine is empty where the world has none.
func (c *Case) identity(world, engine, guest string) Identity {
	rules := append([]string{}, c.RulesOff...)
	slices.Sort(rules)
	return Identity{
		Guest: guest, Experiment: c.Experiment.Name, Digest: c.Experiment.Digest, Cell: c.Cell.Name,
		World: world, Engine: engine, RulesOff: rules, Seed: c.Seed, TraceVersion: TraceVersion,
	}
}

// SourceMark precedes the source hash inside a binary; the linker puts both there (see the Makefile).
const SourceMark = "trialog-source:"

// SourceOf finds the source hash in a binary's bytes; empty if it was built without.
func SourceOf(binary []byte) string {
	const digits = sha256.Size * 2
	for rest := binary; ; {
		at := bytes.Index(rest, []byte(SourceMark))
		if at < 0 {
			return ""
		}
		rest = rest[at+len(SourceMark):]
		if len(rest) >= digits && isHex(rest[:digits]) {
			return string(rest[:digits])
		}
	}
}

func isHex(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}
