// Package alone runs a test in a process of its own: one that changes what its process may do (a limit, a signal) and would
// harm whatever else the process is at, the test runner's own files first of all. For tests only.
package alone

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

const env = "TRIALOG_TEST_ALONE"

// Run runs the calling test, which must be no subtest, in a process of its own and takes over its outcome. It is true in
// the process that only watches: the test then returns.
func Run(t *testing.T) (watched bool) {
	t.Helper()
	if os.Getenv(env) == t.Name() {
		return false
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), env+"="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Fatalf("in a process of its own: %v\n%s", err, out)
	}
	return true
}
