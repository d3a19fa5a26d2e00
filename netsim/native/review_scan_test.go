//go:build linux && amd64

package native

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program's code is searched for what reads the machine without asking. Bytes that look like it are not enough.
func TestWhatReadsTheMachineIsFound(t *testing.T) {
	for name, want := range map[string]struct {
		sees []string
		trap bool
	}{
		"review":  {[]string{"RDTSC in main.rdtscWide", "RDRAND in main.rdrand", "RDRAND in main.rdseed"}, true},
		"hostile": {[]string{"RDTSC in main.rdtsc", "RDTSCP in main.rdtscp"}, true},
		"ends":    {nil, false},
	} {
		p, err := newEngine(t, nil).Load(built(t, name))
		require.NoError(t, err)
		assert.Equal(t, want.sees, p.Sees(), name)
		assert.Equal(t, want.trap, p.trap, name)
	}
}
