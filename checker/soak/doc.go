// Package soak lets a broker work for hours of virtual time, with retention, compaction, kills and power cuts, and watches
// what a short run cannot show: whether it holds on to disk space or descriptors.
//
// A soak is an experiment (soak.txtar) with the judges of every other one, of which the hours are filled in. In its first
// half the broker is killed, stopped and loses its power; in the second nobody touches it. The broker's disk and descriptors
// are sampled at its own system calls, every 10 seconds of virtual time. What the last quarter needs is compared with what
// the third needed: by then retention, compaction and caches have come to rest, so more is a leak.
//
// Callers: trialog soak, and the tests.
package soak
