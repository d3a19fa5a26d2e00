// Package producers is the producer state of one partition: which sequences of which idempotent producer are in the
// log (KIP-98, KIP-360).
//
// It owns, for each producer id, the epoch, the last five batches, and the first offset of an open transaction. It
// decides whether a client's batch is new, a duplicate, or refused; and it reads and writes the bytes of Kafka's
// .snapshot files. It never touches a file, a clock or a record: it works on batch headers, the time is a value.
// Callers: broker before and after an append; seglog when it recovers, truncates and takes snapshots.
//
// Protocol, per partition and under its append lock:
//
//	out := s.Check(&h)           // a client's append only: decides, changes nothing
//	... append the batch ...
//	s.Update(&h)                // only after the append succeeded (KAFKA-6683)
//
// Recovery calls Update alone, a follower Replicated: they never refuse what the log or the leader has (KAFKA-6003).
//
// Invariants:
//
//	P1  entries are sorted by producer id, one for each
//	P2  an entry has 1 to 5 batches (none only right after a control batch), in order of offset, the last one last
//	P3  Check changes nothing; a refused or failed append leaves no trace
//	P4  the state is a function of the batches of the log (and of expiry), so it can be rebuilt from them
package producers
