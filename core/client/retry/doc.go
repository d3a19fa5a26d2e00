// Package retry decides for the batches of one producer to one partition: which is sent next and under which sequence
// number, which is sent again, what an answer means for a batch and for those behind it, and when the producer id is given
// up.
//
// It owns the queue, the numbers, and the table of what an error code says about its attempt. It never sends, waits or reads
// a clock: whether there is time for another attempt is an argument. The caller is a lane of core/client, one goroutine;
// the explorer walks the same type.
//
//	for b, ok := l.Next(); ok; b, ok = l.Next() {
//		l.Begin(b)                     // an attempt
//		l.Number(b, id)                // an idempotent producer, the first time
//		... it is on its way: l.Left(b), or it could not be sent: l.Failed(b, ...)
//	}
//	... answers: l.Done(b), or l.Failed(b, ...)
//	if l.Home() { pause; l.Resume() }  // after a failure, when all are home
//
// Invariants:
//
//	C2  batches are in flight in the order of Add, and none is sent past a failed one before that is settled
//	C3  a sequence number is given to one batch only, unless that batch certainly was not appended
//	C4  a batch that was sent under an identity is never sent again under another
//	C5  of a batch that ends as Failed no attempt was appended, or ever will be
package retry
