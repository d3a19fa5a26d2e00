package controller

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// What clients ask of a cluster in a story, and what brokers say when they register.

// flag is a word of a cluster; false if there is no such word.
func (c *cluster) flag(name, value string) bool {
	switch name {
	case "mv":
		c.level(metadataVersion, int16(c.int(value)))
	case "dirs":
		c.dirsOf = 2
		if value != "" {
			c.dirsOf = c.int(value)
		}
	case "sessions-last":
		c.cfg.SessionsLast = true
	case "id":
		c.cfg.ClusterID = value
	default:
		return false
	}
	return true
}

func (c *cluster) level(name string, level int16) {
	require.NoError(c.t, c.base.Apply(&meta.FeatureLevel{Name: name, Level: level}))
}

// of is the partition of the word of=TOPIC-PARTITION, or t-0.
func of(words []string) kafka.TopicPartition {
	for _, w := range words {
		if name, ok := strings.CutPrefix(w, "of="); ok {
			topic, part, _ := strings.Cut(name, "-")
			return kafka.TopicPartition{Topic: topic, Partition: int32(part[0] - '0')}
		}
	}
	return kafka.TopicPartition{Topic: "t"}
}

// fromClient reads
//
//	alter [topic:NAME|broker:ID|broker:] KEY=VALUE KEY-      of topic t where nothing is named
//	features NAME=LEVEL [safe|unsafe|validate]               elr and mv for short
//	create NAME at=0:1+2 partitions=N rf=N
//	grow NAME=COUNT at=1+2
func (c *cluster) fromClient(words []string) Request {
	c.ids.t, c.ids.ids = c.t, max(c.ids.ids, 100)
	switch words[0] {
	case "alter":
		if !strings.Contains(words[1], ":") {
			words = slices.Insert(slices.Clone(words), 1, "topic:t")
		}
		return c.ids.alter(words)
	case "create":
		return c.ids.create(words)
	case "grow":
		return c.ids.partitions(words)
	}
	req := &UpdateFeatures{}
	how := Upgrade
	for _, w := range words[1:] {
		name, level, ok := strings.Cut(w, "=")
		switch {
		case ok:
			req.Updates = append(req.Updates, FeatureUpdate{Name: featureNamed(name), Level: int16(c.int(level))})
		case w == "safe":
			how = SafeDowngrade
		case w == "unsafe":
			how = UnsafeDowngrade
		case w == "unknown":
			how = 0
		case w == "validate":
			req.ValidateOnly = true
		}
	}
	for i := range req.Updates {
		req.Updates[i].Type = how
	}
	return req
}

func featureNamed(short string) string {
	switch short {
	case "elr":
		return elrVersion
	case "mv":
		return metadataVersion
	}
	return short
}

// registers reads: [clean] [again] [dirs=21+22+reserved] [features=elr:0-1+mv:7-27] [of=CLUSTER] [rack=R]; again
// is the same process, dirs= none at all.
func (c *cluster) registers(node kafka.NodeID, args []string) Request {
	r := c.registration(node, "", slices.Contains(args, "clean"))
	for _, w := range args {
		key, value, _ := strings.Cut(w, "=")
		switch {
		case w == "again":
			r.Incarnation = c.c.Image().Broker(node).Incarnation
		case key == "of":
			r.ClusterID = value
		case key == "rack":
			r.Rack = value
		case key == "dirs":
			r.LogDirs = nil
			for _, d := range strings.FieldsFunc(value, func(r rune) bool { return r == '+' }) {
				dir := meta.DirLost
				if d != "reserved" {
					dir = kafka.TopicID{4, d[0] - '0', d[1] - '0'}
				}
				r.LogDirs = append(r.LogDirs, dir)
			}
		case key == "features":
			r.Features = []meta.Feature{}
			for _, f := range strings.FieldsFunc(value, func(r rune) bool { return r == '+' }) {
				name, levels, _ := strings.Cut(f, ":")
				lowest, highest, _ := strings.Cut(levels, "-")
				r.Features = append(r.Features, meta.Feature{Name: featureNamed(name), Min: int16(c.int(lowest)), Max: int16(c.int(highest))})
			}
		}
	}
	return r
}
