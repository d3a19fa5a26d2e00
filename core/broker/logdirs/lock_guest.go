//go:build guest

package logdirs

import "io"

type noLock struct{}

func (noLock) Close() error { return nil }

// lockDir does nothing: a simulated disk belongs to one process.
func lockDir(string) (io.Closer, error) { return noLock{}, nil }
