// Package oracle judges a run by linear-time scans over what clients saw (the history) and what brokers did (events),
// and calls package linear as a second layer. The court and `trialog check` call Judge, and nothing else.
//
// It owns the anomaly classes (classes.go has them all, each with its invariant), the documented-loss bargain, and the
// verdict. It never replays a broker, never parses a plan, and never fails: what cannot be judged is Unknown, with the
// reason.
//
// # How it reads a history
//
// A record is a value at an offset. Its evidence is every operation that showed it: the produce that was acknowledged
// there, each fetch that returned it. A record is established when the first of them returns. From then on every
// operation that is invoked later must agree: a denial is an answer that covers the offset and lacks the record (a fetch
// that skips it, a high watermark or end offset at or below it, OFFSET_OUT_OF_RANGE at or below it, a log start above
// it). One sweep in the order of time finds all denials, the appends that land below an established record, and the end
// offsets that go back. Two scans without time find offsets with two values, values at two offsets, and producers whose
// order is broken. Only operations that do not overlap are compared, so clocks need to be no better than call and return.
//
// # Layers
//
// A history that the reader refuses is Unknown. Anomalies of these scans convict. Only when they find nothing at all does
// linear run: its answer would be noise otherwise. A run that convicts nobody is still Unknown when it proves too little
// (a partition with acknowledged records that was not read back, mostly unknown outcomes).
//
// # Compacted topics
//
// Under Promises.Compacted the key of a record is what stands before the first colon of its value. A record may be missing
// from an answer once a later one of its key was sent; but the latest of each key that the history knows must be in the
// final read, at its offset. Readers of such a topic skip what was removed, so a final read is taken to have seen what lies
// between two of its fetches. Linear knows no compaction and is not asked.
//
// # Documented loss
//
// Under Promises.DocumentedLoss an anomaly is forgiven when it follows from a power cut that lost records which were
// never fsynced: events give, for each cut and partition, the durable end (the last flush) and the end after recovery.
// Only records at or above both, all of whose evidence may predate the cut, and which are denied after it, are excused;
// and what follows from them: their offsets given to others, the end going back, a retried value at a new offset because
// the broker's memory of it went with the record. Everything else stays invalid.
package oracle
