// Package script is what a crash sweep does to a log directory, as text: declarations of logs, then steps, one a line.
//
// It owns the grammar and the bytes of every batch, so that the program under test and its judge agree on them without a
// word between them. It never opens a file. Callers: checker/sweep, and the guest in checker/sweep/subject.
//
//	# what it is about
//	log t-0 internal.segment.bytes=4000 index.interval.bytes=200   # a partition and its topic's settings
//	convicts fsync-directory      # rules of seglog without which this script must come to a violation
//	start                         # open the directory
//	open t-0 id=1                 # open or make the log; id: the last byte of the topic id
//	append t-0 n=2 size=300 pid=7 epoch=3 keys=a,b ts=1000 now=1000
//	follow t-0 base=50 n=1        # a follower's append at that offset
//	hw t-0 end                    # the high watermark: an offset, or the end
//	flush t-0
//	epoch t-0 4                   # a leader's epoch begins
//	truncate t-0 5
//	restart t-0 100               # truncate fully
//	delete-records t-0 7
//	retain t-0 now=5000
//	compact t-0 now=5000
//	tidy                          # remove what is marked as deleted
//	checkpoint
//	delete t-0                    # the topic goes
//	observe t-0                   # show everything
//	fault eio sync on             # of the disk; the simulator's affair
//	close                         # a clean stop
//	3 * append t-0 n=1            # the same three times
//
// A `*` in place of a log means all: those of the directory for open, all open ones for the rest. Steps are numbered from
// 1. keys name the records' keys in turn; a key that ends in `!` has a null value. Sequences count by log and producer.
package script
