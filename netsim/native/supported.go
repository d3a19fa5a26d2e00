//go:build linux && amd64

package native

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Supported says whether guests can run on this machine: nil, or one line with the reason why not.
func Supported() error {
	if v, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("native: this kernel has no seccomp filters (PR_GET_SECCOMP: %w)", err)
	} else if v == 1 {
		return fmt.Errorf("native: this process is in strict seccomp mode")
	}
	fd, err := unix.MemfdCreate("netsim", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("native: memfd_create is not permitted: %w", err)
	}
	unix.Close(fd)
	_ = runtime.GOARCH
	return nil
}
