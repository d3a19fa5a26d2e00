package fetchsession

import (
	"slices"
	"sync"

	"trialog/core/kafka"
)

// evictAfterNs is how long a session is safe: one that was used in this time goes
// only for a larger one, one that is younger than this not at all. Kafka's number.
const evictAfterNs = int64(120e9)

// PartitionsMax bounds the partitions of all sessions together.
const PartitionsMax = 500_000

// Cache is the sessions of a broker.
type Cache struct {
	slots      int
	partitions int          // bound of all sessions
	newID      func() int32 // draws any number

	mu       sync.Mutex
	sessions map[int32]*Session
	held     int // partitions of all sessions
}

// New makes a cache of that many slots
// (max.incremental.fetch.session.cache.slots). newID draws any number; ids must
// not be easy to guess.
func New(slots, partitions int, newID func() int32) *Cache {
	return &Cache{slots: slots, partitions: partitions, newID: newID, sessions: map[int32]*Session{}}
}

// Len is how many sessions and partitions there are, for tests and metrics.
func (c *Cache) Len() (sessions, partitions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sessions), c.held
}

// Find finds a session, or nil.
func (c *Cache) Find(id int32) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

// Size is how many partitions a session has: what Continue will copy, about, and
// is to be paid for before. 0: there is no such session.
func (c *Cache) Size(id int32) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[id]; s != nil {
		return s.size
	}
	return 0
}

// End forgets a session; one that is not there is no error.
func (c *Cache) End(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[id]; s != nil {
		c.remove(s)
	}
}

func (c *Cache) remove(s *Session) {
	delete(c.sessions, s.id)
	c.held -= s.size
}

// Create makes a session of what a full request wanted and its answer says; said
// goes with wants. The id is 0 when there is no room: the consumer goes on with
// full requests.
func (c *Cache) Create(wants []Want, said []Said, byID bool, nowNs int64) int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(wants) == 0 || c.slots == 0 || len(c.sessions) >= c.slots && !c.evict(len(wants), nowNs) {
		return 0
	}
	if c.held+len(wants) > c.partitions {
		return 0
	}
	s := &Session{byID: byID, epoch: nextEpoch(Initial), index: make(map[Key]*entry, len(wants)), createdNs: nowNs, lastUsedNs: nowNs}
	s.take(wants, nil)
	for i := range said {
		s.index[wants[i].Key].say(&said[i])
	}
	for s.id <= 0 || c.sessions[s.id] != nil {
		s.id = c.newID()
	}
	s.size = len(s.entries)
	c.sessions[s.id] = s
	c.held += s.size
	return s.id
}

// evict makes room for a session of that size: the one that nobody has used for
// long, or else the smallest of those that are old enough, if it is smaller.
func (c *Cache) evict(size int, nowNs int64) bool {
	var idle, small *Session
	for _, s := range c.sessions {
		if idle == nil || s.lastUsedNs < idle.lastUsedNs || s.lastUsedNs == idle.lastUsedNs && s.id < idle.id {
			idle = s
		}
		old := nowNs-s.createdNs > evictAfterNs
		if old && (small == nil || s.size < small.size || s.size == small.size && s.id < small.id) {
			small = s
		}
	}
	switch {
	case idle != nil && nowNs-idle.lastUsedNs > evictAfterNs:
		c.remove(idle)
	case small != nil && small.size < size:
		c.remove(small)
	default:
		return false
	}
	return true
}

// Continue begins the next request of a session: it takes in what changed and
// appends to dst what to read, in order. A nil session without a code: nothing is
// left in it, so it is gone. The caller calls Answered, at most once, and Close.
func (c *Cache) Continue(id, epoch int32, byID bool, wants []Want, forget []Key, nowNs int64, dst []Want) (*Session, []Want, kafka.ErrorCode) {
	s, code := c.lockSession(id, epoch, byID, wants, forget, nowNs)
	if s == nil {
		return nil, dst, code
	}
	defer s.mu.Unlock() // a wide session is copied beside the others
	dst = slices.Grow(dst, len(s.entries))
	for _, e := range s.entries {
		dst = append(dst, e.want)
	}
	return s, dst, kafka.ErrNone
}

// lockSession is Continue up to the copy, which the caller makes under the lock of
// the session that is returned. A session gets its turn under the lock of the
// cache: until then it may be evicted.
func (c *Cache) lockSession(id, epoch int32, byID bool, wants []Want, forget []Key, nowNs int64) (locked *Session, code kafka.ErrorCode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		return nil, kafka.ErrFetchSessionIDNotFound
	}
	s.mu.Lock()
	defer func() {
		if locked == nil {
			s.mu.Unlock()
		}
	}()
	switch {
	case s.epoch != epoch:
		return nil, kafka.ErrInvalidFetchSessionEpoch
	case s.byID != byID:
		return nil, kafka.ErrFetchSessionTopicIDError
	}
	before := s.size
	s.take(wants, forget)
	c.held += len(s.entries) - s.size
	s.size = len(s.entries)
	switch {
	case s.size == 0:
		c.remove(s)
		return nil, kafka.ErrNone
	case s.size > before && c.held > c.partitions:
		c.remove(s) // too large: its consumer begins anew, and gets no session
		return nil, kafka.ErrFetchSessionIDNotFound
	}
	s.epoch, s.lastUsedNs = nextEpoch(epoch), nowNs
	s.open++
	return s, kafka.ErrNone
}
