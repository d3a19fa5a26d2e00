package controller

import (
	"cmp"
	"slices"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// RegisterBroker registers a broker process. With sessions (Config.SessionTimeoutMs) it is fenced until its heartbeats
// show that it has applied its registration.
type RegisterBroker struct {
	Broker      kafka.NodeID
	Incarnation kafka.TopicID // UUID of the process, drawn by the shell
	Endpoints   []meta.Endpoint
	Rack        string
	Features    []meta.Feature // what it can work with; nil: as its controller, which is of the same program
	LogDirs     []kafka.TopicID
	ClusterID   string // of its directories
	// PreviousEpoch is the broker epoch that the process before it wrote down when it was shut down cleanly, -1 if it
	// was not: that life's epoch or else the registration is one after an unclean shutdown (KIP-966).
	PreviousEpoch int64
}

// RegisterBrokerResponse has the broker epoch of the registration.
type RegisterBrokerResponse struct {
	Code        kafka.ErrorCode
	BrokerEpoch int64
}

// BrokerHeartbeat keeps a broker's session, and asks for what it wants to be (KIP-631).
type BrokerHeartbeat struct {
	Broker         kafka.NodeID
	BrokerEpoch    int64
	MetadataOffset int64 // up to which it has applied the metadata, inclusive
	WantFence      bool
	WantShutDown   bool
	OfflineDirs    []kafka.TopicID // directories that failed (KIP-858)
}

// BrokerHeartbeatResponse is what the broker is.
type BrokerHeartbeatResponse struct {
	Code     kafka.ErrorCode
	CaughtUp bool
	Fenced   bool
	ShutDown bool // it may go now
}

// SessionExpired is a Timer that was not replaced in time.
type SessionExpired struct {
	Broker      kafka.NodeID
	BrokerEpoch int64
}

// UnregisterBroker forgets a broker for good.
type UnregisterBroker struct{ Broker kafka.NodeID }

// UnregisterBrokerResponse answers UnregisterBroker.
type UnregisterBrokerResponse struct{ Code kafka.ErrorCode }

// SessionExpiredResponse says whether the broker was fenced.
type SessionExpiredResponse struct{ Fenced bool }

func (*RegisterBroker) isRequest()            {}
func (*BrokerHeartbeat) isRequest()           {}
func (*SessionExpired) isRequest()            {}
func (*UnregisterBroker) isRequest()          {}
func (*RegisterBrokerResponse) isResponse()   {}
func (*BrokerHeartbeatResponse) isResponse()  {}
func (*SessionExpiredResponse) isResponse()   {}
func (*UnregisterBrokerResponse) isResponse() {}

// Timer asks for Handle(SessionExpired) with this broker and epoch at monotonic time At. It replaces an earlier one of
// the same broker, which then must not come any more.
type Timer struct {
	Broker      kafka.NodeID
	BrokerEpoch int64
	At          int64 // MonoNs
}

// session is the Session of a broker's life.
type session struct {
	broker kafka.NodeID
	epoch  int64
	Session
}

func compareSessions(s session, id kafka.NodeID) int { return cmp.Compare(s.broker, id) }

// session is that of a broker in its life.
func (c *Controller) session(b *meta.BrokerImage) *session {
	i, ok := slices.BinarySearchFunc(c.sessions, b.ID, compareSessions)
	if !ok {
		c.sessions = slices.Insert(c.sessions, i, session{broker: b.ID})
	}
	if s := &c.sessions[i]; !ok || s.epoch != b.Epoch {
		*s = session{broker: b.ID, epoch: b.Epoch, Session: newSession}
	}
	return &c.sessions[i]
}

// Session is what the controller knows of a broker besides its registration. It is not in the log: a new controller learns
// it anew.
type Session struct {
	Registered int64 // its registration stands at this offset of the log or before; -1 while that is not known
	ShutDown   int64 // the same of its controlled shutdown
	Heard      int64 // metadata offset of its last heartbeat, or -1
}

var newSession = Session{Registered: -1, ShutDown: -1, Heard: -1}

// Session is that of a broker in the life that has this epoch; as if it were new if there is none.
func (c *Controller) Session(id kafka.NodeID, epoch int64) Session {
	if i, ok := slices.BinarySearchFunc(c.sessions, id, compareSessions); ok && c.sessions[i].epoch == epoch {
		return c.sessions[i].Session
	}
	return newSession
}

func (c *Controller) timer(now kafka.Now, b *meta.BrokerImage) Timer {
	const nsPerMs = 1_000_000
	return Timer{Broker: b.ID, BrokerEpoch: b.Epoch, At: now.MonoNs + c.cfg.SessionTimeoutMs*nsPerMs}
}

// checkLife refuses what comes from a process that is not the registered one; a broker that is not registered at all is
// one of an earlier life too.
func (c *Controller) checkLife(id kafka.NodeID, epoch int64) kafka.ErrorCode {
	if b := c.speculative.Broker(id); b == nil || b.Epoch != epoch {
		return kafka.ErrStaleBrokerEpoch
	}
	return kafka.ErrNone
}

// registerBroker gives a new process a new broker epoch. The same process asking again gets the same answer, and changes
// its registration if it says something else than before.
func (c *Controller) registerBroker(req *RegisterBroker) (*RegisterBrokerResponse, []meta.Record) {
	if code := c.checkRegistration(req); code != kafka.ErrNone {
		return &RegisterBrokerResponse{Code: code, BrokerEpoch: kafka.NoBrokerEpoch}, nil
	}
	r := &meta.RegisterBroker{Broker: req.Broker, Incarnation: req.Incarnation, Endpoints: req.Endpoints, Rack: req.Rack,
		Features: req.Features, LogDirs: req.LogDirs}
	was := c.speculative.Broker(req.Broker)
	if was != nil && was.Incarnation == req.Incarnation {
		return &RegisterBrokerResponse{BrokerEpoch: was.Epoch}, c.amend(was, r)
	}
	for _, b := range c.speculative.Brokers() {
		r.BrokerEpoch = max(r.BrokerEpoch, b.Epoch+1)
	}
	if c.cfg.SessionTimeoutMs == 0 {
		return c.registerAlone(r)
	}
	// In Kafka an epoch is an offset of the log, so that no epoch comes twice, also after a broker was forgotten.
	r.BrokerEpoch = max(r.BrokerEpoch, c.reached+1, c.lastEpoch+1)
	c.lastEpoch = r.BrokerEpoch
	r.Fenced = true
	clean := was != nil && req.PreviousEpoch == was.Epoch
	records := c.decide(r)
	if clean || c.cfg.Rules.UncleanRestartLeavesISR {
		records = append(records, c.leaves(req.Broker, !clean)...)
	}
	c.session(c.speculative.Broker(req.Broker))
	return &RegisterBrokerResponse{BrokerEpoch: r.BrokerEpoch}, records
}

// checkRegistration is what is refused, in the order in which Kafka checks.
func (c *Controller) checkRegistration(req *RegisterBroker) kafka.ErrorCode {
	was := c.speculative.Broker(req.Broker)
	switch {
	case req.Broker < 0 || req.Incarnation.IsZero():
		return kafka.ErrInvalidRequest
	case c.cfg.ClusterID != "" && req.ClusterID != c.cfg.ClusterID:
		return kafka.ErrInconsistentClusterID
	case c.cfg.SessionsLast && was != nil && !was.Fenced && was.Incarnation != req.Incarnation:
		return kafka.ErrDuplicateBrokerRegistration
	case c.cfg.Rules.RegisterChecksDirectories && !c.ownDirs(req):
		return kafka.ErrInvalidRegistration
	case c.cfg.Rules.RegisterChecksFeatures && req.Features != nil && !c.supportsLevels(req.Features):
		return kafka.ErrUnsupportedVersion
	}
	return kafka.ErrNone
}

// ownDirs: the directories are real ones, each is there once, and none is another broker's (a disk that was copied).
func (c *Controller) ownDirs(req *RegisterBroker) bool {
	const dirsSince = 17 // metadata.version 3.7-IV2: before, brokers do not name directories
	if len(req.LogDirs) == 0 {
		return c.speculative.FeatureLevel(metadataVersion) < dirsSince
	}
	for i, d := range req.LogDirs {
		if meta.DirReserved(d) || slices.Contains(req.LogDirs[:i], d) {
			return false
		}
		for _, b := range c.speculative.Brokers() {
			if b.ID != req.Broker && slices.Contains(b.LogDirs, d) {
				return false
			}
		}
	}
	return true
}

// amend changes the registration of a process. It has to be applied again before the broker is unfenced.
func (c *Controller) amend(was *meta.BrokerImage, r *meta.RegisterBroker) []meta.Record {
	r.BrokerEpoch, r.Fenced, r.InControlledShutdown = was.Epoch, was.Fenced, was.InControlledShutdown
	if slices.Equal(r.Endpoints, was.Endpoints) && r.Rack == was.Rack && slices.Equal(r.Features, was.Features) &&
		slices.Equal(r.LogDirs, was.LogDirs) {
		return nil
	}
	records := c.decide(r)
	if c.cfg.SessionTimeoutMs > 0 {
		c.session(was).Registered = -1
	}
	return records
}

// registerAlone registers without sessions: the broker is its own controller, and at once there for its clients. Every
// partition that it leads or may lead again gets a new leader epoch: what the process before it wrote and lost must not be
// taken for what this one writes (KIP-101).
func (c *Controller) registerAlone(r *meta.RegisterBroker) (*RegisterBrokerResponse, []meta.Record) {
	records := []meta.Record{r}
	for _, t := range c.speculative.Topics() {
		for i, p := range t.Partitions {
			if p.Leader == r.Broker || p.Leader == kafka.NoNode && slices.Contains(p.ISR, r.Broker) {
				records = append(records, &meta.Partition{Topic: t.ID, Partition: kafka.PartitionID(i), Replicas: p.Replicas, ISR: p.ISR,
					Leader: r.Broker, LeaderEpoch: p.LeaderEpoch + 1, PartitionEpoch: p.PartitionEpoch + 1})
			}
		}
	}
	return &RegisterBrokerResponse{BrokerEpoch: r.BrokerEpoch}, c.decide(records...)
}

// heartbeat keeps the session and decides the next state of the broker.
func (c *Controller) heartbeat(now kafka.Now, req *BrokerHeartbeat) (*BrokerHeartbeatResponse, []meta.Record, []Timer) {
	b := c.speculative.Broker(req.Broker)
	if code := c.checkLife(req.Broker, req.BrokerEpoch); code != kafka.ErrNone && (b == nil || c.cfg.Rules.HeartbeatChecksEpoch) {
		return &BrokerHeartbeatResponse{Code: code, Fenced: true}, nil, nil
	}
	s := *c.session(b)
	resp := &BrokerHeartbeatResponse{CaughtUp: s.Registered >= 0 && req.MetadataOffset >= s.Registered}
	// Before anything that elects, or it would lead for a moment what it does not have, and nobody else stayed eligible.
	records := c.dirsFailed(b, req.OfflineDirs)
	works := func(d kafka.TopicID) bool { return !slices.Contains(req.OfflineDirs, d) }
	hasDir := len(b.LogDirs) == 0 || slices.ContainsFunc(b.LogDirs, works) // one without stops by itself
	b = c.speculative.Broker(req.Broker)
	switch {
	case b.Fenced && req.WantShutDown:
		resp.ShutDown = true
	case b.Fenced && !req.WantFence && !b.InControlledShutdown && hasDir && (resp.CaughtUp || !c.cfg.Rules.UnfenceWhenCaughtUp):
		records = append(records, c.decide(&meta.BrokerChange{Broker: b.ID, BrokerEpoch: b.Epoch, Fenced: meta.Ends})...)
		records = append(records, c.electLeaderless()...)
	case b.Fenced:
	case b.InControlledShutdown:
		resp.ShutDown = !c.leadsAny(b.ID) && s.ShutDown >= 0 && s.ShutDown <= c.lowestActive()
	case req.WantFence:
		resp.ShutDown = req.WantShutDown
		records = append(records, c.fence(b)...)
	case req.WantShutDown && c.leadsAny(b.ID):
		records = append(records, c.decide(&meta.BrokerChange{Broker: b.ID, BrokerEpoch: b.Epoch, InControlledShutdown: true})...)
		records = append(records, c.leaves(b.ID, false)...)
	case req.WantShutDown:
		resp.ShutDown = true
	}
	if resp.ShutDown && !c.speculative.Broker(b.ID).Fenced {
		records = append(records, c.fence(b)...)
	}
	b = c.speculative.Broker(req.Broker)
	c.session(b).Heard, resp.Fenced = req.MetadataOffset, b.Fenced
	if b.Fenced {
		return resp, records, nil
	}
	return resp, records, []Timer{c.timer(now, b)}
}

// fence takes a broker out of service, and out of every ISR.
func (c *Controller) fence(b *meta.BrokerImage) []meta.Record {
	records := c.decide(&meta.BrokerChange{Broker: b.ID, BrokerEpoch: b.Epoch, Fenced: meta.Becomes})
	return append(records, c.leaves(b.ID, false)...)
}

// dirsFailed takes a broker out of the ISR of the partitions that it has in directories that failed. One that has no
// directory left keeps their names: it stops by itself.
func (c *Controller) dirsFailed(b *meta.BrokerImage, failed []kafka.TopicID) []meta.Record {
	isIn := func(d kafka.TopicID) bool { return slices.Contains(failed, d) }
	left := slices.DeleteFunc(slices.Clone(b.LogDirs), isIn)
	if len(left) == len(b.LogDirs) {
		return nil
	}
	var records []meta.Record
	if len(left) > 0 {
		records = c.decide(&meta.BrokerChange{Broker: b.ID, BrokerEpoch: b.Epoch, LogDirs: left})
	}
	return append(records, c.eachPartition(func(t *meta.TopicImage, id kafka.PartitionID, p *meta.PartitionImage) *change {
		if dir := p.Directory(b.ID); !isIn(dir) || !slices.Contains(b.LogDirs, dir) || !slices.Contains(p.ISR, b.ID) {
			return nil
		}
		g := c.change(t, id)
		g.isr, g.gone = without(p.ISR, b.ID), b.ID
		return g
	})...)
}

// defaultDir is where a broker will have a new replica, as far as is known: in its only directory.
func (c *Controller) defaultDir(node kafka.NodeID) kafka.TopicID {
	b := c.speculative.Broker(node)
	switch {
	case b == nil || len(b.LogDirs) > 1:
		return meta.DirUnassigned
	case len(b.LogDirs) == 1:
		return b.LogDirs[0]
	}
	return meta.DirMigrating
}

// defaultDirs is those of a new partition; nil where no broker names directories.
func (c *Controller) defaultDirs(replicas []kafka.NodeID) []kafka.TopicID {
	named := false
	dirs := make([]kafka.TopicID, len(replicas))
	for i, n := range replicas {
		dirs[i] = c.defaultDir(n)
		named = named || dirs[i] != meta.DirMigrating
	}
	if !named {
		return nil
	}
	return dirs
}

// AssignDirs says in which directory a broker keeps replicas (KIP-858).
type AssignDirs struct {
	Broker      kafka.NodeID
	BrokerEpoch int64
	Replicas    []ReplicaDir
}

// ReplicaDir is the directory of one replica.
type ReplicaDir struct {
	Topic     kafka.TopicID
	Partition kafka.PartitionID
	Dir       kafka.TopicID
}

// AssignDirsResponse has one code for each replica, in order; none if Code is not NONE.
type AssignDirsResponse struct {
	Code  kafka.ErrorCode
	Codes []kafka.ErrorCode
}

func (*AssignDirs) isRequest()          {}
func (*AssignDirsResponse) isResponse() {}

// assignDirs writes directories down. A replica whose directory does not work leaves the ISR. One that comes out of such a
// directory was made anew elsewhere: it holds nothing of what it held, and with ELR is eligible no more.
func (c *Controller) assignDirs(req *AssignDirs) (*AssignDirsResponse, []meta.Record) {
	if code := c.checkLife(req.Broker, req.BrokerEpoch); code != kafka.ErrNone {
		return &AssignDirsResponse{Code: code}, nil
	}
	resp := &AssignDirsResponse{}
	var records []meta.Record
	for _, r := range req.Replicas {
		t := c.speculative.TopicByID(r.Topic)
		code := kafka.ErrNone
		switch {
		case t == nil:
			code = kafka.ErrUnknownTopicID
		case r.Partition < 0 || int(r.Partition) >= len(t.Partitions):
			code = kafka.ErrUnknownTopicOrPartition
		case !slices.Contains(t.Partitions[r.Partition].Replicas, req.Broker):
			code = kafka.ErrNotLeaderOrFollower
		default:
			g, b := c.change(t, r.Partition), c.speculative.Broker(req.Broker)
			g.moved, g.dir = req.Broker, r.Dir
			made := g.elrOn && !b.HasDir(g.was.Directory(b.ID)) && c.cfg.Rules.MadeAnewNotEligible
			if made {
				g.lost = b.ID
			}
			if made || !b.HasDir(r.Dir) {
				g.isr = without(g.isr, b.ID)
			}
			records = append(records, c.decideChange(g)...)
		}
		resp.Codes = append(resp.Codes, code)
	}
	return resp, records
}

// leadsAny: the broker leads a partition.
func (c *Controller) leadsAny(node kafka.NodeID) bool {
	for _, t := range c.speculative.Topics() {
		for i := range t.Partitions {
			if t.Partitions[i].Leader == node {
				return true
			}
		}
	}
	return false
}

// lowestActive is the offset up to which every active broker has applied the metadata.
func (c *Controller) lowestActive() int64 {
	lowest := int64(1<<63 - 1)
	for _, b := range c.speculative.Brokers() {
		if b.Active() {
			lowest = min(lowest, c.session(b).Heard)
		}
	}
	return lowest
}

// sessionExpired fences a broker that was silent. Brokers that expire in the same tick are fenced one on top of the other
// (KAFKA-13173).
func (c *Controller) sessionExpired(req *SessionExpired) (*SessionExpiredResponse, []meta.Record) {
	b := c.speculative.Broker(req.Broker)
	if b == nil || b.Epoch != req.BrokerEpoch || b.Fenced {
		return &SessionExpiredResponse{}, nil
	}
	return &SessionExpiredResponse{Fenced: true}, c.fence(b)
}

func (c *Controller) unregisterBroker(req *UnregisterBroker) (*UnregisterBrokerResponse, []meta.Record) {
	b := c.speculative.Broker(req.Broker)
	if b == nil {
		return &UnregisterBrokerResponse{Code: kafka.ErrBrokerIDNotRegistered}, nil
	}
	records := c.decide(&meta.UnregisterBroker{Broker: b.ID, BrokerEpoch: b.Epoch})
	return &UnregisterBrokerResponse{}, append(records, c.leaves(b.ID, true)...)
}
