//go:build linux && amd64

package native

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/world"
)

func TestPipes(t *testing.T) {
	for seed := range uint64(3) {
		assert.Equal(t, `pipe <nil>
written 1000000 <nil> <nil>
read true <nil> <nil>
nobody reads true
deadline <nil>
too late true
still true <nil>
late 4 <nil>
closed meanwhile true
wrong end true
done
`, play(t, seed, "review", "a: pipes").Text("a", "stdout"))
	}
}

func TestTheEndOfStandardInput(t *testing.T) {
	res, err := world.Run(t.Context(), planned(t, specOf(t, newEngine(t, nil), 1, "review", "a: input"), "at 1s stop a"))
	require.NoError(t, err)
	assert.Equal(t, `deadline <nil>
too late true <nil>
end 0 <nil>
again 0 EOF
by hand 0 <nil> <nil>
next true <nil>
done
`, res.Text("a", "stdout"))
}
