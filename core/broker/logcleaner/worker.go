package logcleaner

import (
	"errors"
	"math"
	"sync"
	"time"

	"trialog/core/config"
	"trialog/core/seglog/cleaning"
)

// errStopping: the cleaner ends.
var errStopping = errors.New("logcleaner: the cleaner is stopped")

// worker is one of the goroutines that clean.
type worker struct {
	*Cleaner
	number int
	rounds *cleaning.Worker
	under  config.Cleaner // what rounds was made for
}

func (w *worker) loop() {
	defer w.leave()
	for {
		set := w.cfg.Settings()
		if w.number >= int(set.Threads) {
			return
		}
		w.resize(set)
		next, ok := w.take()
		if ok {
			w.clean(next)
			select {
			case <-w.quit:
				return
			default:
				continue
			}
		}
		if w.rounds != nil {
			w.rounds.Release()
		}
		if !w.sleep() {
			return
		}
	}
}

// leave lets Reconfigure start the worker again.
func (w *worker) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.threads = min(w.threads, w.number)
}

// resize has the worker's share of the memory follow the settings.
func (w *worker) resize(set config.Cleaner) {
	set.BackoffMs, set.MaxBytesPerSec = 0, 0
	if w.rounds != nil && set == w.under {
		return
	}
	w.under = set
	threads := int64(max(set.Threads, 1))
	w.rounds = cleaning.NewWorker(cleaning.Limits{
		MapBytes: set.DedupeBufferSize / threads, MapLoad: set.LoadFactor, BufferBytes: max(int(int64(set.IOBufferSize)/threads/2), bufferMin),
		Pace: w.wait,
	})
}

// bufferMin is the least that is read at a time, in bytes.
const bufferMin = 4 << 10

func (w *worker) clean(next candidate) {
	name := next.Name().String()
	if next.dirt.Reset != "" {
		w.cfg.Log.Warn("everything is compacted anew", "partition", name, "because", next.dirt.Reset)
	}
	began := w.cfg.Now()
	dirt, stats, err := next.Log().Clean(w.rounds, began.WallMs)
	took := time.Duration(w.cfg.Now().MonoNs - began.MonoNs)
	w.release(next.Partition, dirt, err)
	if err != nil || stats.Indexed == 0 {
		return
	}
	w.mu.Lock()
	w.lastDone[w.number] = Done{Partition: next.Name(), Dirt: dirt, Stats: stats, Took: took}
	w.mu.Unlock()
	w.cfg.Log.Info("compacted", "partition", name, "from", dirt.First, "to", next.Log().CleanedTo(), "read", stats.Read, "written", stats.Written,
		"records", stats.Records, "kept", stats.Kept, "keyless", stats.Keyless, "keys", stats.Keys, "map_used", math.Round(stats.MapUsed*1000)/1000,
		"ms", took.Milliseconds())
	w.cfg.Cleaned()
}

// wait is the limit of all workers together.
func (w *worker) wait(bytes int, stopped func() error) error {
	pause := time.Duration(0)
	if rate := w.cfg.Settings().MaxBytesPerSec; rate < math.MaxInt64 { // or no clock is read
		pause = w.pace.add(bytes, rate, time.Now())
	}
	for ; ; pause -= slice {
		select {
		case <-w.quit:
			return errStopping
		default:
		}
		if err := stopped(); err != nil || pause <= 0 {
			return err
		}
		time.Sleep(min(pause, slice))
	}
}

// slice is how long a pause may go on before anyone asks whether it should.
const slice = 100 * time.Millisecond

// pace is when the bytes so far are paid for.
type pace struct {
	mu   sync.Mutex
	free time.Time
}

// add says how long to wait after bytes were read or written, so that not more than rate of them come in a second.
func (p *pace) add(bytes int, rate float64, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(min(float64(bytes)/max(rate, 1e-3), 1e9) * float64(time.Second)))
	return p.free.Sub(now)
}
