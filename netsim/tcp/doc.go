// Package tcp is the simulated network: hosts, directed links between them, and stream sockets on top.
//
// It owns: addresses and names, listeners, connections and their byte streams, and every fault of a network. It never:
// knows what the bytes mean, reorders or invents bytes of a connection, reads the wall clock, or decides when a fault
// strikes (package world does, from a plan).
//
// Each direction of a connection is a FIFO of segments that take seeded latency and the link's bandwidth. What a cut
// link or a dead host does not take is sent again after it healed. A connection learns of trouble only as TCP would:
// by a FIN or reset that arrives, or by giving up.
//
// Invariants:
//
//	N1  what a reader reads is a prefix of what the writer wrote
//	N2  bytes sent before a kill or close arrive before its FIN; a reset may lose a suffix
//	N3  a host that lost power says nothing
//	N4  unread bytes per direction never exceed Options.Buffer
//	N5  every change of readiness happens in a kernel event or is followed by Kick
package tcp
