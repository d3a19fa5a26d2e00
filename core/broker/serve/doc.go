// Package serve is the broker's door: listeners, connections, the order of
// answers, and the bounds on what peers may cost.
//
// It owns one reader goroutine for each connection, the dispatch by API key, and
// a writer goroutine for those connections that ever had to wait. It never
// decides what an answer says: handlers do. Caller: package broker.
//
// One connection:
//
//	reader: frame -> handler -> answer ready, nothing before it waits: the reader sends it itself
//	                            otherwise: queue -> writer, which waits for the answer at the head and sends it
//
// Answers leave strictly in request order. Requests behind a waiting one are
// handled at once, at most pipelineMax of them; then the reader stops reading and
// TCP holds the peer. What waits is data: only the answer at the head of a
// connection's queue is armed, so a connection costs at most one wake-up channel
// and one timer, however many requests it has in flight.
//
// # Invariants
//
//  1. One goroutine at a time writes to a connection: the reader while nothing is
//     queued, else the writer.
//  2. Every answer that a handler returned is either sent or dropped, once.
//  3. A peer that sends nonsense loses its connection, after the answers to what it
//     asked before; a peer that does not read blocks itself alone.
//  4. An answer that lies in memory counts in the request memory from before it is
//     built (Charge) until it has left; small ones are covered by the frame. It
//     does not wait behind a fetch: one that waits ahead of it is answered.
package serve
