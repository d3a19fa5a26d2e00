package client

import (
	"context"

	"trialog/core/kafka"
)

// Consumer reads assigned partitions from where it stands. It is not safe for concurrent use.
type Consumer struct {
	c         *Client
	cfg       FetchConfig
	positions []Position
	failures  int // polls in a row that brought nothing but errors
}

// NewConsumer returns a consumer without partitions.
func (c *Client) NewConsumer(cfg FetchConfig) *Consumer { return &Consumer{c: c, cfg: cfg} }

// Assign adds a partition, or moves to another offset in one that is assigned.
func (co *Consumer) Assign(p Position) {
	for i := range co.positions {
		if co.positions[i].tp() == p.tp() {
			co.positions[i].Offset = p.Offset
			return
		}
	}
	co.positions = append(co.positions, p)
}

// Unassign takes a partition away.
func (co *Consumer) Unassign(topic string, partition int32) {
	for i, p := range co.positions {
		if p.tp() == (kafka.TopicPartition{Topic: topic, Partition: partition}) {
			co.positions = append(co.positions[:i:i], co.positions[i+1:]...)
			return
		}
	}
}

// Poll fetches every assigned partition once and moves behind what it brought. Errors and damage stay in the results,
// and the position stays in front of them; after a poll of nothing but errors the next one is preceded by a pause.
func (co *Consumer) Poll(ctx context.Context) []Fetched {
	if co.failures > 0 && !pause(ctx, co.c.cfg.backoff(co.failures)) {
		return nil
	}
	results := co.c.Fetch(ctx, co.cfg, co.positions)
	// A consumer that moves on brings the partition it read to the end of the next request, so that a full response
	// does not starve the others.
	var served, hungry []Position
	failed := 0
	for _, f := range results {
		p := Position{f.Topic, f.Partition, f.Next}
		if len(f.Records) > 0 {
			served = append(served, p)
		} else {
			hungry = append(hungry, p)
		}
		if f.Err != nil || f.Corrupt != "" {
			failed++
		}
	}
	co.positions = append(hungry, served...)
	if failed > 0 && failed == len(results) {
		co.failures++
	} else {
		co.failures = 0
	}
	return results
}
