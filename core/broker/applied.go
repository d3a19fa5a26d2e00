package broker

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"trialog/core/broker/partition"
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/meta"
	"trialog/core/replica"
	"trialog/core/seglog"
)

// applied does on this broker what committed metadata asks for, before the
// request that caused it is answered.
func (b *Broker) applied(d *meta.Delta) {
	for _, t := range d.Gone {
		b.removeTopic(t.ID)
	}
	if slices.Contains(d.Configs, "") || slices.Contains(d.Configs, strconv.Itoa(int(b.cfg.NodeID))) {
		b.reconfigure(d.Now)
	}
	for _, l := range d.Local(b.cfg.NodeID) {
		switch {
		case l.Event == meta.Lost && d.Now.TopicByID(l.Topic.ID) != nil:
			b.removeReplica(l.Topic, l.Partition)
		case l.Event == meta.Elected && l.Role == meta.Follows:
			b.resign(&l)
		}
	}
	for _, t := range d.Made {
		b.reopenTopic(t)
	}
	for i := range d.Changed {
		b.reopenTopic(d.Changed[i].Now)
	}
	b.reregistered(d)
}

// reopenTopic takes up what is new in a topic.
func (b *Broker) reopenTopic(t *meta.TopicImage) {
	for _, kind := range byKind(b.openTopic(t, true, true)) {
		b.log.Error("a topic could not be opened", "topic", t.Name, "err", seglog.Several(kind))
	}
}

// resign leaves a partition to another leader, or to nobody. (Nothing is fetched from that one: a broker that is its own
// controller is in no cluster with others.)
func (b *Broker) resign(l *meta.LocalChange) {
	if p := b.table.TopicByID(l.Topic.ID).Partition(l.Partition); p != nil {
		p.Resign(replica.Following{Epoch: l.Now.LeaderEpoch, PartitionEpoch: l.Now.PartitionEpoch, Leader: l.Now.Leader})
	}
}

// reregistered notes that this process is not, or not any more, the one that is registered: whoever is sends the heartbeats.
func (b *Broker) reregistered(d *meta.Delta) {
	for i := range d.Brokers {
		k := &d.Brokers[i]
		if k.ID != b.cfg.NodeID || b.brokerEpoch == kafka.NoBrokerEpoch {
			continue
		}
		if k.Now == nil || k.Now.Epoch != b.brokerEpoch {
			b.log.Error("this process is not the registered one any more", "node", k.ID, "epoch", b.brokerEpoch)
		}
	}
}

// reconfigure puts the broker settings of the metadata into force (KIP-226): limits of connections, and whatever topics
// inherit.
func (b *Broker) reconfigure(image *meta.Image) {
	all, own := image.BrokerConfigs(""), image.BrokerConfigs(strconv.Itoa(int(b.cfg.NodeID)))
	if len(all)+len(own) == 0 && b.live.Load() == b.cfg {
		return
	}
	b.live.Store(b.cfg.WithDynamic(all, own))
	b.log.Info("settings changed while running", "all", len(all), "own", len(own))
	if b.cleaner != nil {
		b.cleaner.Reconfigure()
	}
	if b.server != nil {
		b.limit()
		b.hosts.learnSoon(func() []config.ConnectionOverride { return b.live.Load().ConnectionOverrides }, b.limit)
	}
	for _, t := range image.Topics() {
		open := b.table.TopicByID(t.ID)
		if open == nil {
			continue
		}
		settings := b.live.Load().Topic(t.Configs)
		for _, p := range open.Partitions {
			if p != nil && *p.Settings() != settings {
				p.SetSettings(settings)
			}
		}
	}
}

// openTopic opens the partitions of a topic that this broker holds and has not
// open, passes on settings, and takes up new leader epochs. One that fails does
// not keep the others from being served; the errors are those of the failed.
// Those whose directory failed are offline. What was not known before is new if
// later says that everything of an earlier process is open.
func (b *Broker) openTopic(t *meta.TopicImage, lead, later bool) (failed []error) {
	old := b.table.TopicByID(t.ID)
	topic := &partition.Topic{
		Name: t.Name, ID: t.ID, Partitions: make([]*partition.Partition, len(t.Partitions)), Offline: make([]bool, len(t.Partitions)),
	}
	if old != nil {
		topic.Meter = old.Meter
	} else {
		topic.Meter = b.opts.Meter.NewTopic()
	}
	for i := range t.Partitions {
		image := &t.Partitions[i]
		if !slices.Contains(image.Replicas, b.cfg.NodeID) {
			continue
		}
		isNew := later && (old == nil || i >= len(old.Partitions))
		p, err := b.openPartition(old.Partition(int32(i)), t, int32(i), isNew)
		topic.Partitions[i] = p // also one that cannot be led: its log is open
		if err == nil && lead && p.State() == partition.Online {
			err = b.lead(p, image)
		}
		if err != nil && b.isolate(kafka.TopicPartition{Topic: t.Name, Partition: int32(i)}, p, err) {
			topic.Offline[i] = true
		} else if err != nil {
			failed = append(failed, err)
		}
	}
	b.table.Put(topic)
	b.checkOffline(topic)
	return failed
}

// byKind groups errors by what the system said, in the order of the first of each kind: one line of the log for each
// tells all, however many partitions failed.
func byKind(errs []error) [][]error {
	var kinds [][]error
	at := map[syscall.Errno]int{}
	for _, err := range errs {
		var no syscall.Errno // 0: the system said nothing
		errors.As(err, &no)
		i, known := at[no]
		if !known {
			i, at[no] = len(kinds), len(kinds)
			kinds = append(kinds, nil)
		}
		kinds[i] = append(kinds[i], err)
	}
	return kinds
}

// leads reports that a partition is open here and is led.
func (b *Broker) leads(topic kafka.TopicID, i kafka.PartitionID) bool {
	p := b.table.TopicByID(topic).Partition(i)
	return p != nil && p.Epoch() != kafka.NoLeaderEpoch && p.State() != partition.Failed
}

// openPartition opens a partition, or takes what the recovery opened; open is the one that is open already, if any.
func (b *Broker) openPartition(open *partition.Partition, t *meta.TopicImage, i kafka.PartitionID, isNew bool) (*partition.Partition, error) {
	settings := b.live.Load().Topic(t.Configs)
	if open != nil {
		if *open.Settings() != settings {
			open.SetSettings(settings)
		}
		return open, nil
	}
	tp := kafka.TopicPartition{Topic: t.Name, Partition: i}
	got, ok := b.recovery.take(tp)
	if !ok {
		got.log, got.err = b.dirs.OpenLog(tp, t.ID, settings, isNew)
	}
	if got.err != nil {
		return nil, fmt.Errorf("broker: opening %s: %w", tp, got.err)
	}
	return partition.New(b.env, got.log, settings), nil
}

// lead takes up leadership of an epoch that is new.
func (b *Broker) lead(p *partition.Partition, image *meta.PartitionImage) error {
	if image.Leader != b.cfg.NodeID || image.LeaderEpoch <= p.Epoch() {
		return nil
	}
	return p.Lead(replica.Leadership{Epoch: image.LeaderEpoch, Replicas: image.Replicas, ISR: image.ISR})
}

// removeTopic closes the topic's partitions and marks their directories for
// removal. What a crash leaves undone is finished at the next start.
func (b *Broker) removeTopic(id kafka.TopicID) {
	topic := b.table.Remove(id)
	if topic == nil {
		return
	}
	for i, p := range topic.Partitions {
		b.removeLog(topic, kafka.PartitionID(i), p)
	}
	b.chores.removeSoon()
}

// removeReplica does the same for one partition of a topic that stays: its replica is elsewhere from now on.
func (b *Broker) removeReplica(t *meta.TopicImage, i kafka.PartitionID) {
	topic := b.table.TopicByID(t.ID)
	if topic == nil {
		return
	}
	b.removeLog(topic, i, topic.Partition(i))
	b.chores.removeSoon()
}

func (b *Broker) removeLog(topic *partition.Topic, i kafka.PartitionID, p *partition.Partition) {
	if p != nil {
		p.Close()
	}
	tp := kafka.TopicPartition{Topic: topic.Name, Partition: i}
	if err := b.dirs.DeleteLog(tp, topic.ID, b.now().WallMs); err != nil {
		b.log.Error("a partition was not removed", "partition", tp.String(), "err", err)
	}
}
