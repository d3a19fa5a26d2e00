// Package partition is the shell around one partition: it joins the log (seglog)
// and the machine (replica), and keeps the list of who waits for progress.
//
// It owns the partition's two locks, its flusher, and the table of all
// partitions by topic name and id. It never parses a request and never decides
// what is committed or visible: the machine does. Callers: logapi (appends,
// reads, waits) and package broker (opening, leadership, retention, the end).
//
// # Locks, in this order
//
//	order   appends run one after the other; readers never take it
//	state   the machine, its effects and the waiters; held for moments, never
//	        across a write or fsync of the log
//
// Readers (Fetch, ListOffsets) look at numbers that are published after each
// step of the machine, and take no lock.
//
// # Invariants
//
//  1. The machine hears of appends in the order of the log.
//  2. An event is written before the number that it describes is published, so
//     before any answer that shows it.
//  3. Progress that happens after Watch returned wakes the watcher.
//  4. A partition whose log or log directory failed answers nothing more, and its log is not appended to again.
package partition
