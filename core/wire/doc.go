// Package wire is the border between bytes of a connection and typed requests.
//
// It owns: the frame (int32 size, then that many bytes) and its limits, request
// and response headers, the table of API keys and versions that this broker
// advertises and serves, the decoding of requests, the encoding of responses,
// pooled buffers and the budget of request memory. It never decides what a
// request means, opens no socket and no file, and knows no partition. The broker
// and the client call it.
//
// # Formats
//
//	frame            size i32 | size bytes
//	request header   v1: key i16 | version i16 | correlation i32 | client id nullable string
//	                 v2 (flexible versions, KIP-482): v1, then a tag buffer
//	response header  v0: correlation i32      v1 (flexible): then a tag buffer
//	                 ApiVersions always answers with v0 (KIP-511)
//
// Bodies are kmsg's, except the two hot ones: Produce requests are walked in
// place (produce.go) and Fetch responses are laid out around record bytes that
// stay in their files (fetch.go). Both are compared with kmsg in tests.
//
// # Invariants
//
//  1. Nothing that a peer sends makes this package panic: kmsg runs under a
//     recover, everything else checks its bounds.
//  2. A length prefix costs nothing: memory is taken as bytes arrive (W01).
//  3. A decoded request costs at most DecodeFactor times its frame.
package wire
