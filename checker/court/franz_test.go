package court

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/engine"
	"trialog/netsim/guest"
	"trialog/netsim/nemesis"
	"trialog/netsim/world"
)

// loadGuest builds a package of some module for the simulator.
func loadGuest(t *testing.T, e *engine.Engine, dir, pkg string) world.Program {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest")
	require.NoError(t, guest.Build(t.Context(), guest.Options{Engine: guest.Engine(e.Name), Dir: dir, Package: pkg, Out: out}))
	p, err := e.Load(t.Context(), out)
	require.NoError(t, err)
	return p
}

// TestForeignClientInTheSimulator runs an unmodified franz-go client as a guest beside the broker guest, through a kill
// and a pause, twice.
func TestForeignClientInTheSimulator(t *testing.T) {
	engines(t, func(t *testing.T, name string) {
		e, err := engine.Open(t.Context(), name)
		require.NoError(t, err)
		defer e.Close(t.Context())
		broker := loadGuest(t, e, "../..", "./cmd/trialog")
		client := loadGuest(t, e, "../../experiments/clients", "./franzguest")
		plan, err := nemesis.Parse("franz", "at 700ms kill b1\nat 1500ms start b1\nat 2s pause b1 for 3s")
		require.NoError(t, err)
		properties := "node.id=1\nlisteners=PLAINTEXT://b1:9092\nlog.dirs=/data\n"
		run := func(seed uint64) *world.Result {
			res, err := world.Run(t.Context(), world.Spec{
				Seed: seed, Limit: 3 * time.Minute, Plan: plan, WaitFor: []string{"franz"},
				Procs: []world.ProcSpec{
					{Name: "b1", Program: broker, Args: []string{"broker", "--config", "/etc/server.properties"},
						Files: map[string][]byte{"/etc/server.properties": []byte(properties)}},
					{Name: "franz", Program: client, Args: []string{"--bootstrap", "b1:9092", "--records", "200"}},
				},
			})
			require.NoError(t, err)
			require.Empty(t, res.NotFired)
			return res
		}
		first, again := run(3), run(3)
		assert.Contains(t, first.Text("franz", "stdout"), "acked 200 consumed 200 partitions 3", first.Text("franz", "stderr"))
		require.NotNil(t, first.Exit("franz"))
		assert.Zero(t, first.Exit("franz").Code)
		assert.Equal(t, first.TraceHash, again.TraceHash)
		assert.Equal(t, first.Lines, again.Lines)
		other := run(4)
		assert.Contains(t, other.Text("franz", "stdout"), "acked 200 consumed 200")
		assert.NotEqual(t, first.TraceHash, other.TraceHash)
	})
}
