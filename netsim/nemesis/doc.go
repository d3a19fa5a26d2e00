// Package nemesis holds fault plans: their text form, its parser and printer, which world can express what, and the
// seeded generator.
//
// It owns: the grammar and the [Plan] type. It never: executes a fault (package world and the real-process runner do),
// knows what a role means (`leader(t-0)` is an opaque name), or draws randomness but from the stream it is given.
//
// A plan is lines of text; `#` begins a comment:
//
//	budget faults=4 down=1
//	at 5s     partition b1 | b2 b3 for 3s
//	at 9s     cut b1->b2
//	at 10s    heal                                # every link; heal a->b: one
//	at 11s    kill b2 for 800ms                   # down for 800 ms, then started again
//	at 12s    kill b1 call 1234 after             # at a system call; call +50: the 50th from here
//	at 13s    kill b1 midwrite *.log              # in the middle of the next write to such a file
//	at 14s    powercut b1 lose=some torn=1 for 1s
//	at 15s    stop b1 for 1s                      # a clean stop; also start b1, restart b1
//	at 16s    pause b1 for 8s                     # without for: until resume b1
//	at 17s    clock b3 skew +2s
//	at 18s    link b1->b2 delay 50ms for 3s       # drop, throttle N (bytes/s), loss N (percent), reset, hold, release
//	at 19s    conn c1->b1#2 hold for 1s           # release, reset; without #N every open connection
//	at 20s    disk b1 slow 50ms for 5s            # stuck, full, room N (bytes), short, eio read, heal
//	at 20s    disk b1 eio sync                    # eio write, flip GLOB offset N
//	at 21s    wipe b1
//	at 22s    elect t-0 preferred                 # admin verbs: elect, reassign, alter, create, delete; not interpreted
//	on leader(t-0) acked 10   kill leader(t-0)    # trigger: everything up to the verb
//
// `for D` undoes the step D after it took effect; what kill, stop and powercut took down is started again. Targets are
// process names or roles. start of a running process only gives up strikes that wait for a call.
//
// Invariants: P1 Parse(String(p)) equals p. P2 a generated plan depends on its random stream and Spec only, stays
// inside its budget, and has undone everything at Spec.To.
package nemesis
