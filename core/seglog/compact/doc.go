// Package compact is what compaction decides: which records of a log stay (KIP-58, KIP-354, KIP-534).
//
// It owns the map of newest offsets in bounded memory, what becomes of one batch, which batches of transactions count,
// which log is worth cleaning and how far, and which segments are merged. It never opens a file and takes no lock: it is
// handed bytes and numbers, and appends bytes. Caller: seglog, which reads and replaces segments.
//
// One round cleans a log from its start to a bound, which is the base of a segment:
//
//	build     the batches of [first dirty offset, bound) in order: Map.Put of each key, until the map is full
//	filter    the batches of [log start, end of the map) in order: Filter.Batch appends what stays
//
// When the map is full before the bound the round ends there, and the next one begins there: several passes.
//
// What a round guarantees, whatever it is given:
//
//	C1  a record keeps its offset; base offset, last offset, sequence and epoch of a batch never change
//	C2  a record goes only if a later one of its key is at or below the bound, or it is a tombstone whose horizon has
//	    passed, or it has no key, or its transaction was aborted
//	C3  a tombstone stays for delete.retention.ms after the first round that saw it as the newest of its key
//	C4  the last batch of a group of segments stays, even if empty: offsets read there lead on, to the log end at last, and
//	    the file that takes the place of the group says itself which offsets it stands for
//	C5  the newest batch of a producer stays, even if empty: its sequence is not forgotten (KAFKA-7385)
//	C6  a batch that loses nothing is copied byte for byte; one that cannot be read is an error
//
// The delete horizon is in the batch (attribute bit 6): its base timestamp is the horizon in ms, and the deltas of the
// records are relative to that.
package compact
