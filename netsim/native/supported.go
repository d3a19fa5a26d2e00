//go:build linux && amd64

package native

import (
	"errors"
	"fmt"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// Supported says whether guests can run on this machine: nil, or one line with the reason why not.
func Supported() error {
	if x := cpu.X86; !x.HasSSE3 || !x.HasPCLMULQDQ || !x.HasSSSE3 || !x.HasSSE41 || !x.HasSSE42 || !x.HasPOPCNT {
		return errors.New("native: this processor lacks SSE4.2, POPCNT or PCLMULQDQ, which guests count on")
	}
	if v, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("native: this kernel has no seccomp filters (PR_GET_SECCOMP: %w)", err)
	} else if v == 1 {
		return errors.New("native: this process is in strict seccomp mode")
	}
	fd, err := unix.MemfdCreate("netsim", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("native: memfd_create is not permitted: %w", err)
	}
	unix.Close(fd)
	return nil
}
