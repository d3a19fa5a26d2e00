package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Topic is the effective settings of one topic, typed.
type Topic struct {
	SegmentBytes           int32 // internal.segment.bytes if that is given
	SegmentMs              int64 // max.compaction.lag.ms if that is less, under compaction: the active segment waits no longer
	SegmentJitterMs        int64
	SegmentIndexBytes      int32
	IndexIntervalBytes     int32
	FlushMessages          int64 // fsync after so many records; MaxInt64 never
	FlushMs                int64 // fsync after so long; MaxInt64 never
	RetentionMs            int64 // -1: for ever
	RetentionBytes         int64 // -1: no limit
	FileDeleteDelayMs      int64
	CleanupDelete          bool
	CleanupCompact         bool
	DeleteRetentionMs      int64
	MinCleanableDirtyRatio float64
	MinCompactionLagMs     int64
	MaxCompactionLagMs     int64
	MaxMessageBytes        int32 // of a batch
	LogAppendTime          bool  // message.timestamp.type
	TimestampBeforeMaxMs   int64
	TimestampAfterMaxMs    int64
	CompressionType        string // "producer" keeps what the client chose
	CompressionLevel       int32  // of that type, if it has levels
	UncompressedMaxBytes   int64  // of a compressed batch's records; the broker's
	UncompressedRecordMax  int64  // bytes of one record of a compressed batch
	MinInsyncReplicas      int32
	UncleanLeaderElection  bool
}

// ValidateTopic checks settings given to a topic, sorted or not. The error has a line for every bad one: key, value,
// and what is allowed; the caller answers INVALID_CONFIG.
func ValidateTopic(own []Pair) error {
	var faults []error
	own, err := SortPairs(own)
	if err != nil {
		return err
	}
	for _, p := range own {
		d := Lookup(p.Name)
		if d == nil || d.Scope&ScopeTopic == 0 {
			faults = append(faults, fmt.Errorf("config: no topic setting is named %s", p.Name))
			continue
		}
		if _, err := d.parse(p.Value); err != nil {
			faults = append(faults, fmt.Errorf("config: %w", err))
		}
	}
	if len(faults) == 0 {
		r := reader{layers: []layer{{SourceTopic, own}}}
		if low, high := r.int("min.compaction.lag.ms"), r.int("max.compaction.lag.ms"); low > high {
			return fmt.Errorf("config: min.compaction.lag.ms=%d: must not be above max.compaction.lag.ms=%d", low, high)
		}
	}
	return errors.Join(faults...)
}

// Topic is the effective settings of a topic with these pairs of its own, sorted. Pairs that ValidateTopic would refuse
// are passed over.
func (b *Broker) Topic(own []Pair) Topic {
	v := topicReader{layers: b.layers, own: own}
	policy := v.value("cleanup.policy").list
	t := Topic{
		SegmentBytes:           int32(v.int("segment.bytes")),
		SegmentMs:              v.int("segment.ms"),
		SegmentJitterMs:        v.int("segment.jitter.ms"),
		SegmentIndexBytes:      int32(v.int("segment.index.bytes")),
		IndexIntervalBytes:     int32(v.int("index.interval.bytes")),
		FlushMessages:          v.int("flush.messages"),
		FlushMs:                v.int("flush.ms"),
		RetentionMs:            v.int("retention.ms"),
		RetentionBytes:         v.int("retention.bytes"),
		FileDeleteDelayMs:      v.int("file.delete.delay.ms"),
		CleanupDelete:          slices.Contains(policy, "delete"),
		CleanupCompact:         slices.Contains(policy, "compact"),
		DeleteRetentionMs:      v.int("delete.retention.ms"),
		MinCleanableDirtyRatio: v.value("min.cleanable.dirty.ratio").real,
		MinCompactionLagMs:     v.int("min.compaction.lag.ms"),
		MaxCompactionLagMs:     v.int("max.compaction.lag.ms"),
		MaxMessageBytes:        int32(v.int("max.message.bytes")),
		UncompressedRecordMax:  v.int("max.decompressed.message.bytes"),
		LogAppendTime:          v.value("message.timestamp.type").text == "LogAppendTime",
		TimestampBeforeMaxMs:   v.int("message.timestamp.before.max.ms"),
		TimestampAfterMaxMs:    v.int("message.timestamp.after.max.ms"),
		CompressionType:        v.value("compression.type").text,
		MinInsyncReplicas:      int32(v.int("min.insync.replicas")),
		UncleanLeaderElection:  v.value("unclean.leader.election.enable").truth,
	}
	if t.CleanupCompact {
		t.SegmentMs = min(t.SegmentMs, t.MaxCompactionLagMs)
	}
	switch t.CompressionType {
	case "gzip", "lz4", "zstd":
		t.CompressionLevel = int32(v.int("compression." + t.CompressionType + ".level"))
	}
	t.UncompressedMaxBytes = (&reader{layers: b.layers}).int("trialog.uncompressed.batch.max.bytes")
	if internal := v.int("internal.segment.bytes"); internal > 0 {
		t.SegmentBytes = int32(internal)
	}
	return t
}

// topicReader looks a topic's setting up where it may come from.
type topicReader struct {
	layers []layer
	own    []Pair
}

func (r *topicReader) int(name string) int64 { return r.value(name).number }

func (r *topicReader) value(name string) value {
	d := Lookup(name)
	if d == nil {
		panic("config: code asks for " + name + ", which the table lacks")
	}
	for _, s := range r.sources(d) {
		if from := Lookup(s.Name); from != nil {
			if v, err := from.parse(s.Value); err == nil {
				v.number = scale(v.number, unitMs(s.Name), unitMs(name))
				return v
			}
		}
	}
	return value{}
}

// sources lists where the setting is given, in order of precedence, the default last.
func (r *topicReader) sources(d *Definition) []Synonym {
	var all []Synonym
	if text, ok := Get(r.own, d.Name); ok {
		all = append(all, Synonym{Name: d.Name, Value: text, Source: SourceTopic})
	}
	all = given(all, r.layers, d.Synonyms)
	standard := d
	for _, name := range d.Synonyms {
		if s := Lookup(name); s.Default != "" {
			standard = s
		}
	}
	if standard.Default != "" {
		all = append(all, Synonym{Name: standard.Name, Value: standard.Default, Source: SourceDefault})
	}
	return all
}

// given appends where broker settings of these names are given: layer by layer, the names in their order.
func given(all []Synonym, layers []layer, names []string) []Synonym {
	for i := range layers {
		for _, name := range names {
			if text, ok := Get(layers[i].pairs, name); ok {
				all = append(all, Synonym{Name: name, Value: text, Source: layers[i].source})
			}
		}
	}
	return all
}

// unitMs is the unit that ends a setting's name, in ms; 0 when it is no time.
func unitMs(name string) int64 {
	switch {
	case strings.HasSuffix(name, ".ms"):
		return 1
	case strings.HasSuffix(name, ".minutes"):
		return 60_000
	case strings.HasSuffix(name, ".hours"):
		return 3_600_000
	}
	return 0
}

// scale converts between units of time; -1 (no limit) stays. Settings in hours and minutes have 32 bits, so it cannot
// overflow.
func scale(n, from, to int64) int64 {
	if n < 0 || from == to {
		return n
	}
	return n * from / to
}
