// Package replica is one replica of one partition as a pure machine: who leads in which epoch, how far the log, its
// durable part and the high watermark have come, what may be acked and what may be read.
//
// It owns the arithmetic of HW, flushed offset and visibility, and the flush policy (flush.messages, flush.ms). It never
// appends, fsyncs or answers (the shell does, told by effects), never reads a clock, and never looks into a batch. The
// caller is broker, under the partition's lock; the explorer walks the same type.
//
// Flush policy. Without flush.messages and flush.ms a record counts as soon as it is in the log: Kafka leaves durability
// to replication. With either of them set, this replica's own vote for the HW is its flushed offset, so with one
// replica a record is acked and visible only after its fsync. A flush is asked for when flush.messages records wait for
// one, or flush.ms after the first of them. With flush.messages alone it is asked for at once, since nothing else would
// ever release the acks of the last few: fsyncing more often than asked is always allowed.
//
// Invariants, checked after every change:
//
//	R1  logStart <= hw <= leo                             (KAFKA-9491)
//	R2  logStart <= flushed <= asked <= leo
//	R3  hw and flushed go back only in Truncated
//	R4  leader epochs only grow
//	R5  under a flush policy hw and acks never advance past flushed (rule visible-after-flush concerns reads alone)
//	R6  appends are contiguous: each begins at leo
package replica
