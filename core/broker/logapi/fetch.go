package logapi

import (
	"errors"
	"log/slog"
	"sync"

	"trialog/core/broker/partition"
	"trialog/core/broker/serve"
	"trialog/core/kafka"
	"trialog/core/seglog"
	"trialog/core/wire"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchAnswer is a Fetch request with what was found for it. It is reused.
type fetchAnswer struct {
	api         *API
	log         *slog.Logger
	req         *kmsg.FetchRequest
	correlation int32
	frame       wire.Frame // kept while the answer waits
	layout      wire.FetchResponse
	reader      kafka.NodeID
	minimum     int
	maximum     int

	parts   []fetchPart // of all topics, in request order
	watches []partition.Watch
	code    kafka.ErrorCode
	until   int64
}

// fetchPart is what one partition of the request yields.
type fetchPart struct {
	partition *partition.Partition // nil: unknown
	out       wire.FetchPartition
	slice     seglog.Slice
	more      bool // there is more than the slice, so waiting brings nothing
}

// fetchPending is an answer that waits for min_bytes.
type fetchPending struct{ *fetchAnswer }

var fetchAnswers = sync.Pool{New: func() any { return new(fetchAnswer) }}

// Fetch answers with record bytes that stay in their files until they are sent.
// It knows no fetch sessions (KIP-227): every request is a full one, the session
// id of every response is 0.
func (a *API) Fetch(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	fa := fetchAnswers.Get().(*fetchAnswer)
	fa.api, fa.req = a, decoded.(*kmsg.FetchRequest)
	fa.log, fa.correlation = rq.Log, rq.Header.CorrelationID
	fa.prepare()
	if fa.code != kafka.ErrNone || fa.collect() || fa.req.MaxWaitMillis <= 0 {
		fa.build()
		return fa, nil
	}
	fa.release()
	fa.frame = rq.TakeFrame()
	fa.until = rq.Now.MonoNs + nsOfMs(fa.req.MaxWaitMillis)
	return fetchPending{fa}, nil
}

// prepare reads what concerns the request as a whole.
func (fa *fetchAnswer) prepare() {
	req := fa.req
	fa.reader = req.ReplicaID
	if req.Version >= 15 {
		fa.reader = req.ReplicaState.ID
	}
	fa.code = kafka.ErrNone
	if req.SessionID != 0 && req.SessionEpoch > 0 {
		fa.code = kafka.ErrFetchSessionIDNotFound
		req.Topics = nil
	}
	fa.maximum = max(0, min(int(req.MaxBytes), fa.api.FetchMaxBytes))
	fa.minimum = min(int(req.MinBytes), fa.maximum)
}

// collect reads every partition once and reports whether the answer is complete:
// enough bytes, an error, a diverging log, no partitions, or bytes that waiting
// would not add to.
func (fa *fetchAnswer) collect() bool {
	fa.parts = fa.parts[:0]
	found, complete := 0, false
	for i := range fa.req.Topics {
		rt := &fa.req.Topics[i]
		topic := fa.topic(rt)
		for j := range rt.Partitions {
			fa.parts = append(fa.parts, fetchPart{})
			part := &fa.parts[len(fa.parts)-1]
			fa.read(part, topic, &rt.Partitions[j], found)
			found += part.slice.Len()
			complete = complete || part.out.ErrorCode != 0 || part.out.DivergingEpoch != -1 || part.more
		}
	}
	return complete || len(fa.parts) == 0 || found >= fa.minimum
}

func (fa *fetchAnswer) topic(rt *kmsg.FetchRequestTopic) *partition.Topic {
	if fa.req.Version >= fetchByID {
		return fa.api.Table.TopicByID(rt.TopicID)
	}
	return fa.api.Table.TopicNamed(rt.Topic)
}

// read fills one part. found is the bytes of the parts before: the first
// partition that has data ignores the byte limits and gives its first batch
// whole (KIP-74); later ones take what is left.
func (fa *fetchAnswer) read(part *fetchPart, topic *partition.Topic, rp *kmsg.FetchRequestTopicPartition, found int) {
	part.out = wire.FetchPartition{Index: rp.Partition, HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1, DivergingEpoch: -1}
	part.partition = topic.Partition(rp.Partition)
	p := part.partition
	if code := fa.check(topic, p, rp); code != kafka.ErrNone {
		part.fail(code, fa.req.Version)
		return
	}
	if fa.diverges(part, rp) {
		return
	}
	end := p.VisibleTo(fa.reader, fa.req.IsolationLevel)
	limit := max(0, min(int(rp.PartitionMaxBytes), fa.maximum-found))
	slice, err := p.Log().Read(rp.FetchOffset, limit, end, found == 0)
	if err != nil {
		part.fail(fa.readCode(p, err), fa.req.Version)
		return
	}
	part.slice = slice
	part.more = slice.EndsSegmentBefore(end)
	part.out.RecordBytes = slice.Len()
	part.describe()
}

// check is what can be refused without reading.
func (fa *fetchAnswer) check(topic *partition.Topic, p *partition.Partition, rp *kmsg.FetchRequestTopicPartition) kafka.ErrorCode {
	switch {
	case topic == nil && fa.req.Version >= fetchByID:
		return kafka.ErrUnknownTopicID
	case p == nil || p.State() == partition.Gone:
		return kafka.ErrUnknownTopicOrPartition
	case fa.reader >= 0:
		return kafka.ErrNotLeaderOrFollower // no such replica is assigned
	}
	return p.CheckEpoch(rp.CurrentLeaderEpoch)
}

// describe fills in the offsets of a partition that is served. The HW is read
// last, so that it is never below what the slice shows.
func (part *fetchPart) describe() {
	p := part.partition
	part.out.LogStartOffset = p.Log().StartOffset()
	part.out.LastStableOffset = p.LastStable()
	part.out.HighWatermark = p.HighWatermark()
}

func (part *fetchPart) fail(code kafka.ErrorCode, version int16) {
	if code == kafka.ErrKafkaStorageError && version <= 5 {
		code = kafka.ErrNotLeaderOrFollower // older clients do not know 56
	}
	part.out.ErrorCode = int16(code)
}

func (fa *fetchAnswer) readCode(p *partition.Partition, err error) kafka.ErrorCode {
	switch {
	case errors.Is(err, kafka.ErrOffsetOutOfRange):
		return kafka.ErrOffsetOutOfRange
	case errors.Is(err, seglog.ErrClosed):
		return kafka.ErrNotLeaderOrFollower
	}
	fa.log.Error("fetch failed", "partition", p.Name().String(), "err", err)
	if errors.Is(err, seglog.ErrCorrupt) {
		return kafka.ErrCorruptMessage
	}
	return kafka.ErrKafkaStorageError
}

// diverges compares the epoch of the record before the fetch offset, which
// readers of v12 may send, with the log (KIP-595).
func (fa *fetchAnswer) diverges(part *fetchPart, rp *kmsg.FetchRequestTopicPartition) bool {
	if fa.req.Version < 12 || rp.LastFetchedEpoch < 0 {
		return false
	}
	log := part.partition.Log()
	if rp.FetchOffset < log.StartOffset() {
		return false // out of range: Read says so
	}
	epoch, end := log.EpochEndOffset(rp.LastFetchedEpoch)
	switch {
	case end < 0:
		part.fail(kafka.ErrOffsetOutOfRange, fa.req.Version)
		return true
	case epoch == rp.LastFetchedEpoch && end >= rp.FetchOffset:
		return false
	}
	part.out.DivergingEpoch, part.out.DivergingEndOffset = epoch, end
	part.describe()
	return true
}

// build lays the response out.
func (fa *fetchAnswer) build() {
	fa.layout.Begin(fa.req.Version, fa.correlation, int16(fa.code), 0, len(fa.req.Topics))
	next := 0
	for i := range fa.req.Topics {
		rt := &fa.req.Topics[i]
		fa.layout.Topic(rt.Topic, rt.TopicID, len(rt.Partitions))
		for range rt.Partitions {
			fa.layout.Partition(&fa.parts[next].out)
			next++
		}
	}
	fa.layout.End()
}

// Send writes the response: memory and file bytes by turns. Once the size is out
// nothing may be missing, so an error ends the connection (L21).
func (fa *fetchAnswer) Send(to *serve.Sink) error {
	to.Begin(fa.layout.Size())
	err := fa.send(to)
	if err == nil {
		err = to.End()
	} else {
		to.Abort()
	}
	fa.Drop()
	return err
}

func (fa *fetchAnswer) send(to *serve.Sink) error {
	buf, at, cut := fa.layout.Buf, 0, 0
	for i := range fa.parts {
		part := &fa.parts[i]
		if part.out.RecordBytes == 0 {
			continue
		}
		c := fa.layout.Cuts[cut]
		if err := to.Write(buf[at:c.At]); err != nil {
			return err
		}
		if err := to.CopyRegion(&part.slice, c.Len); err != nil {
			return err
		}
		at, cut = c.At, cut+1
	}
	return to.Write(buf[at:])
}

// release closes the slices.
func (fa *fetchAnswer) release() {
	for i := range fa.parts {
		fa.parts[i].slice.Close()
		fa.parts[i] = fetchPart{}
	}
	fa.parts = fa.parts[:0]
}

// Drop gives everything back.
func (fa *fetchAnswer) Drop() {
	fa.release()
	fa.frame.Release()
	layout, parts, watches := fa.layout, fa.parts, fa.watches
	if cap(parts) > chargeFrom*16 {
		layout, parts, watches = wire.FetchResponse{}, nil, nil
	}
	*fa = fetchAnswer{layout: layout, parts: parts, watches: watches[:0]}
	fetchAnswers.Put(fa)
}

// Arm watches every partition for progress beyond what there is now, then reads
// again.
func (fa fetchPending) Arm(waker *serve.Waker) bool {
	n := 0
	for i := range fa.req.Topics {
		n += len(fa.req.Topics[i].Partitions)
	}
	if cap(fa.watches) < n {
		fa.watches = make([]partition.Watch, 0, n)
	}
	fa.watches = fa.watches[:0]
	for i := range fa.req.Topics {
		rt := &fa.req.Topics[i]
		topic := fa.topic(rt)
		for j := range rt.Partitions {
			p := topic.Partition(rt.Partitions[j].Partition)
			if p == nil {
				continue
			}
			fa.watches = append(fa.watches, partition.Watch{})
			at := max(p.Progress(partition.Visible), rt.Partitions[j].FetchOffset) + 1
			p.Watch(&fa.watches[len(fa.watches)-1], partition.Visible, at, waker)
		}
	}
	if fa.collect() {
		return true
	}
	fa.release()
	return false
}

// Disarm takes the watches back.
func (fa fetchPending) Disarm() {
	for i := range fa.watches {
		fa.watches[i].Stop()
	}
	fa.watches = fa.watches[:0]
}

// Deadline is the request's max_wait.
func (fa fetchPending) Deadline() int64 { return fa.until }

// Impatient is true: a fetch that ends early loses nothing.
func (fa fetchPending) Impatient() bool { return true }

// Resolve answers with what there is.
func (fa fetchPending) Resolve(why serve.Reason) {
	if why != serve.Ready {
		fa.collect()
	}
	fa.build()
}

var _ serve.Pending = fetchPending{}
