package fetchsession

import (
	"math"
	"slices"
	"sync"

	"trialog/core/kafka"
)

// Epochs of a request that are none of a session, with Kafka's numbers.
const (
	Initial int32 = 0  // a full request that asks for a session
	Final   int32 = -1 // a full request that ends its session, if it has one
)

// Key names a partition: by topic name, or by topic id in versions that know ids.
type Key struct {
	Topic     string
	ID        kafka.TopicID
	Partition kafka.PartitionID
}

// Want is what a consumer wants of a partition.
type Want struct {
	Key
	FetchOffset      kafka.Offset
	MaxBytes         int32
	LeaderEpoch      kafka.LeaderEpoch
	LastFetchedEpoch kafka.LeaderEpoch
}

// Said is what an answer says of a partition.
type Said struct {
	HighWatermark  kafka.Offset
	LogStartOffset kafka.Offset
	Bytes          int
	Error          bool // an error code, or a diverging epoch
}

// Session is what one consumer fetches.
type Session struct {
	id   int32
	byID bool // its partitions are named by topic id

	mu      sync.Mutex
	epoch   int32    // of the next request
	entries []*entry // in the order in which they are served
	index   map[Key]*entry
	open    int // requests that were not answered, those that queue included

	// The cache's, under its lock.
	size       int
	createdNs  int64
	lastUsedNs int64
}

// entry is one partition of a session.
type entry struct {
	want Want
	hw   kafka.Offset
	low  kafka.Offset
	gone bool
}

// ID is the session's id; never 0.
func (s *Session) ID() int32 { return s.id }

// Open reports that a request of the session was not answered yet.
func (s *Session) Open() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open > 0
}

// Queue puts a request behind those of the session that were not answered yet, if
// there are any: it is one of them until Close, which the caller calls when
// Continue has let it in or it was given up. So whoever comes later queues too,
// although the request before it may have been answered and this one not begun.
func (s *Session) Queue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		return false
	}
	s.open++
	return true
}

func nextEpoch(epoch int32) int32 {
	if epoch == math.MaxInt32 {
		return 1
	}
	return epoch + 1
}

// take takes in what changed: what is new or wanted differently, then what is
// forgotten (KAFKA-12330: in this order).
func (s *Session) take(wants []Want, forget []Key) {
	for i := range wants {
		w := wants[i]
		if e := s.index[w.Key]; e != nil {
			e.want = w
			continue
		}
		e := &entry{want: w, hw: kafka.NoOffset, low: kafka.NoOffset}
		s.entries = append(s.entries, e)
		s.index[w.Key] = e
	}
	forgot := false
	for _, k := range forget {
		if e := s.index[k]; e != nil {
			e.gone, forgot = true, true
			delete(s.index, k)
		}
	}
	if forgot {
		s.entries = slices.DeleteFunc(s.entries, func(e *entry) bool { return e.gone })
	}
}

// Answered notes what the answer to the request of that epoch says of the
// partitions that Continue gave, in their order, and sets include for those that
// the answer must hold: with data, an error, or another HW or log start than the
// last answer said. False: the session has gone on without this request; the
// answer is INVALID_FETCH_SESSION_EPOCH.
func (s *Session) Answered(epoch int32, wants []Want, said []Said, include []bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != nextEpoch(epoch) {
		return false
	}
	served := false
	for i := range said {
		include[i] = said[i].Bytes > 0 || said[i].Error
		e := s.index[wants[i].Key]
		if e == nil {
			continue // forgotten meanwhile
		}
		include[i] = e.say(&said[i]) || include[i]
		served = served || said[i].Bytes > 0
	}
	if served {
		s.rotate(wants, said)
	}
	return true
}

// say notes what was said and reports whether it is news. After an error the next
// answer without one is.
func (e *entry) say(said *Said) bool {
	if said.Error {
		e.hw = kafka.NoOffset
		return true
	}
	news := e.hw != said.HighWatermark || e.low != said.LogStartOffset
	e.hw, e.low = said.HighWatermark, said.LogStartOffset
	return news
}

// rotate moves the partitions that gave data behind the others.
func (s *Session) rotate(wants []Want, said []Said) {
	var last []*entry
	for i := range said {
		if e := s.index[wants[i].Key]; said[i].Bytes > 0 && e != nil && !e.gone {
			e.gone = true // for a moment
			last = append(last, e)
		}
	}
	s.entries = slices.DeleteFunc(s.entries, func(e *entry) bool { return e.gone })
	for _, e := range last {
		e.gone = false
	}
	s.entries = append(s.entries, last...)
}

// Close says that the request that Continue let in was answered or given up, or
// that one that queued does so no longer.
func (s *Session) Close() {
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
}
