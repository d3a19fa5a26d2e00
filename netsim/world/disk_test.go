package world_test

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

func TestTickerRunsThroughALongFsync(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 60*time.Second, "at 0s disk a slow 10s", "a: tick").Text("a", "stdout")
		var ms, ticks int
		_, err := fmt.Sscanf(out[strings.Index(out, "fsync took"):], "fsync took %d ms, ticks %d", &ms, &ticks)
		require.NoError(t, err, out)
		assert.GreaterOrEqual(t, ms, 10_000)
		assert.GreaterOrEqual(t, ticks, 990)
	})
}

func TestAppendersShareFsyncs(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 60*time.Second, "", "a: group").Text("a", "stdout")
		var syncs int
		_, err := fmt.Sscanf(out, "appends 64, fsyncs %d", &syncs)
		require.NoError(t, err, out)
		assert.LessOrEqual(t, syncs, 8)
	})
}

// lastSafe is the number of lines the guest was told are durable (or written).
func lastSafe(t *testing.T, res *world.Result, proc string) int {
	t.Helper()
	n := count(res.Text(proc, "stdout"), "safe ")
	require.Positive(t, n)
	return n
}

func TestKillInTheMiddleOfAWriteLeavesAPrefix(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		torn := 0
		for seed := range uint64(10) {
			res := e.run(t, seed, 3*time.Second, "at 1s kill a midwrite *log", "a: append /d -")
			b, err := res.Disks["a"].ReadFile("/d/log")
			require.NoError(t, err)
			assert.GreaterOrEqual(t, len(b)/100, lastSafe(t, res, "a"), "a kill keeps the page cache")
			if len(b)%100 != 0 {
				torn++
			}
		}
		assert.Equal(t, 10, torn)
	})
}

func TestKillAtACall(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		res := e.run(t, 1, 3*time.Second, "at 0s kill a call 500", "a: append /d -")
		assert.Equal(t, int64(500), res.Procs[0].Calls)
		res = e.run(t, 1, 3*time.Second, "at 0s powercut a call 500 after", "a: append /d -")
		assert.Equal(t, int64(500), res.Procs[0].Calls)
		assert.Equal(t, kernel.ReasonPowerCut, res.Procs[0].Exits[0].Reason)
	})
}

func TestPowerCutKeepsWhatWasFsynced(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		for seed := range uint64(10) {
			for _, lose := range []string{"unsynced", "some torn=1"} {
				res := e.run(t, seed, 3*time.Second, "at 1s powercut a lose="+lose, "a: append /d fd")
				b, err := res.Disks["a"].ReadFile("/d/log")
				require.NoError(t, err)
				assert.GreaterOrEqual(t, len(b)/100, lastSafe(t, res, "a"))
			}
		}
	})
}

func TestPowerCutTakesWhatWasNot(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		res := e.run(t, 1, 3*time.Second, "at 1s powercut a lose=unsynced", "a: append /d d")
		b, err := res.Disks["a"].ReadFile("/d/log")
		require.NoError(t, err, "the name was fsynced")
		assert.Empty(t, b, "the data was not")
		res = e.run(t, 1, 3*time.Second, "at 1s powercut a lose=unsynced", "a: append /d f")
		_, err = res.Disks["a"].ReadFile("/d/log")
		assert.Error(t, err, "the data was fsynced, the name was not")
		kept := map[bool]int{}
		for seed := range uint64(20) {
			res := e.run(t, seed, 3*time.Second, "at 1s powercut a lose=some", "a: append /d f")
			_, err := res.Disks["a"].ReadFile("/d/log")
			kept[err == nil]++
		}
		assert.Len(t, kept, 2, "a name that was not fsynced is lost in some worlds and kept in others")
	})
}

func TestAListingSkipsNothingWhileFilesGo(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 10*time.Second, "", "a: sweep").Text("a", "stdout")
		assert.Contains(t, out, "made 2000, met 2000, left 0")
	})
}

func TestFullDisk(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 10*time.Second, "at 0s disk a full", "a: fill").Text("a", "stdout")
		assert.Regexp(t, `stopped at \d+ .*[Nn]o space`, out)
	})
}

func TestDiskEndsAtItsRoom(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 10*time.Second, "at 0s disk a room 100000", "a: fill").Text("a", "stdout")
		assert.Regexp(t, `stopped at 98304 .*[Nn]o space`, out, "24 pages")
	})
}

func TestReadsFail(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 10*time.Second, "at 0s disk a eio read", "a: reread").Text("a", "stdout")
		assert.Regexp(t, `wrote 10000 <nil>\nread 0 true read /f: (input/output|I/O) error`, out)
	})
}

func TestShortWritesAreRepeated(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		whole := e.run(t, 1, 10*time.Second, "", "a: reread")
		res := e.run(t, 1, 10*time.Second, "at 0s disk a short", "a: reread")
		assert.Equal(t, "wrote 10000 <nil>\nread 10000 true <nil>\n", res.Text("a", "stdout"))
		assert.Greater(t, res.Calls, whole.Calls)
	})
}

func TestWritesThatAreDurableWhenTheyReturn(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		res := e.run(t, 1, 3*time.Second, "at 1s powercut a lose=unsynced", "a: through")
		b, err := res.Disks["a"].ReadFile("/through")
		require.NoError(t, err)
		assert.GreaterOrEqual(t, len(b)/100, lastSafe(t, res, "a"))
	})
}

func TestNullDevice(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 3*time.Second, "", "a: null").Text("a", "stdout")
		assert.Equal(t, "wrote 100 <nil>\nread 0 true\nregular false\n", out)
	})
}
