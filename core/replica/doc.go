// Package replica is one replica of one partition as a pure machine: who leads in which epoch, how far this log, its
// durable part and those of the others have come, who is in sync, what may be acked and what may be read.
//
// It owns the arithmetic of HW, ISR and truncation, of flushed offset and visibility, and the flush policy (flush.messages,
// flush.ms). It never appends, fsyncs, sends or answers (the shell does, told by effects), never reads a clock, and never
// looks into a batch. What it must know of a log's epochs is looked up by the shell in package epochs and handed in. The
// caller is broker, under the partition's lock; the explorer walks the same type.
//
// Replication. A follower asks its leader for what comes behind its own log, and names the epoch of its last record
// (NextFetch). The leader (Fetched) fences requests of other epochs, answers a diverging epoch and the offset where it ends
// when the two logs cannot be the same, and otherwise counts the offset as what the follower holds. The follower
// (FetchAnswered) cuts its log where the two part, or appends. So every change of the epoch compares the logs again,
// and no follower ever cuts at its own HW, which lags.
//
// HW and ISR. The HW is the smallest vote of the maximal ISR: of everybody who is in sync, and of everybody who may be
// before this leader hears of it. A change of the ISR is a proposal to the controller; it counts against the HW from the
// moment it is made, for it until it is committed. A follower may come in when it is alive in the life in which it fetched,
// and holds all that the leader's epoch began with; it goes out when it has been behind for replica.lag.time.max.ms.
// While fewer than min.insync.replicas are in sync, the HW stays. It also waits for a follower that is as near to the end as
// those in sync are, so that it does not run away from it.
//
// Readers. A leader and its followers show consumers what is below their own HW, and consumers of committed transactions
// what is below the LSO (readers.go). Deleted is what is below the HW; followers hear of it with their leader's answers, and
// what no live replica has any more is below the low watermark.
//
// What is unlike Kafka. A follower's HW never goes back unless its log is cut, where Kafka's takes whatever its leader's is.
// A leader that is elected again forgets what followers held, and hears it again with their first fetches. A follower names
// its epoch, always. The HW of an answer is that after the fetch was taken in. Metadata that is not newer than an answer
// takes no proposal back (late-metadata-keeps-proposal). A leader that was elected uncleanly counts itself recovered, as in
// Kafka: its first proposal says so (KIP-704).
//
// Flush policy. Without flush.messages and flush.ms a record counts as soon as it is in the log: Kafka leaves durability
// to replication. With either of them set, this replica's own vote for the HW is its flushed offset, and a follower
// fetches on only from what it has flushed: with one replica a record is acked and visible only after its fsync. A flush
// is asked for when flush.messages records wait for one, or flush.ms after the first of them. With flush.messages alone it
// is asked for at once, since nothing else would ever release the acks of the last few: fsyncing more often than asked is
// always allowed.
//
// Failures. cases.md lists the ways in which logs have lost or forked records, in Kafka and in published models of it, with
// the story, test or room that shows each. A story is a file of testdata: brokers b1, b2, ... that take up epochs and messages
// in the order of its lines, and what this machine has them do. A log is shown as
//
//	b2 follower e2 of b1  0 [ m0@0 | m1@2 ]
//
// b2 follows b1 in epoch 2; its log begins at offset 0 with record m0, which was written in epoch 0; the HW is at the |, so
// that m1, written in epoch 2, does not count as committed on b2 yet. Of a leader the line says who is in its ISR, and what
// the others are known to hold: ! is behind for too long, ~ is not in sync and near to it. What a broker says of its last
// epoch, what it hears back, and what it cuts is told line by line, then once more with a rule off.
//
// Invariants, checked after every change:
//
//	R1  logStart <= hw <= leo                             (KAFKA-9491)
//	R2  logStart <= flushed <= asked <= leo
//	R3  hw and flushed go back only in Truncated and Restarted
//	R4  leader epochs only grow, and partition epochs within one
//	R5  under a flush policy hw and acks never advance past flushed (rule visible-after-flush concerns reads alone)
//	R6  appends are contiguous: each begins at leo
//	R7  at most one change of the ISR is proposed at a time, and a leader is in every ISR of its own
package replica
