//go:build linux && amd64

package native

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A goroutine may be interrupted between a call that the disk will answer later and its waiting for the answer.
func TestEveryAnswerOfTheDiskIsHeard(t *testing.T) {
	for seed := range uint64(8) {
		res := play(t, seed, "review", "a: syncs")
		require.NotNil(t, res.Exit("a"), "seed %d: some goroutine waits for ever", seed)
		assert.Equal(t, "done\n", res.Text("a", "stdout"))
		assert.Empty(t, res.Text("a", "stderr"))
	}
}
