// Package broker is one broker process: it puts the rooms together, starts and
// stops them, and owns every goroutine and timer that serves clients.
//
// It owns the order of start and stop, the dispatch table of API keys, what
// happens on this broker when metadata is committed, and the periodic tasks. It
// never decides what is committed (replica), what the metadata becomes
// (controller), or how bytes lie on disk (seglog). Callers: cmd, tests.
//
// Sub-packages, lowest first:
//
//	serve       connections: one reader each, answers in order, bounds
//	partition   one partition: log and machine joined, flusher, waiters; the table
//	fetchsession  what consumers fetch again and again
//	logapi      Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, DeleteRecords, DescribeProducers, DescribeLogDirs
//	topicapi    Metadata, DescribeTopicPartitions, CreateTopics, DeleteTopics, CreatePartitions
//	configapi   DescribeConfigs, AlterConfigs, IncrementalAlterConfigs
//	clusterapi  ApiVersions, DescribeCluster, InitProducerId
//	groupapi    FindCoordinator, ListGroups
//	meter       counts of requests, bytes and records; exporter shows them over HTTP
//	metalog     __cluster_metadata-0 with its controller
//	logdirs     log.dirs: lock, meta.properties, which directory holds what
//
// # Start
//
//	lock and open log.dirs, meta.properties
//	-> replay the metadata log -> open and recover every partition (several at a time in each directory)
//	-> take directories into use that are new; take up leadership
//	-> listen -> register the broker -> accept
//
// Nothing is answered before the broker's own view of the metadata is complete
// (P11). Stop goes the other way: no new requests, pending answers, flush and
// close logs, checkpoints, clean-shutdown marker, unlock.
//
// # Failure of a log directory
//
// Whoever notices it (an append, a flush, a roll, a checkpoint, a deletion, a read) reports it once; all partitions in that
// directory go offline (failures.go). Without the directory of the metadata, or without any, Failed says so and the
// process ends.
//
// # Natively only
//
//	logdirs/lock_native.go  flock on .lock
//	logdirs/space_native.go size of a disk, for DescribeLogDirs
//	serve/sink_native.go    sendfile of record bytes
//	serve/tune_native.go    socket buffer sizes
//
// None of them carries a promise of durability or order.
package broker
