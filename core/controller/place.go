package controller

import (
	"slices"
	"strings"

	"trialog/core/kafka"
)

// place spreads leaders and replicas over racks and brokers as Kafka does: each partition begins in the next rack, and in
// a rack at the next broker, and goes around the racks; a fenced broker is taken when its rack has no other left, and
// never to lead. What Kafka draws at random comes from draw. It refuses what there are too few brokers for.
func (c *Controller) place(draw uint64, partitions, factor int) ([][]kafka.NodeID, *refusal) {
	p := c.newPlacer(draw)
	switch {
	case p.live == 0:
		return nil, refuse(kafka.ErrInvalidReplicationFactor, "All brokers are currently fenced.")
	case factor > p.total:
		return nil, refuse(kafka.ErrInvalidReplicationFactor, "The target replication factor of %d cannot be reached because only "+
			"%d broker(s) are registered.", factor, p.total)
	}
	out := make([][]kafka.NodeID, partitions)
	for i := range out {
		out[i] = p.next(factor)
	}
	return out, nil
}

// placer is the racks with their brokers, and where the next partition begins.
type placer struct {
	racks       []*rack
	begin       int // rack
	round       int // partitions placed since the last shuffle
	total, live int
	draw        uint64
	draws       bool
}

type rack struct {
	name         string
	live, fenced stripe
}

// stripe is brokers that take turns.
type stripe struct {
	nodes       []kafka.NodeID
	offset      int // who begins in this round
	used, round int // how many were taken in this round
}

// newPlacer takes the brokers that may get replicas: not those that shut down.
func (c *Controller) newPlacer(draw uint64) *placer {
	p := &placer{draw: draw, draws: draw != 0}
	for _, b := range c.speculative.Brokers() {
		if b.InControlledShutdown && !b.Fenced {
			continue
		}
		r := p.rack(b.Rack)
		p.total++
		if b.Fenced {
			r.fenced.nodes = append(r.fenced.nodes, b.ID)
		} else {
			p.live++
			r.live.nodes = append(r.live.nodes, b.ID)
		}
	}
	exist := 0
	for _, t := range c.speculative.Topics() {
		exist += len(t.Partitions)
	}
	begin := func(n int) int {
		if p.draws || n == 0 {
			return p.random(n)
		}
		return exist % n
	}
	for _, r := range p.racks {
		r.live.offset, r.fenced.offset = begin(len(r.live.nodes)), begin(len(r.fenced.nodes))
	}
	p.begin = begin(len(p.racks))
	return p
}

func (p *placer) rack(name string) *rack {
	i, ok := slices.BinarySearchFunc(p.racks, name, func(r *rack, name string) int { return strings.Compare(r.name, name) })
	if !ok {
		p.racks = slices.Insert(p.racks, i, &rack{name: name})
	}
	return p.racks[i]
}

// random is below n, by splitmix64.
func (p *placer) random(n int) int {
	if n == 0 {
		return 0
	}
	p.draw += 0x9e3779b97f4a7c15
	z := p.draw
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

func shuffle[T any](p *placer, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := p.random(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}

// take is the next broker of a stripe that has not been taken in this round.
func (s *stripe) take(round int) (kafka.NodeID, bool) {
	if len(s.nodes) == 0 {
		return kafka.NoNode, false
	}
	if s.round != round {
		s.round, s.used, s.offset = round, 0, (s.offset+1)%len(s.nodes)
	}
	if s.used >= len(s.nodes) {
		return kafka.NoNode, false
	}
	s.used++
	return s.nodes[(s.used-1+s.offset)%len(s.nodes)], true
}

// next is the replicas of one partition. When each live broker has led once, brokers and racks are shuffled, so that the
// same groups do not come again.
func (p *placer) next(factor int) []kafka.NodeID {
	if p.draws && p.round > 0 && p.round%p.live == 0 && p.live > 1 {
		shuffle(p, p.racks)
		for _, r := range p.racks {
			shuffle(p, r.live.nodes)
			shuffle(p, r.fenced.nodes)
		}
	}
	p.begin %= len(p.racks)
	var nodes []kafka.NodeID
	first := p.begin
	for len(nodes) == 0 {
		if n, ok := p.racks[first].live.take(p.round); ok {
			nodes = append(nodes, n)
			break
		}
		first = (first + 1) % len(p.racks)
	}
	for at, skip := p.begin, true; len(nodes) < factor; at = (at + 1) % len(p.racks) {
		if skip && at == first { // the rack of the leader is passed over once
			skip = false
			continue
		}
		n, ok := p.racks[at].live.take(p.round)
		if !ok {
			n, ok = p.racks[at].fenced.take(p.round)
		}
		if ok {
			nodes = append(nodes, n)
		}
	}
	p.round++
	p.begin++
	return nodes
}
