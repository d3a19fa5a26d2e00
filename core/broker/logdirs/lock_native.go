//go:build !guest

package logdirs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir takes the directory's .lock, which the kernel
// gives back when the process ends, however it ends.
func lockDir(path string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(path, ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("broker: log directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("broker: log directory %s %w", path, errInUse)
	}
	return nil, fmt.Errorf("broker: locking %s: %w", path, err)
}
