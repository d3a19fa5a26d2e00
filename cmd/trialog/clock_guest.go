//go:build guest

package main

import "time"

var processStart = time.Now()

// monotonicNs counts from the start of the process: the simulator stamps its own time over it.
func monotonicNs() int64 { return int64(time.Since(processStart)) }
