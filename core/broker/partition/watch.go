package partition

import (
	"trialog/core/broker/serve"
	"trialog/core/kafka"
)

// Kind is the number that a watcher waits for.
type Kind uint8

// Kinds.
const (
	Acked   Kind = iota // acks=1 is complete below it
	HW                  // acks=all is complete below it
	Visible             // consumers may read below it
)

// Progress is the number now.
func (p *Partition) Progress(k Kind) kafka.Offset {
	switch k {
	case Acked:
		return p.acked.Load()
	case HW:
		return p.hw.Load()
	default:
		return p.visible.Load()
	}
}

// Watch is one wait for one number of one partition. It belongs to a request that
// stands at the head of its connection, so there are never more of them than
// connections times partitions of a request. The zero value waits for nothing.
type Watch struct {
	partition *Partition
	index     int
	kind      Kind
	at        kafka.Offset
	waker     *serve.Waker
}

// Watch wakes w's waker once the number reaches at, or the partition's state
// changes. The caller looks at Progress and State after this returns: what
// happened before does not wake it.
func (p *Partition) Watch(w *Watch, k Kind, at kafka.Offset, waker *serve.Waker) {
	p.state.Lock()
	defer p.state.Unlock()
	*w = Watch{partition: p, index: len(p.watches), kind: k, at: at, waker: waker}
	p.watches = append(p.watches, w)
}

// Stop ends the wait. It may have been woken already.
func (w *Watch) Stop() {
	p := w.partition
	if p == nil {
		return
	}
	p.state.Lock()
	defer p.state.Unlock()
	if w.index >= 0 {
		p.unwatch(w)
	}
	*w = Watch{}
}

func (p *Partition) unwatch(w *Watch) {
	last := len(p.watches) - 1
	p.watches[w.index] = p.watches[last]
	p.watches[w.index].index = w.index
	p.watches[last] = nil
	p.watches = p.watches[:last]
	w.index = -1
}

// wake wakes and forgets the watches that are satisfied.
func (p *Partition) wake() {
	for i := 0; i < len(p.watches); {
		if w := p.watches[i]; p.Progress(w.kind) >= w.at {
			p.unwatch(w)
			w.waker.Wake()
			continue
		}
		i++
	}
}

func (p *Partition) wakeAll() {
	for len(p.watches) > 0 {
		w := p.watches[len(p.watches)-1]
		p.unwatch(w)
		w.waker.Wake()
	}
}

// Watching is how many waits there are, for tests.
func (p *Partition) Watching() int {
	produces, fetches := p.Waits()
	return produces + fetches
}

// Waits is how many answers wait for an acknowledgement, and how many for data to fetch.
func (p *Partition) Waits() (produces, fetches int) {
	p.state.Lock()
	defer p.state.Unlock()
	for _, w := range p.watches {
		if w.kind == Visible {
			fetches++
		} else {
			produces++
		}
	}
	return produces, fetches
}
