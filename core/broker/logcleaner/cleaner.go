package logcleaner

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"trialog/core/broker/partition"
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/seglog"
	"trialog/core/seglog/compact"
)

// Config is what a cleaner is given.
type Config struct {
	Partitions func() []*partition.Partition // those of the broker that are open now
	Settings   func() config.Cleaner         // in force now
	Now        func() kafka.Now
	// Cleaned is called after each log that was cleaned: its checkpoint is to be written, its old files are to be removed.
	Cleaned func()
	Log     *slog.Logger
}

// Cleaner is the workers of a broker. Make it with Start.
type Cleaner struct {
	cfg  Config
	quit chan struct{}
	wake chan struct{} // closed and replaced when workers should look anew

	mu       sync.Mutex
	running  sync.WaitGroup
	threads  int
	busy     map[*seglog.Log]bool
	bad      map[*seglog.Log]Uncleanable
	later    map[*seglog.Log]int64 // until when (wall ms) a log is passed over
	ended    bool
	lastRun  int64
	dirtiest float64
	lastDone map[int]Done // by worker

	pace pace
}

// Uncleanable is a log that cannot be cleaned.
type Uncleanable struct {
	Partition kafka.TopicPartition
	Directory string // of log.dirs; the broker fills it in
	Why       error
	Bytes     int64 // that are dirty
}

// Done is what a worker did last.
type Done struct {
	Partition kafka.TopicPartition
	Dirt      compact.Dirt
	Stats     compact.Stats
	Took      time.Duration
}

// Status is what can be seen of a cleaner.
type Status struct {
	Uncleanable []Uncleanable // by partition
	Dirtiest    float64       // the largest dirty ratio that was seen when a worker looked last
	LastRunMs   int64         // wall time of that
	Done        []Done        // of each worker that has cleaned a log, by worker
}

// Start starts the workers. Nothing is cleaned while log.cleaner.enable is false.
func Start(cfg Config) *Cleaner {
	c := &Cleaner{
		cfg: cfg, quit: make(chan struct{}), wake: make(chan struct{}), busy: map[*seglog.Log]bool{}, bad: map[*seglog.Log]Uncleanable{},
		later: map[*seglog.Log]int64{}, lastDone: map[int]Done{}, lastRun: cfg.Now().WallMs,
	}
	c.Reconfigure()
	return c
}

// Reconfigure takes settings into force that have changed: a round that runs ends under the old ones, but for its speed.
func (c *Cleaner) Reconfigure() {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.cfg.Settings()
	if c.ended || !set.Enable {
		return
	}
	close(c.wake)
	c.wake = make(chan struct{})
	for l, u := range c.bad {
		if errors.Is(u.Why, compact.ErrNoRoom) { // there may be room now
			delete(c.bad, l)
		}
	}
	for ; c.threads < int(set.Threads); c.threads++ {
		w := &worker{Cleaner: c, number: c.threads}
		c.running.Go(w.loop)
	}
}

// Stop ends the workers: a round that runs is given up, and will be made anew.
func (c *Cleaner) Stop() {
	c.mu.Lock()
	if !c.ended {
		c.ended = true
		close(c.quit)
	}
	c.mu.Unlock()
	c.running.Wait()
}

// Status is what can be seen now.
func (c *Cleaner) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{Dirtiest: c.dirtiest, LastRunMs: c.lastRun}
	for _, u := range c.bad {
		s.Uncleanable = append(s.Uncleanable, u)
	}
	slices.SortFunc(s.Uncleanable, func(a, b Uncleanable) int { return a.Partition.Compare(b.Partition) })
	for i := range c.threads {
		if d, ok := c.lastDone[i]; ok {
			s.Done = append(s.Done, d)
		}
	}
	return s
}

// candidate is a log that may be next.
type candidate struct {
	*partition.Partition
	dirt compact.Dirt
}

// take finds the next log, which is the worker's until release.
func (c *Cleaner) take() (next candidate, ok bool) {
	open := c.cfg.Partitions()
	now := c.cfg.Now().WallMs
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(open)
	c.lastRun, c.dirtiest = now, 0
	for _, p := range open {
		l, set := p.Log(), p.Settings()
		if !set.CleanupCompact || p.State() != partition.Online || c.busy[l] || now < c.later[l] {
			continue
		}
		if _, bad := c.bad[l]; bad {
			continue
		}
		dirt, err := l.Dirt(now)
		if err != nil {
			c.failed(p, dirt, err, now)
			continue
		}
		c.dirtiest = max(c.dirtiest, dirt.Ratio())
		if dirt.Due(set.MinCleanableDirtyRatio) && (!ok || dirt.Ratio() > next.dirt.Ratio()) {
			next, ok = candidate{p, dirt}, true
		}
	}
	if ok {
		c.busy[next.Log()] = true
		delete(c.later, next.Log())
	}
	return next, ok
}

// forget drops what is known of logs that are open no more.
func (c *Cleaner) forget(open []*partition.Partition) {
	if len(c.bad)+len(c.later) == 0 {
		return
	}
	gone := func(l *seglog.Log) bool {
		return !slices.ContainsFunc(open, func(p *partition.Partition) bool { return p.Log() == l })
	}
	for l := range c.bad {
		if gone(l) {
			delete(c.bad, l)
		}
	}
	for l := range c.later {
		if gone(l) {
			delete(c.later, l)
		}
	}
}

// release ends the use of a log.
func (c *Cleaner) release(p *partition.Partition, dirt compact.Dirt, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, p.Log())
	switch now := c.cfg.Now().WallMs; {
	case err != nil:
		c.failed(p, dirt, err, now)
	case p.Log().CleanedTo() <= dirt.First: // a transaction that is not decided below the HW, for one
		c.pass(p, now)
	}
}

// pass has a log passed over for a while.
func (c *Cleaner) pass(p *partition.Partition, now int64) {
	c.later[p.Log()] = now + max(c.cfg.Settings().BackoffMs, 1000)
}

// failed notes why a log was not cleaned. c.mu is held.
func (c *Cleaner) failed(p *partition.Partition, dirt compact.Dirt, err error, now int64) {
	l, name := p.Log(), p.Name()
	switch {
	case errors.Is(err, errStopping) || errors.Is(err, seglog.ErrClosed):
	case seglog.Uncleanable(err):
		c.bad[l] = Uncleanable{Partition: name, Why: err, Bytes: dirt.Dirty}
		c.cfg.Log.Error("a log cannot be compacted, and is left alone from now on", "partition", name.String(), "err", err)
	default:
		c.pass(p, now)
		c.cfg.Log.Warn("compaction failed", "partition", name.String(), "err", err)
		if !errors.Is(err, syscall.EIO) {
			err = nil // no room for a copy is no failure of the log
		}
		go p.CheckLog(err) // which may stop everything
	}
}

// sleep waits for the time of log.cleaner.backoff.ms, and returns false when the cleaner ends.
func (c *Cleaner) sleep() bool {
	c.mu.Lock()
	wake := c.wake
	c.mu.Unlock()
	timer := time.NewTimer(max(time.Duration(c.cfg.Settings().BackoffMs)*time.Millisecond, time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-c.quit:
		return false
	}
	return true
}
