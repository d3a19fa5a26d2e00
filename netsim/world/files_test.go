package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/nemesis"
	"trialog/netsim/world"
)

// systemFiles are what a disk has when nobody has touched it.
func systemFiles(t *testing.T, res *world.Result, proc string) map[string]string {
	t.Helper()
	have := map[string]string{}
	for _, name := range res.Disks[proc].Files() {
		b, err := res.Disks[proc].ReadFile(name)
		require.NoError(t, err)
		have[name] = string(b)
	}
	return have
}

func TestASystemKnowsTheHosts(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		want := map[string]string{
			"/etc/hosts":         "127.0.0.1 localhost localhost.\n10.0.0.1 a a.\n10.0.0.2 Bee Bee.\n",
			"/etc/hostname":      "Bee\n",
			"/etc/nsswitch.conf": "hosts: files\n",
			"/etc/resolv.conf":   "",
		}
		for _, plan := range []string{"", "at 1s powercut Bee lose=unsynced", "at 1s wipe Bee"} {
			res := e.run(t, 1, 20*time.Second, plan, "a: spin", "Bee: spin")
			assert.Equal(t, want, systemFiles(t, res, "Bee"), "%q", plan)
		}
	})
}

// A guest may read /etc/hosts or ask the network: one name has one address.
func TestTheFileAndTheNetworkAgreeAboutNames(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		res := e.run(t, 1, 20*time.Second, "", "a: lookup a Bee bee BEE. localhost LocalHost localhost. nobody", "Bee: spin")
		known := map[string]string{}
		for line := range strings.Lines(systemFiles(t, res, "a")["/etc/hosts"]) {
			f := strings.Fields(line)
			require.Len(t, f, 3)
			known[strings.ToLower(f[1])] = f[0]
		}
		answers := strings.Split(strings.TrimSpace(res.Text("a", "stdout")), "\n")
		require.Len(t, answers, 8)
		for _, line := range answers {
			name, answer, _ := strings.Cut(line, " ")
			want := "[] lookup " + name + ": no such host"
			if ip, ok := known[strings.ToLower(strings.TrimSuffix(name, "."))]; ok {
				want = "[" + ip + "] <nil>"
			}
			assert.Equal(t, want, answer, name)
		}
	})
}

func TestAProcessMayBringItsOwnSystemFiles(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		own := map[string][]byte{"/etc/hosts": []byte("127.0.0.1 me\n"), "/etc/mine/conf": []byte("x")}
		plan, err := nemesis.Parse("test", "at 1s wipe a")
		require.NoError(t, err)
		for _, p := range []*nemesis.Plan{nil, plan} {
			res, err := world.Run(t.Context(), world.Spec{Seed: 1, Program: e.program(t, "probe"), Limit: 2 * time.Second, Plan: p,
				Procs: []world.ProcSpec{{Name: "a", Args: []string{"spin"}, Files: own}}})
			require.NoError(t, err)
			have := systemFiles(t, res, "a")
			assert.Equal(t, "127.0.0.1 me\n", have["/etc/hosts"])
			assert.Equal(t, "a\n", have["/etc/hostname"])
			_, kept := have["/etc/mine/conf"]
			assert.Equal(t, p == nil, kept, "a wiped disk has what every system has")
		}
	})
}
