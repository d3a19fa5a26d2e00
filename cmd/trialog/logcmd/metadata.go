package logcmd

import (
	"path/filepath"

	"trialog/core/codec"
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/meta"
	"trialog/core/record"
	"trialog/core/seglog/inspect"
	"trialog/core/seglog/layout"
)

// topicsOf is what a directory says of the topics in it: the settings and ids in its metadata log, of this broker or of
// Kafka, as far as the log can be read, and which of them a cleaner has been at.
type topicsOf struct {
	broker   *config.Broker
	settings map[string][]config.Pair
	ids      map[string]kafka.TopicID
	cleaned  map[kafka.TopicPartition]bool
}

func readTopics(dir string, broker *config.Broker) (*topicsOf, error) {
	t := &topicsOf{broker: broker, settings: map[string][]config.Pair{}, ids: map[string]kafka.TopicID{}, cleaned: map[kafka.TopicPartition]bool{}}
	text, err := layout.ReadIfThere(filepath.Join(dir, layout.CleanerFile))
	if err != nil {
		return nil, err
	}
	rows, _ := layout.ParseCheckpoints(text) // what cannot be read says nothing
	for _, r := range rows {
		t.cleaned[r.Partition] = true
	}
	logs, err := filepath.Glob(filepath.Join(dir, kafka.ClusterMetadataTopic+"-0", "*"+layout.LogSuffix))
	if err != nil {
		return nil, err
	}
	for _, log := range logs {
		if err := t.read(log); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// read takes in one segment of the metadata log, up to where it is not sound.
func (t *topicsOf) read(log string) error {
	b, err := inspect.OpenBatches(log)
	if err != nil {
		return err
	}
	defer b.Close()
	for b.Next() && b.Sound() {
		if b.Header().IsControl() {
			continue
		}
		it, err := codec.Records(b.Bytes(), uncompressedMax)
		if err != nil {
			return nil
		}
		for it.Next() {
			t.apply(it.Record())
		}
	}
	return b.Err()
}

// apply takes in one record. Those of Kafka that are unknown here say nothing about settings of topics.
func (t *topicsOf) apply(r *record.Record) {
	change, err := meta.ParseRecord(r.Value)
	if err != nil {
		return
	}
	switch c := change.(type) {
	case *meta.Topic:
		t.ids[c.Name] = c.ID
		delete(t.settings, c.Name)
	case *meta.RemoveTopic:
		for name, id := range t.ids {
			if id == c.Topic {
				delete(t.ids, name)
				delete(t.settings, name)
			}
		}
	case *meta.Config:
		if c.Resource != meta.ResourceTopic {
			return
		}
		kept := []config.Pair{}
		for _, p := range t.settings[c.Name] {
			if p.Name != c.Key {
				kept = append(kept, p)
			}
		}
		if !c.Delete {
			kept = append(kept, config.Pair{Name: c.Key, Value: c.Value})
		}
		t.settings[c.Name] = kept
	}
}

// topic is the effective settings of a partition's topic.
func (t *topicsOf) topic(tp kafka.TopicPartition) config.Topic {
	own, err := config.SortPairs(t.settings[tp.Topic])
	if err != nil {
		own = nil
	}
	set := t.broker.Topic(own)
	if _, known := t.settings[tp.Topic]; !known && (t.cleaned[tp] || tp.Topic == kafka.ConsumerOffsetsTopic || tp.Topic == kafka.TransactionStateTopic) {
		set.CleanupCompact = true
	}
	return set
}

func (t *topicsOf) id(tp kafka.TopicPartition) kafka.TopicID { return t.ids[tp.Topic] }
