package broker

import (
	"os/exec"
	"testing"
)

// mountSmall mounts a file system of that size at dir until the test ends.
func mountSmall(t *testing.T, dir, size string) error {
	t.Helper()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).Run(); err != nil {
		return err
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return nil
}
