package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/client/retry"
	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
)

// FetchConfig says how much a fetch asks for and how long it may wait for it. Names in brackets are Kafka's.
type FetchConfig struct {
	MinBytes       int32         // the broker answers as soon as it has so many [fetch.min.bytes]; 0: 1
	MaxBytes       int32         // of one response; a batch that is larger comes alone [fetch.max.bytes]; 0: 8 MiB
	PartitionBytes int32         // of one partition [max.partition.fetch.bytes]; 0: 1 MiB
	MaxWait        time.Duration // for MinBytes [fetch.max.wait.ms]; 0: 500 ms; negative: do not wait
	ReadCommitted  bool          // [isolation.level]

	// UncompressedBytes bounds what the batches of one partition may be uncompressed; 0: 256 MiB. What comes behind so much
	// is left to the next fetch; one batch over it is MESSAGE_TOO_LARGE. Kafka's clients have no such bound, and its brokers
	// accept what producers send; ours refuses batches over 100 MiB.
	UncompressedBytes int64
}

func (c FetchConfig) withDefaults() FetchConfig {
	if c.MinBytes == 0 {
		c.MinBytes = 1
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = 8 << 20
	}
	if c.PartitionBytes == 0 {
		c.PartitionBytes = 1 << 20
	}
	if c.MaxWait == 0 {
		c.MaxWait = 500 * time.Millisecond
	}
	c.MaxWait = max(c.MaxWait, 0)
	if c.UncompressedBytes == 0 {
		c.UncompressedBytes = 256 << 20
	}
	return c
}

// Position is where to read a partition.
type Position struct {
	Topic     string
	Partition int32
	Offset    int64
}

func (p Position) tp() kafka.TopicPartition {
	return kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
}

// Fetched is what one fetch brought for one partition.
type Fetched struct {
	Position      // as asked
	Records       []Record
	Next          int64  // where to go on: past every batch that was read, control batches included; the asked offset if nothing was
	HighWatermark int64  // -1 unknown
	LastStable    int64  // -1 unknown
	LogStart      int64  // -1 unknown
	Bytes         int    // of batches in the answer
	Corrupt       string // what is wrong with them; "" if nothing
	Err           error  // an *Error, always Failed: a read has no effect

	size int64 // of Records, about, in bytes
}

// Fetch reads each position once, with one request to each leader. The results are in the order of the positions, of
// which each partition may have only one.
//
// Corrupt is set when bytes that the broker served are not sound batches: a wrong CRC, a wrong size or magic, records
// that do not decompress or parse. The records before the damage are in Records, Next stays in front of it. A last batch that is cut
// short is not damage (brokers cut at a number of bytes), unless it is the first: that one comes whole (KIP-74).
func (c *Client) Fetch(ctx context.Context, cfg FetchConfig, positions []Position) []Fetched {
	cfg = cfg.withDefaults()
	out := make([]Fetched, len(positions))
	var groups []*fetchGroup
	for i, p := range positions {
		out[i] = Fetched{Position: p, Next: p.Offset, HighWatermark: -1, LastStable: -1, LogStart: -1}
		at, err := c.leaderOf(ctx, "fetch", p.tp())
		if err != nil {
			out[i].Err = err
			continue
		}
		groups = addToGroup(groups, at, i)
	}
	if len(groups) == 1 {
		c.fetchFrom(cfg, groups[0], out)
		return out
	}
	var all sync.WaitGroup
	for _, g := range groups {
		all.Go(func() { c.fetchFrom(cfg, g, out) })
	}
	all.Wait()
	return out
}

// fetchGroup is the positions (by index) that one leader serves.
type fetchGroup struct {
	addr    string
	indexes []int
	leaders []leader // beside indexes
}

func addToGroup(groups []*fetchGroup, at leader, index int) []*fetchGroup {
	for _, g := range groups {
		if g.addr == at.addr {
			g.indexes, g.leaders = append(g.indexes, index), append(g.leaders, at)
			return groups
		}
	}
	return append(groups, &fetchGroup{addr: at.addr, indexes: []int{index}, leaders: []leader{at}})
}

// fetchFrom does one request and fills in the results of its group.
func (c *Client) fetchFrom(cfg FetchConfig, g *fetchGroup, out []Fetched) {
	resp, err := c.fetchRequest(cfg, g, out)
	for i, index := range g.indexes {
		f := &out[index]
		at := g.leaders[i]
		if err != nil {
			c.stale(f.tp(), at.generation)
			e := err.in("fetch", f.tp().String())
			e.Outcome = Failed
			f.Err = e
			continue
		}
		c.take(f, resp, at, cfg.UncompressedBytes)
	}
}

func (c *Client) fetchRequest(cfg FetchConfig, g *fetchGroup, out []Fetched) (*kmsg.FetchResponse, *transportError) {
	conn, err := c.connect(g.addr, forFetch)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrFetchRequest()
	if err := conn.version(req); err != nil {
		return nil, err
	}
	req.MaxWaitMillis = int32(cfg.MaxWait.Milliseconds())
	req.MinBytes, req.MaxBytes = cfg.MinBytes, cfg.MaxBytes
	if cfg.ReadCommitted {
		req.IsolationLevel = kafka.ReadCommitted
	}
	req.SessionEpoch = -1
	for i, index := range g.indexes {
		if id := g.leaders[i].topicID; req.Version > 12 && id.IsZero() {
			req.Version = 12 // the broker gives no topic ids: name topics by name
		}
		appendFetchPartition(req, &out[index], g.leaders[i], cfg.PartitionBytes)
	}
	resp, err := conn.roundTrip(req, c.cfg.RequestTimeout+cfg.MaxWait)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.FetchResponse), nil
}

// appendFetchPartition adds a position to its topic's entry.
func appendFetchPartition(req *kmsg.FetchRequest, f *Fetched, at leader, bytes int32) {
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = f.Partition, f.Offset, bytes
	part.CurrentLeaderEpoch = at.epoch
	for i := range req.Topics {
		if req.Topics[i].Topic == f.Topic {
			req.Topics[i].Partitions = append(req.Topics[i].Partitions, part)
			return
		}
	}
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = f.Topic, at.topicID
	topic.Partitions = []kmsg.FetchRequestTopicPartition{part}
	req.Topics = append(req.Topics, topic)
}

// take fills in one result from the response.
func (c *Client) take(f *Fetched, resp *kmsg.FetchResponse, at leader, uncompressed int64) {
	fail := func(e *Error) {
		e.Outcome = Failed
		f.Err = e
	}
	target := f.tp().String()
	p := partitionIn(resp, f, at)
	switch code := kafka.ErrorCode(resp.ErrorCode); {
	case code != kafka.ErrNone:
		fail(answered("fetch", target, code, nil))
		return
	case p == nil:
		fail(lost("fetch", target, NameConnectionLost, errUnmentioned))
		return
	}
	f.HighWatermark, f.LastStable, f.LogStart = p.HighWatermark, p.LastStableOffset, p.LogStartOffset
	if code := kafka.ErrorCode(p.ErrorCode); code != kafka.ErrNone {
		if retry.Refreshes(code) {
			c.stale(f.tp(), at.generation)
		}
		fail(answered("fetch", target, code, nil))
		return
	}
	f.read(p.RecordBatches, uncompressed)
}

func partitionIn(resp *kmsg.FetchResponse, f *Fetched, at leader) *kmsg.FetchResponseTopicPartition {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if resp.Version > 12 && kafka.TopicID(t.TopicID) != at.topicID || resp.Version <= 12 && t.Topic != f.Topic {
			continue
		}
		for j := range t.Partitions {
			if t.Partitions[j].Partition == f.Partition {
				return &t.Partitions[j]
			}
		}
	}
	return nil
}

// read checks the batches and takes their records from the asked offset on, until it has about so many bytes of them.
func (f *Fetched) read(batches []byte, uncompressed int64) {
	f.Bytes = len(batches)
	f.Records = make([]Record, 0, countOf(batches))
	it := record.NewBatches(batches)
	for it.Next() {
		h := it.Header()
		if _, err := record.Validate(it.Batch()); err != nil {
			f.corrupt(h.BaseOffset, err)
			return
		}
		if f.size >= uncompressed {
			return
		}
		if h.NextOffset() <= f.Offset {
			continue // the log is searched by an index that is sparse
		}
		if !h.IsControl() && !f.readRecords(it.Batch(), h.BaseOffset, uncompressed) {
			return
		}
		f.Next = max(f.Next, h.NextOffset()) // NB: offsets that go back are handed on, for the caller to judge
	}
	if err := it.Err(); err != nil {
		f.corrupt(f.Next, err)
	} else if it.Position() == 0 && len(batches) > 0 {
		f.corrupt(f.Next, fmt.Errorf("the first batch is cut short: %d bytes", len(batches)))
	}
}

// countOf is how many records the batches say that they hold, but no more than so many bytes can if none is compressed:
// nobody has checked them yet.
func countOf(batches []byte) int {
	const least = 8 // bytes of a record
	n := 0
	for it := record.NewBatches(batches); it.Next(); {
		n += int(max(it.Header().Count, 0))
	}
	return min(n, len(batches)/least)
}

func (f *Fetched) corrupt(offset int64, err error) {
	f.Corrupt = fmt.Sprintf("batch at offset %d: %v", offset, err)
}

// readRecords takes the records of one sound batch; false if they cannot be read.
func (f *Fetched) readRecords(batch []byte, base, uncompressed int64) bool {
	before := len(f.Records)
	it, err := codec.Records(batch, uncompressed)
	if errors.Is(err, codec.ErrTooLarge) {
		f.Err = unsent("fetch", f.tp().String(), kafka.ErrMessageTooLarge.String(), fmt.Errorf("batch at offset %d: %w", base, err))
		return false
	}
	head := it.Header()
	for err == nil && it.Next() {
		r := it.Record()
		if r.Offset < f.Offset {
			continue
		}
		got := Record{Offset: r.Offset, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value, LeaderEpoch: head.LeaderEpoch, LogAppendTime: head.IsLogAppendTime()}
		f.size += int64(len(r.Key) + len(r.Value))
		if r.HeaderCount() > 0 {
			got.Headers = r.AppendHeaders(nil)
		}
		f.Records = append(f.Records, got)
	}
	if err == nil {
		err = it.Err()
	}
	if err != nil {
		f.Records = f.Records[:before]
		f.corrupt(base, err)
	}
	return err == nil
}
