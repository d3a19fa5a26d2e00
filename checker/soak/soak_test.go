package soak

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/checker/court"
	"trialog/netsim/engine"
	"trialog/netsim/guest"
)

func sim(t *testing.T) *court.Sim {
	t.Helper()
	ctx := context.Background()
	c, err := engine.Choose(engine.Auto, nil)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "trialog"+engine.Suffix(c.Name))
	require.NoError(t, guest.Build(ctx, guest.Options{Engine: guest.Engine(c.Name), Package: "trialog/cmd/trialog", Out: file}))
	s, err := court.NewSim(ctx, court.SimOptions{Engine: engine.Auto, Guest: file})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(ctx)) })
	return s
}

func TestSoak(t *testing.T) {
	opt := Options{Sim: sim(t), Work: time.Hour, Seed: 1}
	cells, err := Cells()
	require.NoError(t, err)
	require.Len(t, cells, 2)
	for _, cell := range cells {
		r, err := Run(t.Context(), opt, cell)
		require.NoError(t, err)
		assert.Empty(t, r.Problem(), r.String())
		assert.Greater(t, r.Lives, 10)
		assert.Greater(t, len(r.Samples), 100)
	}

	// A broker that keeps everything is noticed, although no judge has anything to say.
	defer func(sound string) { text = sound }(text)
	text = strings.NewReplacer("log.retention.bytes=150000", "log.retention.bytes=-1", "log.retention.ms=600000", "log.retention.ms=-1").Replace(text)
	r, err := Run(t.Context(), opt, "retention")
	require.NoError(t, err)
	assert.Contains(t, r.Problem(), "the disk fills up")
}

func TestProblem(t *testing.T) {
	r := Result{Run: &court.Run{Result: court.Valid}, Third: Sample{DiskBytes: 1000, Files: 20}, Last: Sample{DiskBytes: 1250, Files: 24}}
	require.Empty(t, r.Problem())
	r.Last.Files = 25
	require.Contains(t, r.Problem(), "descriptors leak: 20")
	r.Last.Files = 0
	require.Contains(t, r.Problem(), "was not there")
}
