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
func (b *Broker) applied(records []meta.Record, image *meta.Image) {
	var changed []kafka.TopicID // in order of first mention
	reconfigure := false
	for _, r := range records {
		switch r := r.(type) {
		case *meta.Topic:
			changed = append(changed, r.ID)
		case *meta.Partition:
			changed = append(changed, r.Topic)
		case *meta.Config:
			if t := image.Topic(r.Name); r.Resource == meta.ResourceTopic && t != nil {
				changed = append(changed, t.ID)
			} else if r.Resource == meta.ResourceBroker {
				reconfigure = true
			}
		case *meta.RemoveTopic:
			b.removeTopic(r.Topic)
		}
	}
	if reconfigure {
		b.reconfigure(image)
	}
	for i, id := range changed {
		t := image.TopicByID(id)
		if t == nil || slices.Contains(changed[:i], id) {
			continue
		}
		for _, kind := range byKind(b.openTopic(t, true, true)) {
			b.log.Error("a topic could not be opened", "topic", t.Name, "err", seglog.Several(kind))
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
		if p != nil {
			p.Close()
		}
		tp := kafka.TopicPartition{Topic: topic.Name, Partition: kafka.PartitionID(i)}
		if err := b.dirs.DeleteLog(tp, id, b.now().WallMs); err != nil {
			b.log.Error("a partition was not removed", "partition", tp.String(), "err", err)
		}
	}
	b.chores.removeSoon()
}
