// Package files holds Trialog's files and Kafka's against each other: each side's tool reads what the other's broker wrote,
// each broker serves the other's segments, and what both cleaners leave of the same log is the same. It has tests only. The JVM, a real Kafka and its DumpLogSegments come from
// ../setup.
//
// The way of a directory from one broker to the other, which the tests go and nothing else is needed for:
//
//   - Trialog to Kafka: Kafka makes the topic and stops; the segments in its partition's directory are replaced by ours;
//     partition.metadata stays, so the id is Kafka's; .kafka_cleanshutdown and the checkpoints of recovery point, HW and log
//     start go, so that Kafka recovers the log and finds its end itself; the rows of cleaner-offset-checkpoint come along.
//   - Kafka to Trialog: the topics are made in Trialog (its metadata is its own, as are the ids that it gives) and it
//     stops; the directories of the partitions are replaced by Kafka's, with partition.metadata from ours; the rest as
//     above, so that Trialog recovers everything that it is handed. A topic that Kafka compacts must be made as one here,
//     or its gaps would end the log.
//
// Kafka's internal topics are read and checked, but not served: Trialog has no groups and no transactions yet. What they
// committed and aborted is served with its markers, as it lies in the log, to readers of uncommitted records.
package files
