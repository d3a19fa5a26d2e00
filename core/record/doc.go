// Package record is the record batch v2: bytes to header and records, and back.
//
// It owns the layout of a batch, its CRC-32C, what makes a batch acceptable, and the few fields that a broker may
// rewrite in place. It never decompresses: what the records of a compressed batch are uncompressed, package codec says,
// and [Produced.Scan] and [NewRecordsOf] take it from there. It never assigns an offset of its own accord, and knows no log, producer or topic.
// Callers: the client builds batches; broker and seglog check, stamp and walk them; producers reads headers.
//
// Everything works on byte slices of the caller. What is returned from them (a batch, a key, a value) is a view that
// lives as long as the caller leaves the bytes alone. Any bytes at all may be passed in: the answer is an error, never
// a panic, and the work is bounded by the number of bytes.
//
// Layout, big-endian (KIP-98; varints are zigzag):
//
//	 0 base offset i64        12 leader epoch i32     23 last offset delta i32   43 producer id i64     57 count i32
//	 8 length i32 (size-12)   16 magic i8 = 2         27 base timestamp i64      51 producer epoch i16  61 records
//	                          17 crc u32 of [21,end)  35 max timestamp i64       53 base sequence i32
//	                          21 attributes i16
//	record: varint size, i8 attributes, varlong timestamp delta, varint offset delta, varint key size (-1 null), key,
//	        varint value size (-1 null), value, varint header count, {varint size, key, varint size (-1 null), value}
//
// Base offset and leader epoch lie outside the CRC: the broker writes them into the bytes that the client sent.
package record
