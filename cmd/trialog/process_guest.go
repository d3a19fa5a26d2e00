//go:build guest

package main

import "sync/atomic"

var stamps atomic.Int64

// monotonicNs counts calls: it never goes back, and the simulator stamps its own time over it. Reading a clock would
// cost a system call for each line.
func monotonicNs() int64 { return stamps.Add(1) }

// notifySignals does nothing: a guest has no signals, its stdin ends instead.
func notifySignals(chan<- string) {}

// limitMemory does nothing: the simulator bounds the memory of a guest.
func limitMemory(int64) {}
