package sweep_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/checker/sweep"
	"trialog/netsim/engine"
	"trialog/netsim/guest"
	"trialog/netsim/world"
)

// program is the guest, built once.
var program = sync.OnceValues(func() (world.Program, error) {
	ctx := context.Background()
	c, err := engine.Choose(engine.Auto, nil)
	if err != nil {
		return nil, err
	}
	if _, err := os.ReadFile("subject/main.go"); err != nil { // so that a cached result knows its guest
		return nil, err
	}
	dir, err := os.MkdirTemp("", "trialog-sweep-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "subject")
	if err := guest.Build(ctx, guest.Options{Engine: guest.Engine(c.Name), Package: "./subject", Out: file}); err != nil {
		return nil, err
	}
	e, err := engine.Open(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	return e.Load(ctx, file)
})

func run(t *testing.T, opt sweep.Options) *sweep.Report {
	t.Helper()
	var err error
	opt.Program, err = program()
	require.NoError(t, err)
	r, err := sweep.Run(t.Context(), opt)
	require.NoError(t, err)
	return r
}

// What a sweep finds is a function of its scripts: a second one counts the same.
func TestTwoSweepsAreEqual(t *testing.T) {
	opt := sweep.Options{Scripts: []string{"roll"}, Short: true}
	a, b := run(t, opt), run(t, opt)
	require.Equal(t, a.Scripts, b.Scripts)
	require.Empty(t, a.Total().Violations)
	require.Greater(t, a.Total().Points, 300)
	require.Greater(t, a.Total().Images, 10*a.Total().Points)
	require.Positive(t, a.Total().Recoveries)
}

// An engine without one of its rules is convicted, and the violation is told in less than 20 lines.
func TestMutantsAreConvicted(t *testing.T) {
	p, err := program()
	require.NoError(t, err)
	var rules []string
	err = sweep.Mutants(t.Context(), sweep.Options{Program: p, Short: true}, func(m sweep.Mutant) {
		rules = append(rules, m.Rule)
		if assert.NotEmpty(t, m.Count.Violations, m.Rule) {
			assert.Less(t, strings.Count(m.Count.Violations[0].String(), "\n"), 20)
		}
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(rules), 13)
}

func TestUnknownScript(t *testing.T) {
	_, err := sweep.Run(t.Context(), sweep.Options{Scripts: []string{"roll", "rol"}})
	require.ErrorContains(t, err, "rol")
}
