//go:build linux && amd64

package native

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/world"
)

// A goroutine may be interrupted between a call that the disk will answer later and its waiting for the answer.
func TestEveryAnswerOfTheDiskIsHeard(t *testing.T) {
	for seed := range uint64(8) {
		res := play(t, seed, "review", "a: syncs 40 100")
		require.NotNil(t, res.Exit("a"), "seed %d: some goroutine waits for ever", seed)
		assert.Equal(t, "done\n", res.Text("a", "stdout"))
		assert.Empty(t, res.Text("a", "stderr"))
	}
}

// There are places for 1024 waiting goroutines, and the ends of 64 calls can be told at once.
func TestMoreWaitForTheDiskThanThereArePlaces(t *testing.T) {
	spec := planned(t, specOf(t, newEngine(t, nil), 1, "review", "a: syncs 1040 3"), "at 0s disk a slow 10ms\nat 700ms disk a stuck for 1s")
	res, err := world.Run(t.Context(), spec)
	require.NoError(t, err)
	require.NotNil(t, res.Exit("a"))
	assert.Equal(t, "done\n", res.Text("a", "stdout"))
}

// Whoever waits for a descriptor without having tried, and registers it when it has long been ready, is told so. A connection that
// is dialed can come about before its goroutine gets as far as that.
func TestReadinessBeforeTheRegistration(t *testing.T) {
	res := play(t, 1, "review", "srv: greet :7000", "cli: ready 10.0.0.1")
	require.NotNil(t, res.Exit("cli"), res.Text("cli", "stdout"))
	const start, end = "socket <nil>\nconnect operation now in progress\nfile <nil>\n", "close <nil>\n"
	assert.Equal(t, start+"write <nil>\nread 5 <nil>\n"+end+start+"read <nil>\nread 5 <nil>\n"+end+
		start+"refused <nil>\nread 0 read refused: connection refused\n"+end+"done\n", res.Text("cli", "stdout"))
}

// A connection that breaks tells so: whatever was written to it meanwhile may be lost, but its end is no end of file.
func TestABrokenConnectionIsNoEnd(t *testing.T) {
	for seed := range uint64(4) {
		spec := planned(t, specOf(t, newEngine(t, nil), seed, "review", "srv: greet :7000", "cli: reset srv:7000"), "at 500ms link cli->srv reset")
		res, err := world.Run(t.Context(), spec)
		require.NoError(t, err)
		require.NotNil(t, res.Exit("cli"), res.Text("cli", "stdout"))
		assert.Contains(t, res.Text("cli", "stdout"), "connection reset by peer")
	}
}

// Goroutines that keep each other busy without a call, an allocation or a look at the clock do not keep the others from
// what they wait for.
func TestGoroutinesThatHandEachOtherTheTurn(t *testing.T) {
	spec := specOf(t, newEngine(t, nil), 1, "review", "srv: greet :7000", "cli: handing srv:7000")
	res, err := world.Run(t.Context(), spec)
	require.NoError(t, err)
	assert.Equal(t, "hello <nil> <nil>\ndone\n", res.Text("cli", "stdout"))
}
