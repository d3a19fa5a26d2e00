package broker

import (
	"sync"
	"time"

	"trialog/core/broker/partition"
)

// chores are the periodic tasks of a broker. One goroutine does them one after
// the other, with one timer for the next that is due, so that an idle broker is
// idle.
type chores struct {
	broker *Broker
	tasks  []*chore
	wake   chan struct{}
	quit   chan struct{}
	done   chan struct{}
	once   sync.Once

	mu     sync.Mutex
	remove time.Time // when to remove deleted files; zero: nothing to remove
}

// chore is one task.
type chore struct {
	name  string
	every time.Duration
	due   time.Time
	run   func() error
}

func startChores(b *Broker) *chores {
	c := &chores{broker: b, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	checkpoints := min(b.cfg.FlushOffsetCheckpointIntervalMs, b.cfg.FlushStartOffsetCheckpointIntervalMs)
	c.add("retention", b.cfg.RetentionCheckIntervalMs, c.retain)
	c.add("checkpoints", checkpoints, c.checkpoint)
	c.add("producer expiry", b.cfg.ProducerIDExpirationCheckIntervalMs, c.expireProducers)
	go c.loop()
	return c
}

func (c *chores) add(name string, everyMs int64, run func() error) {
	if everyMs <= 0 {
		return
	}
	every := time.Duration(everyMs) * time.Millisecond
	c.tasks = append(c.tasks, &chore{name: name, every: every, due: time.Now().Add(every), run: run})
}

func (c *chores) loop() {
	defer close(c.done)
	for {
		timer := time.NewTimer(time.Until(c.next()))
		select {
		case <-timer.C:
		case <-c.wake:
		case <-c.quit:
			timer.Stop()
			return
		}
		timer.Stop()
		c.runDue(time.Now())
	}
}

// next is when something is due.
func (c *chores) next() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.remove
	for _, t := range c.tasks {
		if next.IsZero() || t.due.Before(next) {
			next = t.due
		}
	}
	if next.IsZero() {
		return time.Now().Add(time.Hour)
	}
	return next
}

func (c *chores) runDue(now time.Time) {
	for _, t := range c.tasks {
		if now.Before(t.due) {
			continue
		}
		t.due = now.Add(t.every)
		if err := t.run(); err != nil {
			c.broker.log.Error(t.name+" failed", "err", err)
		}
	}
	c.mu.Lock()
	due := !c.remove.IsZero() && !now.Before(c.remove)
	if due {
		c.remove = time.Time{}
	}
	c.mu.Unlock()
	if !due {
		return
	}
	wallMs := c.broker.now().WallMs
	nextMs, failed := c.broker.dirs.RemoveDeleted(wallMs)
	c.broker.failDirs(failed)
	if nextMs == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := now.Add(time.Duration(nextMs-wallMs) * time.Millisecond); c.remove.IsZero() || at.Before(c.remove) {
		c.remove = at
	}
}

// checkpoint writes the checkpoints, and finds what failed unseen.
func (c *chores) checkpoint() error {
	c.broker.checkLogs()
	c.broker.failDirs(c.broker.dirs.Checkpoint())
	return nil
}

// retain applies retention to every partition.
func (c *chores) retain() error {
	deleted := 0
	for _, p := range c.broker.table.All() {
		if p.State() != partition.Online {
			continue
		}
		n, err := p.Retain(c.broker.now().WallMs)
		if err != nil {
			c.broker.log.Error("retention failed", "partition", p.Name().String(), "err", err)
		}
		deleted += n
	}
	if deleted > 0 {
		c.removeSoon()
	}
	return nil
}

func (c *chores) expireProducers() error {
	now := c.broker.now().WallMs
	for _, p := range c.broker.table.All() {
		p.Log().ExpireProducers(now, c.broker.live.Load().ProducerIDExpirationMs)
	}
	return nil
}

// removeSoon has deleted files removed once the file.delete.delay.ms of each have
// passed. During the start nothing has to be scheduled.
func (c *chores) removeSoon() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.remove = time.Now() // whoever looks finds when the first is due
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// stop ends the goroutine; a task that runs is finished first.
func (c *chores) stop() {
	c.once.Do(func() { close(c.quit) })
	<-c.done
}
