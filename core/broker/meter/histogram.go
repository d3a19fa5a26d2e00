package meter

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

const (
	subBits = 3 // buckets of one power of two: 8, so a quantile is at most 1/16 off
	subs    = 1 << subBits
	// buckets reach 2^44 ns, almost five hours; what takes longer is in the last.
	buckets = (44 - subBits + 1) * subs
)

// Histogram counts durations in buckets of bounded error. It has two halves, of which one is filled: a reader who comes
// after the half was filled for a minute empties the other and has it filled from then on. So quantiles are over the last
// one to two minutes, or since the reading before last if nobody reads that often. Kafka's reservoir decays likewise. The
// zero value is ready.
type Histogram struct {
	sum  atomic.Int64
	now  atomic.Int32 // the half that is filled
	half [2][buckets]atomic.Int64

	reading sync.Mutex
	turned  time.Time
	before  int64 // durations that are in no half any more
}

// bucketOf is the index of a duration's bucket.
func bucketOf(ns int64) int {
	if ns < subs {
		return int(max(ns, 0))
	}
	exp := bits.Len64(uint64(ns)) - 1 - subBits
	return min(exp*subs+int(ns>>exp), buckets-1)
}

// middleOf is the duration that stands for a bucket.
func middleOf(bucket int) int64 {
	if bucket < 2*subs {
		return int64(bucket)
	}
	exp := bucket/subs - 1
	low := int64(bucket-exp*subs) << exp
	return low + int64(1)<<exp/2
}

// Observe counts one duration. A clock that went back counts as 0.
func (h *Histogram) Observe(ns int64) {
	h.half[h.now.Load()&1][bucketOf(ns)].Add(1)
	if ns > 0 {
		h.sum.Add(ns)
	}
}

// Reading is a histogram at one time.
type Reading struct {
	Count     int64     // since the beginning
	Sum       int64     // since the beginning, in ns
	Quantiles []float64 // of the last minutes, in ns, beside those asked for; NaN-free: 0 without durations
}

// Read gives the quantiles that are asked for, which must increase.
func (h *Histogram) Read(quantiles []float64, now time.Time) Reading {
	h.reading.Lock()
	defer h.reading.Unlock()
	h.turn(now)
	var merged [buckets]int64
	recent := int64(0)
	for i := range merged {
		merged[i] = h.half[0][i].Load() + h.half[1][i].Load()
		recent += merged[i]
	}
	r := Reading{Count: h.before + recent, Sum: h.sum.Load(), Quantiles: make([]float64, len(quantiles))}
	seen, bucket := int64(0), -1
	for i, q := range quantiles {
		rank := max(1, int64(q*float64(recent)+0.5))
		for seen < rank && bucket < buckets-1 {
			bucket++
			seen += merged[bucket]
		}
		if recent > 0 {
			r.Quantiles[i] = float64(middleOf(bucket))
		}
	}
	return r
}

// turn changes halves when it is time. What comes meanwhile is counted in one half or the other, and lost in neither.
func (h *Histogram) turn(now time.Time) {
	if h.turned.IsZero() {
		h.turned = now
	}
	if now.Sub(h.turned) < window {
		return
	}
	h.turned = now
	next := (h.now.Load() + 1) & 1
	for i := range h.half[next] {
		h.before += h.half[next][i].Swap(0)
	}
	h.now.Store(next)
}
