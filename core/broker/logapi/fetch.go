package logapi

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"trialog/core/broker/fetchsession"
	"trialog/core/broker/meter"
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
	frame       wire.Frame // kept while the answer waits, and of wide requests until it has left
	layout      wire.FetchResponse
	reader      kafka.NodeID
	minimum     int
	maximum     int

	session *fetchsession.Session // of an incremental request
	create  bool                  // a session is asked for
	queued  *fetchsession.Session // where an earlier request is not answered: begin later
	began   kafka.Now
	gone    <-chan struct{} // of the connection

	wants   []fetchsession.Want // what to read, in order
	all     []fetchsession.Want // room for what a session has
	parts   []fetchPart         // one for each
	said    []fetchsession.Said
	include []bool // of an incremental answer
	watches []partition.Watch
	code    kafka.ErrorCode
	until   int64
}

// fetchPart is what one partition of the request yields.
type fetchPart struct {
	partition *partition.Partition // nil: unknown
	meter     *meter.Topic
	out       wire.FetchPartition
	slice     seglog.Slice
	more      bool // there is more than the slice, so waiting brings nothing
}

// fetchPending is an answer that waits for min_bytes.
type fetchPending struct{ *fetchAnswer }

var fetchAnswers = sync.Pool{New: func() any { return new(fetchAnswer) }}

// fetchEntryBytes is the memory of one partition of a Fetch, for the budget.
const fetchEntryBytes = 512

// Bounds of max_wait. Nobody reads a connection whose first answer waits and whose
// pipeline is full: that its peer is gone is seen when the wait ends. An answer
// without records that comes early is one as well.
const (
	waitMaxNs     = int64(5 * 60e9)
	wideWaitMaxNs = int64(30e9) // of a request that holds much memory
	wideBytes     = 16 << 10    // frames of this size do
)

// Fetch answers with record bytes that stay in their files until they are sent.
func (a *API) Fetch(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	fa := fetchAnswers.Get().(*fetchAnswer)
	fa.api, fa.req = a, decoded.(*kmsg.FetchRequest)
	fa.log, fa.correlation, fa.began = rq.Log, rq.Header.CorrelationID, rq.Now
	fa.until = rq.Now.MonoNs + min(nsOfMs(fa.req.MaxWaitMillis), waitMaxNs)
	if len(rq.Body) >= wideBytes {
		fa.hasten()
	}
	fa.prepare()
	fa.gone = rq.Gone()
	if fa.queued != nil {
		fa.frame = rq.TakeFrame()
		return fetchPending{fa}, nil
	}
	if n := fa.size(); n >= chargeFrom {
		fa.frame = rq.TakeFrame()
		if !fa.charge(n) {
			fa.Drop()
			return nil, fmt.Errorf("broker: fetch of %d partitions: %w", n, wire.ErrBudget)
		}
	}
	fa.begin()
	if fa.code != kafka.ErrNone || fa.collect() || fa.req.MaxWaitMillis <= 0 {
		fa.build()
		return fa, nil
	}
	fa.release()
	if fa.frame.Buf == nil {
		fa.frame = rq.TakeFrame()
	}
	return fetchPending{fa}, nil
}

// size is how many partitions the request and its session name, as far as is known before it begins.
func (fa *fetchAnswer) size() (n int) {
	for i := range fa.req.Topics {
		n += len(fa.req.Topics[i].Partitions)
	}
	if fa.incremental() {
		n += fa.api.Sessions.Size(fa.req.SessionID)
	}
	return n
}

// charge counts a wide request, or one of a wide session, against the request memory, before anything is made of it: a few
// bytes may ask for all that a session has.
func (fa *fetchAnswer) charge(n int) bool {
	if n < chargeFrom {
		return true
	}
	fa.hasten()
	return fa.frame.Charge(int64(n)*fetchEntryBytes, fa.gone)
}

// hasten bounds the wait of a request that holds much memory meanwhile.
func (fa *fetchAnswer) hasten() { fa.until = min(fa.until, fa.began.MonoNs+wideWaitMaxNs) }

// prepare reads what concerns the request as a whole.
func (fa *fetchAnswer) prepare() {
	req := fa.req
	fa.reader = req.ReplicaID
	if req.Version >= 15 {
		fa.reader = req.ReplicaState.ID
	}
	fa.code = kafka.ErrNone
	fa.maximum = max(0, min(int(req.MaxBytes), fa.api.FetchMaxBytes))
	fa.minimum = min(int(req.MinBytes), fa.maximum)
	if fa.incremental() {
		if s := fa.api.Sessions.Find(req.SessionID); s != nil && s.Queue() {
			fa.queued = s
		}
	}
}

// collect reads every partition once and reports whether the answer is complete:
// enough bytes, an error, a diverging log, no partitions, or bytes that waiting
// would not add to.
func (fa *fetchAnswer) collect() bool {
	fa.parts = fa.parts[:0]
	found, complete := 0, false
	var topic *partition.Topic
	for i := range fa.wants {
		w := &fa.wants[i]
		if i == 0 || !sameTopic(w, &fa.wants[i-1]) {
			topic = fa.topic(w)
		}
		fa.parts = append(fa.parts, fetchPart{})
		part := &fa.parts[len(fa.parts)-1]
		fa.read(part, topic, w, found)
		found += part.slice.Len()
		complete = complete || part.out.ErrorCode != 0 || part.out.DivergingEpoch != -1 || part.more
	}
	return complete || len(fa.parts) == 0 || found >= fa.minimum
}

func sameTopic(a, b *fetchsession.Want) bool { return a.Topic == b.Topic && a.ID == b.ID }

func (fa *fetchAnswer) topic(w *fetchsession.Want) *partition.Topic {
	if fa.req.Version >= fetchByID {
		return fa.api.Table.TopicByID(w.ID)
	}
	return fa.api.Table.TopicNamed(w.Topic)
}

// read fills one part. found is the bytes of the parts before: the first
// partition that has data ignores the byte limits and gives its first batch
// whole (KIP-74); later ones take what is left.
func (fa *fetchAnswer) read(part *fetchPart, topic *partition.Topic, w *fetchsession.Want, found int) {
	part.out = wire.FetchPartition{Index: w.Partition, HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1, DivergingEpoch: -1}
	part.partition = topic.Partition(w.Partition)
	if part.partition != nil {
		part.meter = topic.Meter
	}
	p := part.partition
	if code := fa.check(topic, p, w); code != kafka.ErrNone {
		part.fail(code, fa.req.Version)
		return
	}
	if fa.diverges(part, w) {
		return
	}
	end := p.VisibleTo(fa.reader, fa.req.IsolationLevel)
	limit := max(0, min(int(w.MaxBytes), fa.maximum-found))
	slice, err := p.Log().Read(w.FetchOffset, limit, end, found == 0)
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
func (fa *fetchAnswer) check(topic *partition.Topic, p *partition.Partition, w *fetchsession.Want) kafka.ErrorCode {
	_, missing := topic.Find(w.Partition)
	switch {
	case topic == nil && fa.req.Version >= fetchByID:
		return kafka.ErrUnknownTopicID
	case missing != kafka.ErrNone:
		return missing
	case fa.reader >= 0:
		return kafka.ErrNotLeaderOrFollower // no such replica is assigned
	case fa.req.Version < fetchZstd && p.Settings().CompressionType == "zstd":
		return kafka.ErrUnsupportedCompressionType // the topic stores what such a consumer cannot read
	}
	return p.CheckEpoch(w.LeaderEpoch)
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
	p.CheckLog(err)
	fa.log.Error("fetch failed", "partition", p.Name().String(), "err", err)
	if errors.Is(err, seglog.ErrCorrupt) {
		return kafka.ErrCorruptMessage
	}
	return kafka.ErrKafkaStorageError
}

// diverges compares the epoch of the record before the fetch offset, which
// readers of v12 may send, with the log (KIP-595).
func (fa *fetchAnswer) diverges(part *fetchPart, w *fetchsession.Want) bool {
	if fa.req.Version < 12 || w.LastFetchedEpoch < 0 {
		return false
	}
	log := part.partition.Log()
	if w.FetchOffset < log.StartOffset() {
		return false // out of range: Read says so
	}
	epoch, end := log.EpochEndOffset(w.LastFetchedEpoch)
	switch {
	case end < 0:
		part.fail(kafka.ErrOffsetOutOfRange, fa.req.Version)
		return true
	case epoch == w.LastFetchedEpoch && end >= w.FetchOffset:
		return false
	}
	part.out.DivergingEpoch, part.out.DivergingEndOffset = epoch, end
	part.describe()
	return true
}

// build lays the response out: every partition, or those of an incremental
// answer that have news. Partitions of one topic that follow each other share an
// entry, whatever the request had.
func (fa *fetchAnswer) build() {
	id := fa.answerSession()
	if fa.code != kafka.ErrNone {
		fa.release() // a refused request has no partitions
	}
	parts := fa.parts
	api := fa.measure()
	fa.layout.Begin(fa.req.Version, fa.correlation, int16(fa.code), id, fa.runs(parts))
	for i := 0; i < len(parts); {
		n, end := fa.run(parts, i)
		if n > 0 {
			fa.layout.Topic(fa.wants[i].Topic, fa.wants[i].ID, n)
		}
		for ; i < end; i++ {
			if fa.includes(i) {
				api.Error(parts[i].out.ErrorCode)
				fa.layout.Partition(&parts[i].out)
			}
		}
	}
	fa.layout.End()
}

// measure counts what the answer holds; the errors of partitions are counted as they are laid out.
func (fa *fetchAnswer) measure() *meter.API {
	m := fa.api.Meter
	if m == nil {
		return nil
	}
	for i := range fa.parts {
		if part := &fa.parts[i]; part.partition != nil {
			m.Fetched(part.meter, kafka.ErrorCode(part.out.ErrorCode), part.out.RecordBytes)
		}
	}
	api := m.API(wire.KeyFetch)
	api.Error(int16(fa.code))
	return api
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
	if fa.session != nil {
		fa.session.Close()
	}
	if fa.queued != nil {
		fa.queued.Close()
	}
	next := fetchAnswer{layout: fa.layout, parts: fa.parts, watches: fa.watches[:0], said: fa.said[:0], include: fa.include[:0]}
	if max(cap(fa.parts), cap(fa.wants), cap(fa.all)) > chargeFrom*16 { // an unusually wide one does not stay in the pool
		next = fetchAnswer{}
	} else {
		clear(fa.wants) // their names
		clear(fa.all)
		next.wants, next.all = fa.wants[:0], fa.all[:0]
	}
	*fa = next
	fetchAnswers.Put(fa)
}

// Arm watches every partition for progress beyond what there is now, then reads
// again. A request that came while another of its session was not answered begins
// here, where that one has its answer: so it is handled after it, as in Kafka.
func (fa fetchPending) Arm(waker *serve.Waker) bool {
	if fa.queued != nil {
		if fa.charge(fa.size()) {
			fa.begin()
		} else {
			fa.code = kafka.ErrInvalidFetchSessionEpoch // its consumer begins anew
		}
		fa.queued.Close()
		fa.queued = nil
		if fa.code != kafka.ErrNone {
			return true
		}
	}
	if cap(fa.watches) < len(fa.wants) {
		fa.watches = make([]partition.Watch, 0, len(fa.wants))
	}
	fa.watches = fa.watches[:0]
	for i := range fa.wants {
		w := &fa.wants[i]
		p := fa.topic(w).Partition(w.Partition)
		if p == nil {
			continue
		}
		fa.watches = append(fa.watches, partition.Watch{})
		at := max(p.Progress(partition.Visible), w.FetchOffset) + 1
		p.Watch(&fa.watches[len(fa.watches)-1], partition.Visible, at, waker)
	}
	if fa.collect() || fa.req.MaxWaitMillis <= 0 {
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
	if why != serve.Ready && fa.code == kafka.ErrNone {
		fa.collect()
	}
	fa.build()
}

var _ serve.Pending = fetchPending{}
