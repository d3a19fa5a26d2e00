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

// lockDir makes the directory if need be and takes its .lock, which the kernel
// gives back when the process ends, however it ends.
func lockDir(path string) (io.Closer, error) {
	if err := makeDir(path); err != nil {
		return nil, fmt.Errorf("broker: log directory: %w", err)
	}
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
		return nil, fmt.Errorf("broker: log directory %s is in use by another broker (.lock is held)", path)
	}
	return nil, fmt.Errorf("broker: locking %s: %w", path, err)
}

// makeDir makes the directory durably: its entry in the parent is fsynced.
func makeDir(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(filepath.Clean(path)))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.Sync()
}
