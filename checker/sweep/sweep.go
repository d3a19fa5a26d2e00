package sweep

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"trialog/checker/sweep/script"
	"trialog/netsim/world"
)

//go:embed scripts/*.txt
var scriptFiles embed.FS

// Scripts are those that a sweep knows, by name.
func Scripts() ([]*script.Script, []string, error) {
	names, err := fs.Glob(scriptFiles, "scripts/*.txt")
	if err != nil {
		return nil, nil, err
	}
	var list []*script.Script
	var texts []string
	for _, file := range names {
		text, err := scriptFiles.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, "scripts/"), ".txt")
		s, err := script.Parse(name, string(text))
		if err != nil {
			return nil, nil, err
		}
		list, texts = append(list, s), append(texts, string(text))
	}
	return list, texts, nil
}

// Options of a sweep.
type Options struct {
	Program  world.Program // checker/sweep/subject
	Scripts  []string      // by name; none means all
	RulesOff []string      // of seglog, without the room
	Short    bool          // fewer seeded subsets, and one recovery is crashed
	// Recoveries is how many recoveries of a script are crashed, of those that differ; 0: 12, or 1 if Short.
	Recoveries int
	First      bool        // stop each script at its first violation
	Progress   func(Count) // told after each script, one at a time; may be nil
}

// sweep is one sweep under way.
type sweep struct {
	opt Options

	mu    sync.Mutex
	bytes map[string][]byte // batches that were seen, each once
}

// intern returns the copy of b that is kept.
func (sw *sweep) intern(b []byte) []byte {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if have, ok := sw.bytes[string(b)]; ok {
		return have
	}
	sw.bytes[string(b)] = b
	return b
}

// subsets and crashed are how many seeded losses each fork suffers, and how many recoveries of a script are crashed.
func (sw *sweep) subsets() int {
	if sw.opt.Short {
		return 1
	}
	return 6
}

func (sw *sweep) crashed() int {
	switch {
	case sw.opt.Recoveries > 0:
		return sw.opt.Recoveries
	case sw.opt.Short:
		return 1
	}
	return 12
}

// Run sweeps. The error is a harness error; violations are in the report.
func Run(ctx context.Context, opt Options) (*Report, error) {
	all, texts, err := Scripts()
	if err != nil {
		return nil, err
	}
	for _, name := range opt.Scripts {
		if !slices.ContainsFunc(all, func(s *script.Script) bool { return s.Name == name }) {
			return nil, fmt.Errorf("sweep: there is no script %q", name)
		}
	}
	sw := &sweep{opt: opt, bytes: map[string][]byte{}}
	report := &Report{}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	results := make([]*Count, len(all))
	errs := make([]error, len(all))
	for i, s := range all {
		if len(opt.Scripts) > 0 && !slices.Contains(opt.Scripts, s.Name) {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i], errs[i] = sw.script(ctx, s, texts[i])
			if errs[i] == nil && opt.Progress != nil {
				sw.mu.Lock()
				defer sw.mu.Unlock()
				opt.Progress(*results[i])
			}
		})
	}
	wg.Wait()
	for i := range all {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if results[i] != nil {
			report.Scripts = append(report.Scripts, *results[i])
		}
	}
	return report, nil
}

// Mutant is a rule that was switched off, and what came of it.
type Mutant struct {
	Rule, Script string
	Count        Count
}

// String says whether it was convicted.
func (m Mutant) String() string {
	if len(m.Count.Violations) == 0 {
		return fmt.Sprintf("%-30s NOT convicted by script %s, %d images", m.Rule, m.Script, m.Count.Images)
	}
	return fmt.Sprintf("%-30s convicted by script %s at image %d", m.Rule, m.Script, m.Count.Images)
}

// Mutants switches off each rule that a script claims to convict, one after the other, and sweeps until the first violation.
func Mutants(ctx context.Context, opt Options, told func(Mutant)) error {
	all, _, err := Scripts()
	if err != nil {
		return err
	}
	for _, s := range all {
		for _, rule := range s.Convicts {
			opt.Scripts, opt.RulesOff, opt.First, opt.Progress = []string{s.Name}, []string{rule}, true, nil
			r, err := Run(ctx, opt)
			if err != nil {
				return fmt.Errorf("sweep: without rule %s: %w", rule, err)
			}
			told(Mutant{rule, s.Name, r.Scripts[0]})
		}
	}
	return nil
}

// script sweeps one script: the script itself, and then some of its recoveries.
func (sw *sweep) script(ctx context.Context, s *script.Script, text string) (*Count, error) {
	rec, err := sw.record(ctx, s, text, nil)
	if err != nil {
		return nil, err
	}
	p := &pass{sweep: sw, script: s, images: map[digest]int{}, count: &Count{Script: s.Name}}
	if err := p.run(ctx, s, rec, moment{before: &state{}}); err != nil {
		return nil, err
	}
	for _, o := range p.origins() {
		if sw.opt.First && len(p.count.Violations) > 0 {
			break
		}
		again, err := sw.record(ctx, s.Recovery(), s.Declarations(), o.image)
		if err != nil {
			return nil, err
		}
		p.count.Recoveries++
		p.under = o.where
		from := o.moment
		from.unknown = true
		if err := p.run(ctx, s.Recovery(), again, from); err != nil {
			return nil, err
		}
	}
	return p.count, nil
}
