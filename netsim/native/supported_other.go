//go:build !linux || !amd64

package native

import (
	"errors"
	"runtime"
	"sync/atomic"

	"trialog/netsim/kernel"
)

// Engine is not available on this platform.
type Engine struct{}

// Stats are not available on this platform.
type Stats struct {
	Starts, StartNs, Calls, Posted, Polls, Empty, PeakKiB atomic.Int64
	Memory                                                atomic.Bool
}

// Stats gives nothing.
func (*Engine) Stats() *Stats { return nil }

// Program is not available on this platform.
type Program struct{}

// Supported says why not.
func Supported() error {
	return errors.New("native: guests are linux/amd64 code, this is " + runtime.GOOS + "/" + runtime.GOARCH)
}

// NewEngine fails.
func NewEngine() (*Engine, error) { return nil, Supported() }

// Load fails.
func (*Engine) Load(string) (*Program, error) { return nil, Supported() }

// Close does nothing.
func (*Engine) Close() error { return nil }

// Main cannot be called: there are no programs.
func (*Program) Main(_, _ []string) func(*kernel.Proc) { return nil }

// EnterThread fails.
func (*Program) EnterThread() (func(), error) { return nil, Supported() }
