package broker

import (
	"fmt"

	"trialog/core/broker/meter"
	"trialog/core/broker/partition"
	"trialog/core/broker/serve"
	"trialog/core/kafka"
)

// State is where a broker is in its life, with Kafka's numbers.
type State int32

// States.
const (
	Starting     State = 1
	Recovery     State = 2 // logs are opened, and read after an unclean stop
	Running      State = 3 // clients are served
	ShuttingDown State = 7
)

// String is a word for it.
func (s State) String() string {
	switch s {
	case Starting:
		return "starting"
	case Recovery:
		return "recovering"
	case Running:
		return "running"
	case ShuttingDown:
		return "stopping"
	}
	return fmt.Sprintf("state %d", int32(s))
}

// State may be asked at any time, of a broker that starts too.
func (b *Broker) State() State { return State(b.state.Load()) }

// Node is the broker's id.
func (b *Broker) Node() kafka.NodeID { return b.cfg.NodeID }

// Meter is what Options had.
func (b *Broker) Meter() *meter.Meter { return b.opts.Meter }

// Topics is the topics that are open now, by name; read-only.
func (b *Broker) Topics() []*partition.Topic { return b.table.Topics() }

// Listeners is the connections of each listener; none before the broker serves.
func (b *Broker) Listeners() []serve.ListenerCount {
	if b.State() < Running {
		return nil
	}
	return b.server.Listeners()
}

// RequestBytes is the request memory in use.
func (b *Broker) RequestBytes() int64 {
	if b.State() < Running {
		return 0
	}
	return b.server.HeldBytes()
}

// FetchSessions is how many there are, and how many partitions they have together.
func (b *Broker) FetchSessions() (sessions, partitions int) { return b.sessions.Len() }
