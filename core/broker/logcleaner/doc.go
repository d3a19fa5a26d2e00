// Package logcleaner compacts the logs of a broker in the background.
//
// It owns: which log is next, the workers (log.cleaner.threads) with their share of the memory, the limit of their speed,
// and which logs cannot be cleaned. It never touches a file (seglog does), and deletes nothing but what compaction replaces:
// retention of compacted topics is the broker's. Caller: package broker, which starts, tells and stops it.
//
// Next is the log with the largest dirty ratio above min.cleanable.dirty.ratio, or beyond max.compaction.lag.ms; when there
// is none, a worker sleeps for log.cleaner.backoff.ms and gives its memory back. A log with a damaged batch is left alone
// until the broker starts anew, and the others go on; one whose round failed for another reason (a full disk, a truncation
// meanwhile) is passed over for the same time.
package logcleaner
