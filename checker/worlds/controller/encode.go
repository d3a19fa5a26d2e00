package controller

import (
	"bytes"
	"slices"

	"trialog/checker/explore"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// numbers is a small sorted set. Epochs are encoded by their places in it: machines only compare them.
type numbers struct {
	list [15]int32
	n    int
}

func (l *numbers) add(v int64) {
	if v < 0 {
		return // it is none
	}
	i := l.n
	for ; i > 0 && int64(l.list[i-1]) >= v; i-- {
		if int64(l.list[i-1]) == v {
			return
		}
	}
	copy(l.list[i+1:l.n+1], l.list[i:l.n])
	l.list[i] = int32(v)
	l.n++
}

func (l *numbers) place(v int64) byte {
	for i := range l.n {
		if int64(l.list[i]) == v {
			return byte(i + 1)
		}
	}
	return 0
}

// coder encodes one state.
type coder struct {
	w      *World
	s      *State
	b      []byte
	to     [MaxBrokers]uint8     // the new name of a broker
	from   [MaxBrokers]uint8     // and back
	chairs [MaxControllers]uint8 // the controller that has a new name
	lives  [MaxBrokers]numbers   // broker epochs
	epochs [2 * maxSlots]numbers // leader epochs, of the topic that there is now, and of one that was removed
	states [2 * maxSlots]numbers // partition epochs
	images [12]*meta.Image       // that are still of importance, the newest first
	seen   int
	behind int                      // how many batches the one that lacks most lacks
	lags   [MaxControllers]*version // by which a controller would begin to decide
}

// Encode writes all of a state that matters for what comes.
func (w *World) Encode(s *State, p explore.Perm, to []byte) []byte {
	c := coder{w: w, s: s, b: to}
	for i := range w.cfg.Brokers {
		c.to[i], c.from[i] = uint8(i), uint8(i)
		if p != nil {
			c.to[i] = p[i]
		}
	}
	for i := range w.cfg.Brokers {
		c.from[c.to[i]] = uint8(i)
	}
	for i := range w.cfg.Controllers {
		n := i
		if p != nil {
			n = int(p[w.cfg.Brokers+i]) - w.cfg.Brokers
		}
		c.chairs[n] = uint8(i)
	}
	c.collect()
	for n := range c.behind + 1 {
		c.image(s.head.back(n).image)
	}
	for i := range w.cfg.Brokers {
		c.broker(int(c.from[i]))
	}
	for i := range w.cfg.Controllers {
		c.seat(int(c.chairs[i]))
	}
	c.messages()
	for slot := range w.slots() {
		var holds, known uint8
		for i := range w.cfg.Brokers {
			holds |= s.holds[slot] >> i & 1 << c.to[i]
			known |= s.known[slot] >> i & 1 << c.to[i]
		}
		c.b = append(c.b, holds|known<<4)
		if w.cfg.Most[Relax] > 0 {
			c.b = append(c.b, flag(s.unheard[slot], 0))
		}
	}
	c.numbered(s.newest - s.head.at)
	if int(s.total) < w.cfg.Total {
		for i, most := range w.cfg.Most {
			if most > 0 {
				c.b = append(c.b, s.used[i])
			}
		}
	}
	return append(c.b, s.total, byte(s.broken))
}

// numbered is a number that matters as far as it is positive.
func (c *coder) numbered(v int64) { c.b = append(c.b, byte(max(v, 0))) }

// collect finds the images and numbers that still matter.
func (c *coder) collect() {
	s := c.s
	c.collectImage(s.head.image)
	for i := range c.w.cfg.Controllers {
		seat := &s.seats[i]
		c.lags[i] = seat.at
		if lag := s.head.at - seat.at.at; lag > int64(c.w.cfg.Lag) && i != int(s.leader) {
			c.lags[i] = s.head.back(c.w.cfg.Lag) // it could have heard so much by itself, or will when it resigns
		}
		c.behind = max(c.behind, int(s.head.at-c.lags[i].at))
		if i != int(s.leader) {
			continue
		}
		for k := range seat.pend {
			c.collectImage(seat.pend[k].after)
		}
	}
	for n := range c.behind {
		c.collectImage(s.head.back(n + 1).image)
	}
	for i := range c.w.cfg.Brokers {
		c.lives[i].add(s.brokers[i].life)
		c.lives[i].add(s.brokers[i].wrote)
	}
	for _, p := range s.seats[s.leader].pend {
		c.collectMessage(p.ask)
	}
	for _, m := range s.late {
		c.collectMessage(m)
	}
}

func (c *coder) collectImage(m *meta.Image) {
	for i := range c.seen {
		if c.images[i] == m {
			return
		}
	}
	c.images[c.seen] = m
	c.seen++
	for _, b := range m.Brokers() {
		c.lives[b.ID-1].add(b.Epoch)
	}
	for slot := range c.w.slots() {
		if t, p := c.w.partition(m, slot); p != nil {
			at := c.row(slot, t.ID)
			c.epochs[at].add(int64(p.LeaderEpoch))
			c.states[at].add(int64(p.PartitionEpoch))
		}
	}
}

func (c *coder) collectMessage(m *message) {
	if m.from > 0 {
		c.lives[m.from-1].add(m.life)
		c.lives[m.from-1].add(m.wrote)
	}
	if isProposal(m) {
		if c.remembered(m.slot, m.topic) {
			at := c.row(m.slot, m.topic)
			c.epochs[at].add(int64(m.epoch))
			c.states[at].add(int64(m.state))
			if m.done {
				c.states[at].add(int64(m.became))
			}
		}
		for _, in := range m.isr {
			c.lives[in.Node-1].add(in.BrokerEpoch)
		}
	}
}

// row is where the epochs of a partition of a topic are.
func (c *coder) row(slot int, topic kafka.TopicID) int {
	if t, _ := c.w.partition(c.s.head.image, slot); t != nil && t.ID == topic {
		return slot
	}
	return maxSlots + slot
}

// remembered: some image has the topic. If none has, nobody compares what a message says about it.
func (c *coder) remembered(slot int, topic kafka.TopicID) bool {
	for _, m := range c.images[:c.seen] {
		if t, _ := c.w.partition(m, slot); t != nil && t.ID == topic {
			return true
		}
	}
	return false
}

func isProposal(m *message) bool { return m.kind == grow || m.kind == shrink || m.kind == recovered }

func (c *coder) set(nodes []kafka.NodeID) byte {
	var set byte
	for _, n := range nodes {
		set |= 1 << c.to[n-1]
	}
	return set
}

// name is a broker's new name, from 1.
func (c *coder) name(n kafka.NodeID) byte {
	if n < 1 {
		return 0
	}
	return c.to[n-1] + 1
}

// image writes an image; of the topics of another one whether they are the newest's.
func (c *coder) image(m *meta.Image) {
	newest := c.s.head.image
	for i := range c.w.cfg.Brokers {
		at := c.from[i]
		b := m.Broker(kafka.NodeID(at + 1))
		if b == nil {
			c.b = append(c.b, 0)
			continue
		}
		c.b = append(c.b, 1|flag(b.Fenced, 1)|flag(b.InControlledShutdown, 2)|flag(b.Incarnation == incarnation(c.s.brokers[at].births), 3)|
			c.lives[at].place(b.Epoch)<<4)
		if c.w.cfg.Dirs || c.w.cfg.Most[Relax] > 0 {
			c.b = append(c.b, byte(len(b.LogDirs))|flag(len(m.BrokerConfigs(brokerNames[at])) > 0, 4))
		}
	}
	for slot := range c.w.slots() {
		t, p := c.w.partition(m, slot)
		if p == nil {
			c.b = append(c.b, 0xff)
			continue
		}
		other, _ := c.w.partition(newest, slot)
		at := c.row(slot, t.ID)
		c.b = append(c.b, c.name(p.Leader)|flag(p.Recovering, 4)|flag(other != nil && t.ID == other.ID, 5)|flag(other != nil, 6),
			c.epochs[at].place(int64(p.LeaderEpoch))<<4|c.states[at].place(int64(p.PartitionEpoch)),
			c.set(p.ISR)<<4|c.set(p.ELR), c.set(p.Adding)<<4|c.set(p.Removing), c.set(p.LastKnownELR), byte(len(p.Replicas)))
		for _, n := range p.Replicas {
			c.b = append(c.b, c.name(n))
		}
		if c.w.cfg.Dirs {
			for _, dir := range p.Directories {
				c.b = append(c.b, dir[2])
			}
		}
		if c.w.cfg.Most[Relax] > 0 {
			c.b = append(c.b, byte(c.w.topicMin(t)))
		}
	}
	c.b = append(c.b, c.blocks(m))
}

func flag(v bool, bit int) byte {
	if v {
		return 1 << bit
	}
	return 0
}

func (c *coder) broker(i int) {
	b := &c.s.brokers[i]
	c.b = append(c.b, flag(b.up, 0)|flag(b.caught, 1)|flag(b.wants, 2)|byte(b.disk)<<3, c.lives[i].place(b.life)<<4|c.lives[i].place(b.wrote))
}

// seat writes a controller: how much of the log it lacks, and of one that decides what it knows besides.
func (c *coder) seat(i int) {
	k, at := &c.s.seats[i], c.lags[i]
	leads := i == int(c.s.leader)
	c.b = append(c.b, flag(k.m.Active(), 0)|flag(leads, 1), byte(c.s.head.at-at.at), byte(len(k.pend)))
	c.numbered(k.m.LastEpoch() - max(c.s.head.at, c.s.newest))
	switch {
	case !k.m.Active():
	case leads:
		for _, p := range k.pend {
			c.image(p.after)
			c.b = append(c.b, flag(p.told, 0))
			c.message(p.ask)
		}
		c.sessions(k)
	default:
		c.deposed(k.now())
	}
}

// deposed writes what a controller goes by whose decisions come to nothing: whom it can fence, and which ids it would give.
func (c *coder) deposed(now *meta.Image) {
	for i := range c.w.cfg.Brokers {
		b := now.Broker(kafka.NodeID(c.from[i] + 1))
		c.b = append(c.b, flag(b == nil, 0)|flag(b != nil && b.Fenced, 1))
	}
	c.b = append(c.b, c.blocks(now))
}

// blocks counts producer ids from what was given.
func (c *coder) blocks(m *meta.Image) byte {
	return byte(int8((m.NextProducerID() - c.s.given) / kafka.ProducerIDBlock))
}

// sessions writes of each broker whether its registration has an offset yet, and of those that shut down who has heard of
// it.
func (c *coder) sessions(k *seat) {
	now := k.now()
	for i := range c.w.cfg.Brokers {
		at := c.from[i]
		b := now.Broker(kafka.NodeID(at + 1))
		if b == nil {
			c.b = append(c.b, 0)
			continue
		}
		own := k.m.Session(b.ID, b.Epoch)
		bits := 1 | flag(b.Fenced && own.Registered >= 0, 1)
		if b.InControlledShutdown && !b.Fenced {
			bits |= 1<<2 | flag(own.ShutDown >= 0, 3)
			for _, o := range now.Brokers() {
				if o.Active() && k.m.Session(o.ID, o.Epoch).Heard >= own.ShutDown {
					bits |= 1 << (4 + c.to[o.ID-1])
				}
			}
		}
		c.b = append(c.b, bits)
	}
}

// messages writes those that are late; their order does not matter.
func (c *coder) messages() {
	c.b = append(c.b, byte(len(c.s.late)))
	begin := len(c.b)
	ends := make([]int, 0, 8)
	for _, m := range c.s.late {
		c.message(m)
		if m.kind == beat {
			c.b = append(c.b, byte(min(c.s.head.at-m.heard, 255)))
		}
		ends = append(ends, len(c.b))
	}
	if len(ends) < 2 {
		return
	}
	parts := make([][]byte, len(ends))
	all := bytes.Clone(c.b[begin:])
	from := 0
	for i, end := range ends {
		parts[i] = all[from : end-begin]
		from = end - begin
	}
	slices.SortFunc(parts, bytes.Compare)
	c.b = c.b[:begin]
	for _, part := range parts {
		c.b = append(c.b, part...)
	}
}

// message writes a request, but for how much of the log its sender has.
func (c *coder) message(m *message) {
	c.b = append(c.b, byte(m.kind), c.name(m.from))
	if m.from > 0 {
		c.b = append(c.b, flag(m.kind == register && m.born == c.s.brokers[m.from-1].births, 0)|flag(m.wants, 1)|flag(m.caught, 2)|flag(m.wrote >= 0, 3)|
			c.lives[m.from-1].place(m.life)<<4, byte(m.disk))
	}
	switch {
	case isProposal(m):
		at := c.row(m.slot, m.topic)
		c.b = append(c.b, byte(m.slot)|flag(at == m.slot, 3)|flag(m.done, 4)|c.name(m.joins)<<5,
			c.epochs[at].place(int64(m.epoch))<<4|c.states[at].place(int64(m.state)))
		if m.done {
			c.b = append(c.b, c.states[at].place(int64(m.became)))
		}
		var lives [MaxBrokers]byte
		for _, in := range m.isr {
			lives[c.to[in.Node-1]] = 1 + c.lives[in.Node-1].place(in.BrokerEpoch)
		}
		c.b = append(c.b, lives[:c.w.cfg.Brokers]...)
	case m.kind == move:
		c.b = append(c.b, byte(m.slot), byte(len(m.to)))
		for _, n := range m.to {
			c.b = append(c.b, c.name(n))
		}
	case m.kind == electLeaders || m.kind == relax || m.kind == cancel || m.kind == makeTopic || m.kind == removeTopic:
		c.b = append(c.b, byte(m.slot), byte(m.how))
	}
}
