package controller

import (
	"slices"
	"strconv"

	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// ELR goes by min.insync.replicas: as long as fewer are in sync the HW stays, and who was in sync before holds everything
// below it. That is true only if the leader goes by the same number.

const minInsyncReplicas = "min.insync.replicas"

// minISR is the effective min.insync.replicas: no more than there are replicas, of this partition, as its leader counts.
// (Kafka counts those of the topic's first partition.)
func (c *Controller) minISR(t *meta.TopicImage, p *meta.PartitionImage) int {
	n := int(c.cfg.MinISR)
	if v, ok := c.setting(t, minInsyncReplicas); ok {
		if set, err := strconv.Atoi(v); err == nil {
			n = set
		}
	}
	return min(max(n, 1), len(p.Replicas))
}

// checkMinISR: with ELR all brokers go by the same min.insync.replicas, that of the topic or else of the cluster, or one
// would ack what another one's ELR does not hold.
func (c *Controller) checkMinISR(r *AlterResource, have, want []config.Pair) *refusal {
	if r.Type != meta.ResourceBroker || !c.elrOn() || !c.cfg.Rules.OneMinISR {
		return nil
	}
	_, had := config.Get(have, minInsyncReplicas)
	_, has := config.Get(want, minInsyncReplicas)
	named := had != has || slices.ContainsFunc(r.Changes, func(ch ConfigChange) bool { return ch.Name == minInsyncReplicas })
	switch {
	case named && r.Name != "":
		return refuse(kafka.ErrInvalidConfig, "Broker-level %s cannot be altered while ELR is enabled.", minInsyncReplicas)
	case named && !has:
		return refuse(kafka.ErrInvalidConfig, "Cluster-level %s cannot be removed while ELR is enabled.", minInsyncReplicas)
	}
	return nil
}

// agreeOnMinISR is what ELR begins with: one min.insync.replicas for all brokers, and none of their own.
func (c *Controller) agreeOnMinISR() []meta.Record {
	if !c.cfg.Rules.OneMinISR {
		return nil
	}
	var records []meta.Record
	if _, ok := config.Get(c.speculative.BrokerConfigs(""), minInsyncReplicas); !ok {
		n := strconv.Itoa(int(max(c.cfg.MinISR, 1)))
		records = append(records, &meta.Config{Resource: meta.ResourceBroker, Key: minInsyncReplicas, Value: n})
	}
	for _, name := range c.speculative.BrokersWithConfigs() {
		if _, ok := config.Get(c.speculative.BrokerConfigs(name), minInsyncReplicas); ok && name != "" {
			records = append(records, &meta.Config{Resource: meta.ResourceBroker, Name: name, Key: minInsyncReplicas, Delete: true})
		}
	}
	return records
}

func setsMinISR(r meta.Record) bool {
	c, ok := r.(*meta.Config)
	return ok && c.Key == minInsyncReplicas
}

// minISRs is what the leaders go by now, by topic and partition; without ELR nothing.
func (c *Controller) minISRs() map[kafka.TopicID][]int {
	before := map[kafka.TopicID][]int{}
	if !c.elrOn() {
		return before
	}
	for _, t := range c.speculative.Topics() {
		for i := range t.Partitions {
			before[t.ID] = append(before[t.ID], c.minISR(t, &t.Partitions[i]))
		}
	}
	return before
}

// forgetEligible is what ELR ends with: nobody keeps count any more of what is acked without those who are eligible beside
// an ISR. Where nobody is in sync they stay.
func (c *Controller) forgetEligible() []meta.Record {
	if c.elrOn() || !c.cfg.Rules.ELREndsWithFeature {
		return nil
	}
	return c.eachPartition(func(t *meta.TopicImage, id kafka.PartitionID, p *meta.PartitionImage) *change {
		if len(p.ELR) == 0 || len(p.ISR) == 0 {
			return nil
		}
		return c.change(t, id)
	})
}

// settleMinISR does what follows from another min.insync.replicas. Where it has become smaller, who is not in the ISR is
// eligible no more as soon as the ISR acks alone. Where it has become larger, or there was no ELR before, the leader begins
// a new epoch: it learns of that from the metadata, which has the setting too, while an answer to a proposal of the old epoch
// would tell it a smaller ISR before it knows the setting, and it would ack alone.
func (c *Controller) settleMinISR(before map[kafka.TopicID][]int) []meta.Record {
	if !c.elrOn() {
		return nil
	}
	rules := &c.cfg.Rules
	return c.eachPartition(func(t *meta.TopicImage, id kafka.PartitionID, p *meta.PartitionImage) *change {
		n, was := c.minISR(t, p), 1
		if int(id) < len(before[t.ID]) {
			was = before[t.ID][id]
		}
		larger := n > was && p.Leader != kafka.NoNode && rules.LargerMinISRNewEpoch
		if smaller := len(p.ELR) > 0 && len(p.ISR) >= n && rules.EligibleBelowMinISR; !larger && !smaller {
			return nil
		}
		g := c.change(t, id)
		g.newEpoch = larger
		return g
	})
}
