package wire

import (
	"sync"
	"time"
)

// Budget bounds the bytes of requests that are held at one time, over all
// connections (queued.max.request.bytes, KIP-72). When it is used up, readers
// wait: their peers feel TCP's backpressure. A request larger than the budget
// passes when nothing else is held, so that it cannot wait for ever. An eighth on
// top is for small requests alone, which do not queue behind large ones: whoever
// fills the budget with large frames does not keep others from being served.
type Budget struct {
	mu      sync.Mutex
	max     int64
	used    int64
	waiting []*budgetWaiter // first come, first served
}

type budgetWaiter struct {
	bytes   int64
	granted chan struct{}
}

// NewBudget makes a budget of that many bytes.
func NewBudget(bytes int64) *Budget { return &Budget{max: bytes} }

// Acquire takes bytes, waiting at most wait; done ends the wait early. False
// means that nothing was taken.
func (b *Budget) Acquire(bytes int64, wait time.Duration, done <-chan struct{}) bool {
	b.mu.Lock()
	if b.fitsNow(bytes) {
		b.used += bytes
		b.mu.Unlock()
		return true
	}
	w := &budgetWaiter{bytes: bytes, granted: make(chan struct{})}
	b.waiting = append(b.waiting, w)
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
	b.used += bytes
	return true
}

// Release gives bytes back.
func (b *Budget) Release(bytes int64) {
	if bytes == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= bytes
	if b.used < 0 {
		panic("wire: budget released more than was acquired")
	}
	b.grant()
}

func (b *Budget) grant() {
	for len(b.waiting) > 0 && b.fits(b.waiting[0].bytes) {
		b.used += b.waiting[0].bytes
		close(b.waiting[0].granted)
		b.waiting = b.waiting[1:]
	}
}

// Used is the number of bytes held now.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
