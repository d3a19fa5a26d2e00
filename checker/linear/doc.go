// Package linear decides whether what clients saw of each partition is linearizable against the model of a log:
//
//	state     the end of the log that clients can see (the high watermark)
//	append    at its acknowledged offset: legal when the end is exactly there; the end moves behind the batch
//	fetch     the records equal the log's slice from the offset asked for, and the end is the answer's high watermark
//	latest    list-offsets: the end is the answer
//	refused   OFFSET_OUT_OF_RANGE: the end is below the offset asked for
//
// Append means "becomes visible": it lies between the invocation and the acknowledgement, so a record that is not yet
// acknowledged may be seen or not, and one that is must be. This is how the high watermark may lag behind the log end.
//
// It owns the model and the search (github.com/anishathalye/porcupine), knows only package history, and is called by
// oracle. It does not classify: its verdict is one sentence with its witnesses.
//
// # Resolve first, then search
//
// The server's offsets fix the order of appends. So before the search
//
//   - resolve (resolve.go) gives each batch its offset, from its acknowledgement or from any read that shows one of its
//     values, and refuses at once what no order can mend: two values at one offset, a value at two offsets (unless a
//     producer without sequence numbers retried), half a batch, a value nobody sent;
//   - a batch of unknown outcome that nobody saw is dropped, unless an offset exists that nobody saw either: then it may
//     be the one that fills the hole, and it becomes a branch of the search;
//   - tighten (tighten.go) narrows the time of each append by the reads around it. An append left without any time
//     convicts, with the operations that squeezed it;
//   - schedule (schedule.go) proposes a moment for every operation. If the model accepts that order, the search has only
//     to confirm it; otherwise it gets the intervals;
//   - the history is cut where no operation is in flight.
//
// With values resolved by offset the state is one number (the offset is the hash chain of everything before it), and
// the search meets a choice only where offsets are left that nobody saw. Its memory is bounded all the same; reaching
// the bound is Unknown.
package linear
