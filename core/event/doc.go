// Package event is what judges and reports read about a replica: one typed event for each effect that matters.
//
// It owns the kinds, the fields that each kind carries, the ordering law of each kind, and the text: one JSON object a
// line. It never writes to a descriptor (the shell does, before any effect that the event describes leaves the
// process) and never decides. Callers: broker and seglog emit; oracle, court and reports read.
//
// The encoder appends to a buffer and allocates nothing when that is reused. The decoder is strict: an unknown kind or
// key, a key twice, a missing key, a number that does not fit, anything after the object, is an error with the line.
//
// Keys are written in this order, those that the kind does not carry are left out:
//
//	time proc kind node topic partition epoch base next offset pid pepoch seq lastseq text
//
// time (ns) and proc are zero and absent when the process writes the event; the world stamps the time, and the court
// adds the process when it merges files. text is optional for every kind.
package event
