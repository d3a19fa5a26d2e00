// Package meter counts what a broker does: requests and their times by API, bytes and records by topic. It knows no names
// of metrics and no format; package exporter reads it out.
//
// Whoever serves a request counts into it without a lock and without an allocation: counters are atomic, a time is one
// bucket and one sum. A broker that nobody measures has no Meter: all methods of nil pointers do nothing, and no clock is
// read for them, so the simulator's executions are the same with this package and without it.
package meter

import (
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"trialog/core/kafka"
	"trialog/core/wire"
)

// Meter is the counters of one broker.
type Meter struct {
	All  Topic // over all topics, those that were deleted included
	apis [wire.KeyMax + 1]*API
}

// New makes a Meter for every API of the version table.
func New() *Meter {
	m := &Meter{}
	for _, a := range wire.APIs() {
		m.apis[a.Key] = &API{Name: a.Name}
	}
	return m
}

// API is the counters of one key; nil if there is no Meter.
func (m *Meter) API(key int16) *API {
	if m == nil || key < 0 || int(key) >= len(m.apis) {
		return nil
	}
	return m.apis[key]
}

// APIs is all of them, by key; none if there is no Meter.
func (m *Meter) APIs() []*API {
	var all []*API
	for key := range wire.KeyMax + 1 {
		if a := m.API(key); a != nil {
			all = append(all, a)
		}
	}
	return all
}

// NewTopic makes the counters of a topic; nil if there is no Meter.
func (m *Meter) NewTopic() *Topic {
	if m == nil {
		return nil
	}
	return &Topic{}
}

// Topic is what was written to and read from a topic. Each partition of a request counts as a request, as in Kafka.
type Topic struct {
	Messages, BytesIn, BytesOut   atomic.Int64
	Produces, Fetches             atomic.Int64
	FailedProduces, FailedFetches atomic.Int64
}

// Produced counts one partition of a Produce request to a topic. As in Kafka, what is appended counts as it was sent, a
// batch that turns out to be a duplicate too, and requests to partitions that do not exist count nowhere.
func (m *Meter) Produced(t *Topic, code kafka.ErrorCode, records int32, bytes int) {
	if m == nil {
		return
	}
	m.All.produced(code, records, bytes)
	t.produced(code, records, bytes)
}

func (t *Topic) produced(code kafka.ErrorCode, records int32, bytes int) {
	t.Produces.Add(1)
	if code == kafka.ErrNone {
		t.Messages.Add(int64(records))
		t.BytesIn.Add(int64(bytes))
	} else if unexpectedProduce(code) {
		t.FailedProduces.Add(1)
	}
}

// unexpectedProduce reports the errors that Kafka counts as failures: not those that clients cause as a matter of course.
func unexpectedProduce(code kafka.ErrorCode) bool {
	switch code {
	case kafka.ErrUnknownTopicOrPartition, kafka.ErrNotLeaderOrFollower, kafka.ErrMessageTooLarge, kafka.ErrRecordListTooLarge,
		kafka.ErrCorruptMessage, kafka.ErrKafkaStorageError:
		return false
	}
	return true
}

// Fetched counts one partition of a Fetch request to a topic, whose answer has so many bytes of records.
func (m *Meter) Fetched(t *Topic, code kafka.ErrorCode, bytes int) {
	if m == nil {
		return
	}
	m.All.fetched(code, bytes)
	t.fetched(code, bytes)
}

func (t *Topic) fetched(code kafka.ErrorCode, bytes int) {
	t.Fetches.Add(1)
	t.BytesOut.Add(int64(bytes))
	if unexpectedFetch(code) {
		t.FailedFetches.Add(1)
	}
}

func unexpectedFetch(code kafka.ErrorCode) bool {
	switch code {
	case kafka.ErrNone, kafka.ErrUnknownTopicOrPartition, kafka.ErrNotLeaderOrFollower, kafka.ErrUnknownLeaderEpoch,
		kafka.ErrFencedLeaderEpoch, kafka.ErrReplicaNotAvailable, kafka.ErrKafkaStorageError, kafka.ErrInconsistentTopicID,
		kafka.ErrOffsetOutOfRange:
		return false
	}
	return true
}

const (
	versionsMax = 24  // of one API
	codesMax    = 160 // error codes, from UNKNOWN_SERVER_ERROR (-1) on
)

// API is the requests of one key.
type API struct {
	Name string

	// Queue is the wait for a place among queued.max.requests, Local the handler, Remote the wait for data, a flush or
	// replicas, ResponseQueue the wait for earlier answers of the connection, Send the writing, Total all of it, from the
	// last byte of the request on. In ns.
	Queue, Local, Remote, ResponseQueue, Send, Total Histogram

	// Delayed is the answers that wait for something now.
	Delayed atomic.Int64

	versions [versionsMax]atomic.Int64
	errors   [codesMax]atomic.Int64
}

// Request counts one request of a version.
func (a *API) Request(version int16) {
	if a != nil {
		a.versions[min(max(version, 0), versionsMax-1)].Add(1)
	}
}

// Requests calls each for the versions that were asked in.
func (a *API) Requests(each func(version int, n int64)) {
	for v := range a.versions {
		if n := a.versions[v].Load(); n > 0 {
			each(v, n)
		}
	}
}

// Error counts one error code of an answer; answers without errors have NONE, as in Kafka.
func (a *API) Error(code int16) {
	if a != nil {
		a.errors[min(max(int(code)+1, 0), codesMax-1)].Add(1)
	}
}

// Errors calls each for the codes that were answered.
func (a *API) Errors(each func(code kafka.ErrorCode, n int64)) {
	for i := range a.errors {
		if n := a.errors[i].Load(); n > 0 {
			each(kafka.ErrorCode(i-1), n)
		}
	}
}

// Answer counts every error code of a response, which is a pointer to a struct as kmsg has them; one that has no code
// counts as NONE. It takes a while: hot requests count on their own.
func (a *API) Answer(response any) {
	if a == nil {
		return
	}
	if v := reflect.ValueOf(response).Elem(); a.count(v, shapeOf(v.Type())) == 0 {
		a.Error(0)
	}
}

// shape is where a type of struct has error codes: in its own fields, and in the structs inside.
type shape struct {
	codes  []int
	inside []inside
}

// inside is a field that is a struct, or a slice of structs, with error codes.
type inside struct {
	field int
	slice bool
	*shape
}

var shapes sync.Map // reflect.Type -> *shape

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := new(shape)
	for i := range t.NumField() {
		f := t.Field(i)
		in := inside{field: i, slice: f.Type.Kind() == reflect.Slice}
		of := f.Type
		if in.slice {
			of = f.Type.Elem()
		}
		if f.Name == "ErrorCode" {
			s.codes = append(s.codes, i)
		} else if of.Kind() == reflect.Struct {
			if in.shape = shapeOf(of); len(in.codes)+len(in.inside) > 0 {
				s.inside = append(s.inside, in)
			}
		}
	}
	shapes.Store(t, s)
	return s
}

func (a *API) count(v reflect.Value, s *shape) (codes int) {
	for _, i := range s.codes {
		a.Error(int16(v.Field(i).Int()))
		codes++
	}
	for _, in := range s.inside {
		f := v.Field(in.field)
		if !in.slice {
			codes += a.count(f, in.shape)
			continue
		}
		for j := range f.Len() {
			codes += a.count(f.Index(j), in.shape)
		}
	}
	return codes
}

// Timing is one request on its way, in ns of one monotonic clock. Without an API it measures nothing.
type Timing struct {
	API      *API
	Received int64 // the request had come whole
	Handled  int64 // the handler had returned
}

// Sent ends the way of a request whose answer had its turn, was ready, and was sent at these times.
func (t *Timing) Sent(turn, ready, sent int64) {
	if t.API == nil {
		return
	}
	t.API.ResponseQueue.Observe(turn - t.Handled)
	t.API.Remote.Observe(ready - turn)
	t.API.Send.Observe(sent - ready)
	t.API.Total.Observe(sent - t.Received)
}

// window is how long a half of a histogram is filled, if it is read that often.
const window = time.Minute
