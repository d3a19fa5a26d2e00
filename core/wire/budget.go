package wire

import (
	"slices"
	"sync"
	"time"
)

// Budget bounds the bytes of requests that are held at one time, over all
// connections (queued.max.request.bytes, KIP-72). When it is used up, readers
// wait: their peers feel TCP's backpressure. A request larger than the budget
// passes when nothing else is held, so that it cannot wait for ever. An eighth on
// top is for small requests alone, which do not queue behind large ones: whoever
// fills the budget with large frames does not keep others from being served.
//
// Frames take memory as their bytes arrive, so many of them may each hold a part
// and wait for the rest. One of them at a time, the first that asked, may go over
// the budget until it is released: so there is always one that gets done. What a
// request may charge for its answer beside its frame has a bound of its own
// (chargeMax), so what is held is bounded by the budget, one frame and one answer.
type Budget struct {
	mu      sync.Mutex
	max     int64
	used    int64
	highest int64           // since the last call of Highest
	over    bool            // a holder may go over the budget
	waiting []*budgetWaiter // first come, first served
}

type budgetWaiter struct {
	bytes   int64
	holds   bool // it holds memory while it waits
	over    bool // it was let go over the budget
	granted chan struct{}
}

// NewBudget makes a budget of that many bytes.
func NewBudget(bytes int64) *Budget { return &Budget{max: bytes} }

// Acquire takes bytes for who holds nothing yet, waiting at most wait; done ends
// the wait early. False means that nothing was taken.
func (b *Budget) Acquire(bytes int64, wait time.Duration, done <-chan struct{}) bool {
	return b.TryAcquire(bytes) || b.queue(&budgetWaiter{bytes: bytes}, wait, done)
}

// chargeMin is what the answer to one request may take although the whole budget is
// smaller: tools describe clusters to brokers that were given little memory, too.
const chargeMin = 64 << 20

// chargeMax is the most that one request may charge for its answer.
func (b *Budget) chargeMax() int64 { return max(b.max, chargeMin) }

// acquireMore is Acquire for who holds memory already. over is whether it may go
// over the budget, before and after.
func (b *Budget) acquireMore(bytes int64, over bool, wait time.Duration, done <-chan struct{}) (ok, nowOver bool) {
	if over {
		b.mu.Lock()
		b.add(bytes)
		b.mu.Unlock()
		return true, true
	}
	if b.TryAcquire(bytes) {
		return true, false
	}
	w := &budgetWaiter{bytes: bytes, holds: true}
	ok = b.queue(w, wait, done)
	return ok, w.over
}

// queue waits for w's turn.
func (b *Budget) queue(w *budgetWaiter, wait time.Duration, done <-chan struct{}) bool {
	b.mu.Lock()
	w.granted = make(chan struct{})
	b.waiting = append(b.waiting, w)
	b.grant()
	b.mu.Unlock()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.granted:
		return true
	case <-timer.C:
	case <-done:
	}
	return b.abandon(w)
}

func (b *Budget) fits(bytes int64) bool { return b.used == 0 || b.used+bytes <= b.max }

// smallBytes is the largest request that may use the reserve.
const smallBytes = 256 << 10

// fitsNow reports whether bytes may be taken without queueing.
func (b *Budget) fitsNow(bytes int64) bool {
	if bytes <= smallBytes && b.used+bytes <= b.max+b.max/8 {
		return true
	}
	return len(b.waiting) == 0 && b.fits(bytes)
}

// abandon leaves the queue; true if the grant came first.
func (b *Budget) abandon(w *budgetWaiter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.waiting {
		if b.waiting[i] == w {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			b.grant()
			return false
		}
	}
	return true
}

// TryAcquire takes bytes if that needs no wait.
func (b *Budget) TryAcquire(bytes int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fitsNow(bytes) {
		return false
	}
	b.add(bytes)
	return true
}

func (b *Budget) add(bytes int64) {
	b.used += bytes
	b.highest = max(b.highest, b.used)
}

// Release gives bytes back.
func (b *Budget) Release(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(bytes)
}

// releaseOver is Release by who could go over the budget.
func (b *Budget) releaseOver(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = false
	b.release(bytes)
}

func (b *Budget) release(bytes int64) {
	b.used -= bytes
	if b.used < 0 {
		panic("wire: budget released more than was acquired")
	}
	b.grant()
}

// grant lets go on who can.
func (b *Budget) grant() {
	for len(b.waiting) > 0 && b.fits(b.waiting[0].bytes) {
		b.letGo(0)
	}
	for i := 0; i < len(b.waiting) && !b.over; i++ {
		if b.waiting[i].holds {
			b.over, b.waiting[i].over = true, true
			b.letGo(i)
		}
	}
}

func (b *Budget) letGo(i int) {
	b.add(b.waiting[i].bytes)
	close(b.waiting[i].granted)
	b.waiting = slices.Delete(b.waiting, i, i+1)
}

// Used is the number of bytes held now.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Highest is the most bytes that were held at one time since it was called last.
func (b *Budget) Highest() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.highest
	b.highest = b.used
	return h
}
