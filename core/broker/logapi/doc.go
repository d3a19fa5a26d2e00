// Package logapi answers the requests that read and write logs: Produce, Fetch,
// ListOffsets, OffsetForLeaderEpoch, DeleteRecords, DescribeProducers,
// DescribeLogDirs.
//
// It owns the rules of these APIs: what of a request is refused with which
// code, when a response is complete, how much a response may hold. It never
// opens a file, never decides what is committed (package replica does), and
// starts no goroutine: what has to wait is a serve.Pending. Caller: the
// connections of package serve, one request at a time for each.
package logapi

import (
	"trialog/core/broker/fetchsession"
	"trialog/core/broker/logdirs"
	"trialog/core/broker/meter"
	"trialog/core/broker/partition"
)

// API answers requests from the partitions of a table.
type API struct {
	Table *partition.Table

	// Sessions is what consumers fetch again and again.
	Sessions *fetchsession.Cache

	// Dirs is for DescribeLogDirs.
	Dirs *logdirs.Set

	// RemoveSoon has the files of deleted segments removed after their delay; nil is
	// allowed.
	RemoveSoon func()

	// FetchMaxBytes is fetch.max.bytes: the record bytes of a response, the first
	// batch excepted.
	FetchMaxBytes int

	// Meter counts what is written and read; nil: nobody measures.
	Meter *meter.Meter

	// AckAfterAppend is rule broker.ack-after-append.
	AckAfterAppend bool
}

// entryBytes is the memory of one partition of a waiting request, for the budget.
const entryBytes = 256

// chargeFrom is the number of partitions from which a waiting request is charged
// for them; fewer are covered by the frame that it keeps.
const chargeFrom = 64

func nsOfMs(ms int32) int64 { return int64(ms) * 1e6 }

// fetchByID is the first Fetch version that names topics by id (KIP-516).
const fetchByID = 13

// fetchZstd is the first Fetch version whose consumers read zstd (KIP-110).
const fetchZstd = 10
