//go:build linux && amd64

package native

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
	"trialog/netsim/world"
)

// A goroutine that allocates, reads the clock or makes calls lets others go on, and timers fire; where it is interrupted is the
// seed's choice.
func TestBusyGoroutinesTakeTurns(t *testing.T) {
	for _, way := range []string{"small", "large", "string", "append", "map", "clock", "getpid", "stat", "raw", "yield"} {
		t.Run(way, func(t *testing.T) {
			res := play(t, 1, "busy", "a: "+way)
			require.NotNil(t, res.Exit("a"), "the goroutine was told to stop")
			lines := strings.Split(strings.TrimSpace(res.Text("a", "stdout")), "\n")
			require.Len(t, lines, 11)
			var first, last, slept, i int
			for _, x := range []struct {
				line, format string
				v            []any
			}{{lines[0], "turn %d %d", []any{&i, &first}}, {lines[9], "turn %d %d", []any{&i, &last}}, {lines[10], "slept %d", []any{&slept}}} {
				_, err := fmt.Sscanf(x.line, x.format, x.v...)
				require.NoError(t, err)
			}
			assert.Greater(t, last, first)
			assert.Greater(t, slept, last)
			assert.Equal(t, res.TraceHash, play(t, 1, "busy", "a: "+way).TraceHash)
			if way != "yield" { // it chooses by itself
				assert.NotEqual(t, lines, strings.Split(strings.TrimSpace(play(t, 2, "busy", "a: "+way).Text("a", "stdout")), "\n"))
			}
		})
	}
}

// Nothing repeatable can interrupt a loop that does none of that. It is not waited for without end.
func TestALoopThatCannotBeInterrupted(t *testing.T) {
	for _, way := range []string{"tight", "chan"} {
		spec := specOf(t, newEngine(t, nil), 1, "busy", "a: "+way)
		spec.Silence = 100 * time.Millisecond
		_, err := world.Run(t.Context(), spec)
		assert.Equal(t, &kernel.SilentError{Proc: "a", For: spec.Silence}, err)
	}
}
