//go:build !guest

package main

import "golang.org/x/sys/unix"

// monotonicNs is the system's monotonic clock, the same for all processes of a run.
func monotonicNs() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("clock_gettime(CLOCK_MONOTONIC): " + err.Error())
	}
	return ts.Nano()
}
