package controller

import (
	"slices"
	"strings"

	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// election is whom a change of a partition may elect.
type election uint8

const (
	electClean     election = iota // the leader stays if it can
	electPreferred                 // the first replica, if it can lead
	electUnclean                   // clean if possible, else any live replica
)

// change is what a decision wants of one partition. Fields begin as the partition is; build makes the record.
type change struct {
	c                                    *Controller
	topic                                *meta.TopicImage
	id                                   kafka.PartitionID
	was                                  meta.PartitionImage
	isr, replicas, removing, adding, elr []kafka.NodeID
	recovering                           bool
	newEpoch                             bool // the leader begins a new epoch, also if it stays
	election                             election
	lost                                 kafka.NodeID // restarted uncleanly: no longer eligible; or kafka.NoNode
	gone                                 kafka.NodeID // is not there any more, whatever its registration says; or kafka.NoNode
	moved                                kafka.NodeID // has its replica in dir now; or kafka.NoNode
	dir                                  kafka.TopicID
	elrOn                                bool
	minISR                               int
}

// change begins with the partition as it is. Elections are clean, or unclean where the topic allows it.
func (c *Controller) change(t *meta.TopicImage, id kafka.PartitionID) *change {
	p := t.Partitions[id]
	g := &change{c: c, topic: t, id: id, was: p, isr: p.ISR, replicas: p.Replicas, removing: p.Removing, adding: p.Adding, elr: p.ELR,
		recovering: p.Recovering, lost: kafka.NoNode, gone: kafka.NoNode, moved: kafka.NoNode, elrOn: c.elrOn(), minISR: c.minISR(t, &p)}
	if c.uncleanAllowed(t) {
		g.election = electUnclean
	}
	return g
}

// elrOn: the cluster keeps eligible leader replicas.
func (c *Controller) elrOn() bool {
	return c.speculative.FeatureLevel(elrVersion) >= 1
}

// setting is what a topic, or else all brokers, have set; false if neither has.
func (c *Controller) setting(t *meta.TopicImage, name string) (string, bool) {
	if v, ok := config.Get(t.Configs, name); ok {
		return strings.TrimSpace(v), true
	}
	v, ok := config.Get(c.speculative.BrokerConfigs(""), name)
	return strings.TrimSpace(v), ok
}

func (c *Controller) uncleanAllowed(t *meta.TopicImage) bool {
	if v, ok := c.setting(t, "unclean.leader.election.enable"); ok {
		return strings.EqualFold(v, "true")
	}
	return c.cfg.UncleanElection
}

func without(nodes []kafka.NodeID, gone ...kafka.NodeID) []kafka.NodeID {
	out := make([]kafka.NodeID, 0, len(nodes))
	for _, n := range nodes {
		if !slices.Contains(gone, n) {
			out = append(out, n)
		}
	}
	return out
}

func containsAll(all, some []kafka.NodeID) bool { return len(without(some, all...)) == 0 }

// acceptable: the replica is there to lead.
func (g *change) acceptable(node kafka.NodeID) bool {
	b, rules := g.c.speculative.Broker(node), &g.c.cfg.Rules
	live := b != nil && b.Active() && node != g.gone
	hasDir := b == nil || b.HasDir(g.directory(node))
	return (live || !rules.ElectLiveOnly) && (hasDir || !rules.ElectOnlineDirectory)
}

// valid: the replica may lead without losing anything.
func (g *change) valid(node kafka.NodeID) bool {
	if node == kafka.NoNode || !g.acceptable(node) {
		return false
	}
	inSync := slices.Contains(g.isr, node) || len(g.isr) == 0 && slices.Contains(g.elr, node)
	return inSync || !g.c.cfg.Rules.ElectInSync && slices.Contains(g.replicas, node)
}

// choose is who leads, and whether that may lose records.
func (g *change) choose() (node kafka.NodeID, unclean bool) {
	if first := g.replicas[0]; g.election == electPreferred && (g.valid(first) || !g.c.cfg.Rules.PreferredInISR && g.acceptable(first)) {
		return first, false
	}
	if g.valid(g.was.Leader) {
		return g.was.Leader, false
	}
	for _, n := range g.replicas {
		if g.valid(n) {
			return n, false
		}
	}
	// Nobody is left who is known to hold everything: the last leader, if it alone was written down as that.
	if g.elrOn && len(g.isr) == 0 && len(g.elr) == 0 && len(g.was.LastKnownELR) == 1 && g.acceptable(g.was.LastKnownELR[0]) {
		return g.was.LastKnownELR[0], true
	}
	if g.election == electUnclean {
		for _, n := range g.replicas {
			if g.acceptable(n) {
				return n, true
			}
		}
	}
	return kafka.NoNode, false
}

// elect puts the leader into the record. The ISR of an unclean leader is itself alone.
func (g *change) elect(r *meta.PartitionChange) (unclean bool) {
	node, unclean := g.choose()
	if node == g.was.Leader {
		return false
	}
	r.Leader = node
	switch {
	case unclean:
		g.isr = []kafka.NodeID{node}
		if !g.was.Recovering && g.c.cfg.Rules.RecoveryStateKept {
			g.recovering = true
		}
	case node != kafka.NoNode && !slices.Contains(g.isr, node):
		g.isr, g.elr = append(slices.Clone(g.isr), node), without(g.elr, node)
	}
	return unclean
}

// completeReassignment ends a reassignment whose new replicas are all in sync.
func (g *change) completeReassignment() {
	if len(g.adding)+len(g.removing) == 0 {
		return
	}
	isr, replicas := without(g.isr, g.removing...), without(g.replicas, g.removing...)
	if !g.c.cfg.Rules.ReassignmentInSync {
		isr = replicas
	}
	if len(isr) == 0 || len(replicas) == 0 || !containsAll(isr, replicas) {
		return
	}
	g.isr, g.replicas, g.removing, g.adding = isr, replicas, nil, nil
}

// acksAlone: the ISR acks without those who are not in it, or did, so that nobody else is eligible.
func (g *change) acksAlone() bool {
	if !g.elrOn {
		return len(g.isr)+len(g.was.ISR) > 0
	}
	return len(g.isr) >= min(g.minISR, len(g.replicas))
}

// keepEligible makes the new ELR: whoever was in ISR or ELR and did not lose anything, while fewer than
// min.insync.replicas are in sync. The HW does not move meanwhile, so they go on holding all that is below it. Where ELR
// was switched off while nobody was in sync, those who are left in it stay until one of them leads.
func (g *change) keepEligible() {
	elr := without(g.elr, append(slices.Clone(g.isr), g.lost)...)
	switch {
	case g.acksAlone(), !g.c.cfg.Rules.ELRKept:
		elr = nil
	case g.elrOn:
		for _, n := range g.was.ISR {
			if n != g.lost && !slices.Contains(g.isr, n) && !slices.Contains(elr, n) {
				elr = append(elr, n)
			}
		}
	}
	g.elr = slices.DeleteFunc(elr, func(n kafka.NodeID) bool { return !slices.Contains(g.replicas, n) })
}

// differs is the list that a record carries for what changes: nil for nothing.
func differs(was, now []kafka.NodeID) []kafka.NodeID {
	if slices.Equal(was, now) {
		return nil
	}
	return append([]kafka.NodeID{}, now...)
}

// lastKnown writes the last leader down when the partition has nobody left, and forgets it when it leads again.
func (g *change) lastKnown(r *meta.PartitionChange) {
	was := g.was.LastKnownELR
	emptied := r.ISR != nil && len(r.ISR) == 0
	leads := r.Leader >= 0 || r.Leader == meta.NoLeaderChange && g.was.Leader != kafka.NoNode
	switch {
	case !g.elrOn:
	case emptied && g.was.Leader != kafka.NoNode && !(len(was) == 1 && was[0] == g.was.Leader):
		r.LastKnownELR = []kafka.NodeID{g.was.Leader}
	case leads && len(was) > 0:
		r.LastKnownELR = []kafka.NodeID{}
	}
}

// directory is where a replica will be.
func (g *change) directory(node kafka.NodeID) kafka.TopicID {
	switch {
	case node == g.moved:
		return g.dir
	case slices.Contains(g.was.Replicas, node):
		return g.was.Directory(node)
	}
	return g.c.defaultDir(node)
}

func (g *change) directories(r *meta.PartitionChange) {
	if len(g.was.Directories) == 0 && g.moved == kafka.NoNode {
		return
	}
	dirs := make([]kafka.TopicID, 0, len(g.replicas))
	for _, n := range g.replicas {
		dirs = append(dirs, g.directory(n))
	}
	if !slices.Equal(dirs, g.was.Directories) {
		r.Directories = dirs
	}
}

// build is the record of the change; nil if nothing changes.
func (g *change) build() meta.Record {
	r := &meta.PartitionChange{Topic: g.topic.ID, Partition: g.id, Leader: meta.NoLeaderChange}
	g.completeReassignment()
	g.keepEligible()
	if g.elect(r) || g.acksAlone() { // the one who is elected may have come from the ELR
		g.elr = nil
	}
	if r.Leader == meta.NoLeaderChange && (g.newEpoch || !containsAll(g.replicas, g.was.Replicas)) {
		r.Leader = g.was.Leader // who lost its replica learns it by the leader epoch
	}
	if len(g.isr) > 0 || g.elrOn || !g.c.cfg.Rules.LastISRMemberStays {
		r.ISR = differs(g.was.ISR, g.isr)
	}
	r.ELR = differs(g.was.ELR, g.elr)
	r.Replicas, r.Adding, r.Removing = differs(g.was.Replicas, g.replicas), differs(g.was.Adding, g.adding), differs(g.was.Removing, g.removing)
	g.lastKnown(r)
	g.directories(r)
	if g.recovering != g.was.Recovering {
		r.Recovering = meta.Ends
		if g.recovering {
			r.Recovering = meta.Becomes
		}
	}
	if r.Leader == meta.NoLeaderChange && r.ISR == nil && r.ELR == nil && r.Replicas == nil && r.Adding == nil && r.Removing == nil &&
		r.LastKnownELR == nil && r.Directories == nil && r.Recovering == meta.Unchanged {
		return nil
	}
	if !g.c.cfg.Rules.ElectRaisesEpoch {
		p := r.Merge(&g.was)
		p.LeaderEpoch = g.was.LeaderEpoch
		return p
	}
	return r
}

// decideChange decides a change, if it is one.
func (c *Controller) decideChange(g *change) []meta.Record {
	if r := g.build(); r != nil {
		return c.decide(r)
	}
	return nil
}

// eachPartition decides what plan wants of every partition, one after the other, each on top of those before it. plan
// may answer nil.
func (c *Controller) eachPartition(plan func(t *meta.TopicImage, id kafka.PartitionID, p *meta.PartitionImage) *change) []meta.Record {
	var records []meta.Record
	for i := range c.speculative.Topics() {
		for id := range c.speculative.Topics()[i].Partitions {
			t := c.speculative.Topics()[i]
			if g := plan(t, kafka.PartitionID(id), &t.Partitions[id]); g != nil {
				records = append(records, c.decideChange(g)...)
			}
		}
	}
	return records
}

// leaves takes a broker out of every ISR, and, if it lost something, out of every ELR. What it leads somebody else leads.
func (c *Controller) leaves(node kafka.NodeID, lost bool) []meta.Record {
	return c.eachPartition(func(t *meta.TopicImage, id kafka.PartitionID, p *meta.PartitionImage) *change {
		if !slices.Contains(p.ISR, node) && p.Leader != node && !(lost && slices.Contains(p.ELR, node)) {
			return nil
		}
		g := c.change(t, id)
		g.isr = without(p.ISR, node)
		if lost {
			g.lost = node
		}
		return g
	})
}

// electLeaderless elects where nobody leads.
func (c *Controller) electLeaderless() []meta.Record {
	return c.eachPartition(func(t *meta.TopicImage, id kafka.PartitionID, p *meta.PartitionImage) *change {
		if p.Leader != kafka.NoNode {
			return nil
		}
		return c.change(t, id)
	})
}
