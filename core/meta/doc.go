// Package meta is the cluster's metadata: the records that change it, and the image they add up to.
//
// It owns the record types and their bytes (Kafka's own, so that Kafka's tools read the log), and the image: topics by
// name and by id, partitions, configurations, producer ids, brokers. It never decides (controller does), never stores or
// sends. Image.Apply is the only mutator. Callers: controller, broker, the log tools.
//
// Image.AppendRecords is a snapshot: the records that make the image from an empty one. Diff says what differs between two
// images, and Delta.Local what that is to one broker: which replicas it lost, has to take up in a new leader epoch, or has
// other ISRs of. A broker acts on deltas, so that it does the same whether it heard of a change in records or in a snapshot.
//
// A record is the value of one log record of __cluster_metadata-0:
//
//	uvarint frame version (1), uvarint record type, uvarint version, body in Kafka's flexible encoding
//
// A record is written in the lowest version that carries what it has, so that what needs nothing new is written as ever,
// and is read in every version up to the one that ELR and directories came with.
//
// Invariants of an Image:
//
//	M1  topics are sorted by name, each name once, each id once, no zero id
//	M2  a topic's partitions are 0..n-1, in order
//	M3  replicas are distinct; isr and elr are disjoint subsets of replicas, in order; the leader is in the isr, or -1
//	M4  leader epochs and partition epochs of a partition never decrease
//	M5  the next producer id never decreases
//	M6  a published image never changes: Apply copies what it touches
package meta
