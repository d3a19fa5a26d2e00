//go:build linux && amd64

package native

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "ask the real system again for testdata/linux.txt")

// A program asks questions that every Linux answers in the same way. The answers of the real one are in testdata/linux.txt.
func TestAnswersAreThoseOfLinux(t *testing.T) {
	const golden = "testdata/linux.txt"
	if *rewrite {
		program := filepath.Join(t.TempDir(), "review")
		out, err := exec.Command("go", "build", "-o", program, "./testdata/review").CombinedOutput()
		require.NoError(t, err, string(out))
		answers, err := exec.Command(program, "linux", t.TempDir()).Output()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(golden, answers, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	res := play(t, 1, "review", "a: linux /tmp")
	assert.Equal(t, string(want), res.Text("a", "stdout"))
	assert.Empty(t, res.Text("a", "stderr"))
}

// What would be wrong if it were ignored is refused, and named where the error alone does not say what it is about.
func TestWhatCannotBeServedIsRefused(t *testing.T) {
	res := play(t, 1, "review", "a: refused")
	assert.Equal(t, "sync <nil>\npeek operation not supported\ndup invalid argument\nlinger protocol not available\ndone\n", res.Text("a", "stdout"))
	assert.Equal(t, "netsim: recvfrom (45) with flags 0x2 is not served: EOPNOTSUPP\n"+
		"netsim: command 1030 of fcntl is not served: EINVAL\n", res.Text("a", "stderr"))
}
