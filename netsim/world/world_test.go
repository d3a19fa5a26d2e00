package world_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
)

func count(text, part string) int { return strings.Count(text, part) }

func TestPingWithoutFaults(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		res := e.run(t, 1, 30*time.Second, "", "srv: echo :7000", "cli: ping srv:7000 20 1s")
		assert.Equal(t, 20, count(res.Text("cli", "stdout"), " ok "), res.Text("cli", "stdout"))
		assert.Contains(t, res.Text("srv", "stdout"), "listening on")
	})
}

func TestPartitionHealsAndConnectionSurvives(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 60*time.Second, "at 1s partition srv | cli for 3s", "srv: echo :7000", "cli: ping srv:7000 40 20s").Text("cli", "stdout")
		assert.Equal(t, 40, count(out, " ok "), "a held byte is delivered after the heal:\n%s", out)
		out = e.run(t, 1, 60*time.Second, "at 1s partition srv | cli for 5s", "srv: echo :7000", "cli: ping srv:7000 40 500ms").Text("cli", "stdout")
		assert.Positive(t, count(out, "lost: "), out)
		assert.Positive(t, count(out, "dial: "), out)
		assert.Contains(t, out, "39 at")
		assert.Regexp(t, `39 at \d+ ok`, out)
	})
}

func TestTheEndOfAPartitionEndsNothingElse(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		res := e.run(t, 1, 60*time.Second, "at 0s link cli->srv delay 300ms\nat 1s partition srv | cli for 1s",
			"srv: echo :7000", "cli: ping srv:7000 40 20s")
		var at []int64
		for _, line := range strings.Split(res.Text("cli", "stdout"), "\n") {
			var i int
			var ms int64
			if n, _ := fmt.Sscanf(line, "%d at %d ok", &i, &ms); n == 2 {
				at = append(at, ms)
			}
		}
		require.Len(t, at, 40)
		assert.Greater(t, at[39]-at[29], int64(10*300), "the link is still slow")
	})
}

func TestHealOfOneLinkEndsAllThatAilsIt(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		for _, fault := range []string{"link cli->srv delay 1s", "link cli->srv hold", "link cli->srv throttle 10", "cut cli->srv"} {
			res := e.run(t, 1, 60*time.Second, "at 1s "+fault+"\nat 2s heal cli->srv", "srv: echo :7000", "cli: ping srv:7000 40 20s")
			var ms int64
			_, err := fmt.Sscanf(res.Text("cli", "stdout")[strings.Index(res.Text("cli", "stdout"), "39 at"):], "39 at %d ok", &ms)
			require.NoError(t, err)
			assert.Less(t, ms, int64(8000), fault)
		}
	})
}

func TestOneWayCutsLoseEitherDirection(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		for _, link := range []string{"srv->cli", "cli->srv"} {
			res := e.run(t, 1, 60*time.Second, "at 1s cut "+link+" for 4s", "srv: echo :7000", "cli: ping srv:7000 30 500ms")
			out := res.Text("cli", "stdout")
			assert.Positive(t, count(out, "i/o timeout"), "%s\n%s", link, out)
			assert.Regexp(t, `29 at \d+ ok`, out)
		}
	})
}

func TestDials(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 60*time.Second, "", "srv: spin", "cli: dial srv:9 5s").Text("cli", "stdout")
		assert.Contains(t, out, "refused")
		out = e.run(t, 1, 60*time.Second, "at 0s powercut srv", "srv: spin", "cli: dial srv:9 5s").Text("cli", "stdout")
		assert.Regexp(t, `failed after 50\d\d ms: .*timeout`, out)
		out = e.run(t, 1, 60*time.Second, "at 0s partition srv | cli", "srv: echo :7000", "cli: dial srv:7000 50s").Text("cli", "stdout")
		assert.Regexp(t, `failed after \d+ ms: .*timed out`, out, "the network's own limit")
	})
}

func TestResetKillAndRestart(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 30*time.Second, "at 1s link srv->cli reset", "srv: echo :7000", "cli: ping srv:7000 20 1s").Text("cli", "stdout")
		assert.Regexp(t, "(?i)connection reset by peer", out)
		assert.Regexp(t, `19 at \d+ ok`, out)
		res := e.run(t, 1, 30*time.Second, "at 1s kill srv\nat 2s start srv", "srv: echo :7000", "cli: ping srv:7000 40 1s")
		out = res.Text("cli", "stdout")
		assert.Positive(t, count(out, "refused"), out)
		assert.Regexp(t, `39 at \d+ ok`, out)
		assert.Equal(t, kernel.ReasonKill, res.Procs[0].Exits[0].Reason)
	})
}

func TestWhatWasTakenDownStartsAgain(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		for plan, reason := range map[string]string{
			"at 1s kill srv for 1s":          kernel.ReasonKill,
			"at 1s kill srv call +20 for 1s": kernel.ReasonKill,
			"at 1s powercut srv for 1s":      kernel.ReasonPowerCut,
		} {
			res := e.run(t, 1, 60*time.Second, plan, "srv: echo :7000", "cli: ping srv:7000 40 1s")
			assert.Regexp(t, `39 at \d+ ok`, res.Text("cli", "stdout"), plan)
			assert.Equal(t, reason, res.Procs[0].Exits[0].Reason, plan)
		}
	})
}

func TestPowerCutIsSilent(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 60*time.Second, "at 1s powercut srv\nat 6s start srv", "srv: echo :7000", "cli: ping srv:7000 40 1s").Text("cli", "stdout")
		assert.Contains(t, out, "i/o timeout", "nobody tells the peer")
		assert.NotContains(t, out, "reset")
		assert.Regexp(t, `39 at \d+ ok`, out)
	})
}

func TestPause(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 60*time.Second, "at 3s pause a for 5s", "a: spin").Text("a", "stdout")
		gap, last := int64(0), int64(0)
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			var i int
			var at int64
			_, err := fmt.Sscanf(line, "alive %d %d", &i, &at)
			require.NoError(t, err)
			gap, last = max(gap, at-last), at
		}
		assert.InDelta(t, 5000, gap, 200)
		assert.Equal(t, 100, count(out, "alive"))
	})
}

func TestClockSkew(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 60*time.Second, "at 2500ms clock a skew +1h", "a: clock").Text("a", "stdout")
		var walls, monos []int64
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			var w, m int64
			_, err := fmt.Sscanf(line, "wall %d mono %d", &w, &m)
			require.NoError(t, err)
			walls, monos = append(walls, w), append(monos, m)
		}
		assert.InDelta(t, 1000, walls[1]-walls[0], 5)
		assert.InDelta(t, 3_601_000, walls[3]-walls[2], 5)
		assert.InDelta(t, 4000, monos[4], 5, "the monotonic clock does not jump")
	})
}

func TestNames(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 60*time.Second, "", "a: lookup a bee localhost nobody", "bee: spin").Text("a", "stdout")
		assert.Contains(t, out, "a [10.0.0.1]")
		assert.Contains(t, out, "bee [10.0.0.2]")
		assert.Contains(t, out, "localhost [127.0.0.1]")
		assert.Contains(t, out, "no such host")
	})
}

func TestBuffersAreBounded(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 60*time.Second, "", "srv: sink :7000", "cli: flood srv:7000").Text("cli", "stdout")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		require.GreaterOrEqual(t, len(lines), 4, out)
		assert.Equal(t, lines[0], lines[2], "a writer whose peer does not read is blocked")
		assert.Contains(t, out, "done 8388608")
	})
}

func TestLibraryCallsThatProgramsRelyOn(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		out := e.run(t, 1, 10*time.Second, "", "a: library").Text("a", "stdout")
		for _, line := range []string{
			"hostname a <nil>", "mkdirtemp true <nil>", "write <nil>", "chtimes <nil>", "mtime 2020-01-02 03:04:05 size 4",
			"removeall <nil>", "options <nil> <nil> <nil> <nil> <nil>", "linger true", "past true",
		} {
			assert.Contains(t, out, line+"\n")
		}
		for _, line := range []string{
			`link link /tmp/x-\d+/f /tmp/x-\d+/f2: .*[Nn]ot supported`, `symlink symlink .*: .*[Nn]ot supported`,
			`udp listen udp :0: socket: .*[Nn]ot supported`, `dial from dial tcp .*: (bind|connect): .*[Nn]ot supported`,
		} {
			assert.Regexp(t, line, out)
		}
	})
}

func TestLinesOfTwoLivesAreNotJoined(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		res := e.run(t, 1, 3*time.Second, "at 1s kill a\nat 1500ms start a", "a: half")
		assert.Equal(t, "begun\nbegun\n", res.Text("a", "stdout"))
	})
}

func TestWhoIsKilledWhileItStopsStaysDown(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		res := e.run(t, 1, 5*time.Second, "at 1s stop a\nat 1100ms start a\nat 2s kill a", "a: spin")
		assert.Len(t, res.Procs[0].Exits, 1)
		assert.Equal(t, int64(2e9), res.Procs[0].Exits[0].At)
	})
}
