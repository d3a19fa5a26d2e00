// Package codec is what the records of a batch are compressed with: gzip, snappy, lz4 and zstd as Kafka's clients write
// and read them, streamed, with every use of memory bounded.
//
// It owns the framings, the pools of decoders and encoders, and the bounds. It never looks at a record (package record
// does, from an io.Reader) and never decides what a broken or too large batch means for a request. Callers: the broker's
// check of produced batches, seglog's search by time, the client.
//
// It is a room of its own, and not part of record, because compression libraries keep pools and record is pure: record
// takes uncompressed bytes from an io.Reader and does not know where they come from.
//
// Invariants: no goroutine is ever started; the output depends on nothing but input, codec and level (no processor, no
// pool); a batch may be decompressed while its length claims anything, since nothing is allocated on a claim beyond
// [windowMax] bytes. A stream holds one of a few slots from Open to Close, so a process never has more than
//
//	slots * (windowMax + some 100 KiB) + one buffer for a batch that cannot be streamed (see big)
//
// of decoder memory, however many connections send compressed batches. Code between Open and Close must therefore not
// wait for anything but the processor.
//
// In the simulator (build tag guest) gzip is Go's own and zstd is written stored, to keep the guest small; all is read
// natively and there alike.
//
// Framings: gzip is RFC 1952, members one after another are read as one. Snappy is xerial's framing (magic, version,
// compatible version, then chunks of a size and a raw block), or one raw block, as franz-go and librdkafka write. lz4 is
// the frame format 1.5.1 as far as Kafka reads it: one frame, blocks independent; the broken header checksum of batches
// before magic 2 is refused, since such batches are. zstd is RFC 8878.
package codec
