//go:build linux && amd64

package native

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/world"
)

// What a guest is shown of a stream, and what it writes without waiting, must be one stream for every way of reading and
// writing it.
func TestAllWaysReadAndWriteOneStream(t *testing.T) {
	for seed := range uint64(3) {
		spec := planned(t, specOf(t, newEngine(t, nil), seed, "mill", "cli: mixed srv:7000", "srv: echo :7000"), "at 1500us link srv->cli throttle 1000000")
		res, err := world.Run(t.Context(), spec)
		require.NoError(t, err)
		assert.Regexp(t, `^all came map\[0:\d+ 1:\d+ 2:\d+ 3:\d+ 4:\d+ 5:\d+\]\n$`, res.Text("cli", "stdout"))
		require.NotNil(t, res.Exit("srv"), "the connection ended with its client")
		assert.Equal(t, 0, res.Exit("srv").Code, res.Text("srv", "stdout"))
	}
}

// The overlay makes the tables of CRC-32C in another way than Go; e3069283 is the check value of the polynomial.
func TestSumsAreThoseOfGo(t *testing.T) {
	res := play(t, 1, "mill", "a: sums")
	require.Equal(t, "e3069283\n", res.Text("a", "stdout"), res.Text("a", "stderr"))
}
