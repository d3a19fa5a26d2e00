package client

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/kafka"
)

// PartitionInfo is what the cluster says of one partition.
type PartitionInfo struct {
	Partition   int32
	Leader      int32 // node id; -1 without a leader
	LeaderEpoch int32
	Replicas    []int32
	ISR         []int32
}

// TopicInfo is what the cluster says of one topic.
type TopicInfo struct {
	Name       string
	ID         kafka.TopicID // zero if the broker names none
	Internal   bool
	Partitions []PartitionInfo // by number
}

// partition finds a partition by its number; nil if the cluster named none such.
func (t *TopicInfo) partition(number int32) *PartitionInfo {
	for i := range t.Partitions {
		if t.Partitions[i].Partition == number {
			return &t.Partitions[i]
		}
	}
	return nil
}

// BrokerInfo is one live broker.
type BrokerInfo struct {
	Node int32
	Addr string // host:port as advertised
}

// metadata is the cache of who leads what. A generation counts refreshes, so that of several operations that met the
// same stale answer only the first asks again.
type metadata struct {
	refreshing sync.Mutex // held while one request for metadata is under way

	mu         sync.Mutex
	generation int64
	brokers    []BrokerInfo // by node
	topics     map[string]*topicEntry
	turn       int // which bootstrap address is next
}

type topicEntry struct {
	info       TopicInfo
	generation int64
	stale      bool
}

// leader is where to send what concerns one partition, and in which generation of the metadata that was so.
type leader struct {
	addr       string
	epoch      int32
	topicID    kafka.TopicID
	generation int64
}

// leaderOf answers from the cache, or asks the cluster when the cache has no leader for the partition or was told that
// its answer is stale. It makes one attempt: retrying is the caller's.
func (c *Client) leaderOf(ctx context.Context, op string, tp kafka.TopicPartition) (leader, *Error) {
	if l, ok := c.meta.leader(tp); ok {
		return l, nil
	}
	if _, err := c.refresh(ctx, op, tp.Topic, c.meta.current()); err != nil {
		return leader{}, err
	}
	if l, ok := c.meta.leader(tp); ok {
		return l, nil
	}
	if !c.meta.knows(tp) {
		return leader{}, unsentCode(op, tp.String(), kafka.ErrUnknownTopicOrPartition)
	}
	return leader{}, unsentCode(op, tp.String(), kafka.ErrLeaderNotAvailable)
}

// stale says that an answer of this generation turned out wrong: the next leaderOf asks again.
func (c *Client) stale(tp kafka.TopicPartition, generation int64) {
	c.meta.mu.Lock()
	defer c.meta.mu.Unlock()
	if e := c.meta.topics[tp.Topic]; e != nil && e.generation == generation {
		e.stale = true
	}
}

func (m *metadata) current() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.generation
}

func (m *metadata) knows(tp kafka.TopicPartition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.topics[tp.Topic]
	return e != nil && e.info.partition(tp.Partition) != nil
}

func (m *metadata) leader(tp kafka.TopicPartition) (leader, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.topics[tp.Topic]
	if e == nil || e.stale {
		return leader{}, false
	}
	p := e.info.partition(tp.Partition)
	if p == nil {
		return leader{}, false
	}
	for _, b := range m.brokers {
		if b.Node == p.Leader {
			return leader{addr: b.Addr, epoch: p.LeaderEpoch, topicID: e.info.ID, generation: e.generation}, true
		}
	}
	return leader{}, false
}

// refresh asks for one topic, unless somebody else's refresh since the generation seen has done so already.
func (c *Client) refresh(ctx context.Context, op, topic string, seen int64) (*kmsg.MetadataResponse, *Error) {
	c.meta.refreshing.Lock()
	defer c.meta.refreshing.Unlock()
	if c.meta.fresh(topic, seen) {
		return nil, nil
	}
	resp, err := c.askMetadata(ctx, op, []string{topic})
	if err != nil {
		return nil, err
	}
	c.meta.store(resp)
	for _, t := range resp.Topics {
		if code := kafka.ErrorCode(t.ErrorCode); code != kafka.ErrNone && t.Topic != nil && *t.Topic == topic {
			return nil, unsentCode(op, topic, code)
		}
	}
	return resp, nil
}

func (m *metadata) fresh(topic string, seen int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.topics[topic]
	return e != nil && !e.stale && e.generation > seen
}

// askMetadata asks the brokers it knows, then the bootstrap addresses, until one answers. nil topics asks for all.
func (c *Client) askMetadata(ctx context.Context, op string, topics []string) (*kmsg.MetadataResponse, *Error) {
	req := kmsg.NewPtrMetadataRequest()
	if topics != nil {
		req.Topics = []kmsg.MetadataRequestTopic{}
	}
	for _, t := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(t)
		req.Topics = append(req.Topics, rt)
	}
	resp, err := c.askAny(ctx, req)
	if err != nil {
		return nil, unsent(op, cmp.Or(strings.Join(topics, ","), "cluster"), err.name, err.err)
	}
	return resp.(*kmsg.MetadataResponse), nil
}

// askAny sends req to one broker after the other until one answers. Its error is that of the last attempt of which a
// byte may have left, if there was one: no later refused dial makes that undone.
func (c *Client) askAny(ctx context.Context, req kmsg.Request) (kmsg.Response, *transportError) {
	var last *transportError
	for _, addr := range c.meta.addresses(c.cfg.Bootstrap) {
		if ctx.Err() != nil {
			if last == nil || !last.sent {
				last = &transportError{name: NameNotSent, err: ctx.Err()}
			}
			return nil, last
		}
		resp, err := c.request(addr, forAdmin, req, c.cfg.RequestTimeout)
		if err == nil {
			return resp, nil
		}
		if last == nil || !last.sent || err.sent {
			last = err
		}
	}
	c.meta.mu.Lock()
	c.meta.turn++
	c.meta.mu.Unlock()
	return nil, last
}

// addresses lists known brokers, then bootstrap addresses that are not among them, each list turned by one after
// every round in which nobody answered.
func (m *metadata) addresses(bootstrap []string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for i := range m.brokers {
		all = append(all, m.brokers[(i+m.turn)%len(m.brokers)].Addr)
	}
	for i := range bootstrap {
		if a := bootstrap[(i+m.turn)%len(bootstrap)]; !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all
}

// store replaces the brokers and the topics that the answer mentions.
func (m *metadata) store(resp *kmsg.MetadataResponse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	m.brokers = brokersOf(resp)
	if m.topics == nil {
		m.topics = make(map[string]*topicEntry)
	}
	for _, t := range resp.Topics {
		if t.Topic == nil {
			continue
		}
		if t.ErrorCode != 0 {
			delete(m.topics, *t.Topic)
			continue
		}
		m.topics[*t.Topic] = &topicEntry{info: topicOf(&t), generation: m.generation}
	}
}

func brokersOf(resp *kmsg.MetadataResponse) []BrokerInfo {
	var brokers []BrokerInfo
	for _, b := range resp.Brokers {
		brokers = append(brokers, BrokerInfo{b.NodeID, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))})
	}
	sort.Slice(brokers, func(i, j int) bool { return brokers[i].Node < brokers[j].Node })
	return brokers
}

func topicOf(t *kmsg.MetadataResponseTopic) TopicInfo {
	info := TopicInfo{Name: *t.Topic, ID: t.TopicID, Internal: t.IsInternal}
	for _, p := range t.Partitions {
		info.Partitions = append(info.Partitions, PartitionInfo{p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR})
	}
	sort.Slice(info.Partitions, func(i, j int) bool { return info.Partitions[i].Partition < info.Partitions[j].Partition })
	return info
}

// unsentCode is a definite failure that metadata foretold: the operation itself was not sent.
func unsentCode(op, target string, code kafka.ErrorCode) *Error {
	return &Error{Op: op, Target: target, Outcome: Failed, Code: code, Err: errors.New("by the cluster's metadata")}
}

// pause waits d or until ctx ends; false if it ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
