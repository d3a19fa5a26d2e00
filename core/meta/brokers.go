package meta

import (
	"encoding/binary"
	"fmt"

	"trialog/core/kafka"
)

// Endpoint is one listener of a broker.
type Endpoint struct {
	Name             string
	Host             string
	Port             uint16
	SecurityProtocol int16 // 0 PLAINTEXT
}

// Feature is which levels of a feature a broker can work with.
type Feature struct {
	Name     string
	Min, Max int16
}

// RegisterBroker says that a broker process is there, with a new broker epoch.
type RegisterBroker struct {
	Broker               kafka.NodeID
	Incarnation          kafka.TopicID // a UUID of the process
	BrokerEpoch          int64
	Endpoints            []Endpoint
	Features             []Feature
	Rack                 string // "" is none
	Fenced               bool
	InControlledShutdown bool
	LogDirs              []kafka.TopicID // UUIDs of the directories that work (KIP-858)
}

// Type is RegisterBrokerRecord.
func (*RegisterBroker) Type() Type { return TypeRegisterBroker }

func (m *RegisterBroker) version() uint64 {
	switch {
	case len(m.LogDirs) > 0:
		return 3
	case m.InControlledShutdown:
		return 1
	}
	return 0
}

func (m *RegisterBroker) appendBody(b []byte) []byte {
	version := m.version()
	b = appendInt32(b, m.Broker)
	if version >= 2 {
		b = append(b, 0) // does not migrate from ZooKeeper
	}
	b = append(b, m.Incarnation[:]...)
	b = appendInt64(b, m.BrokerEpoch)
	b = binary.AppendUvarint(b, uint64(len(m.Endpoints))+1)
	for _, e := range m.Endpoints {
		b = appendString(appendString(b, e.Name), e.Host)
		b = noTags(appendInt16(appendInt16(b, int16(e.Port)), e.SecurityProtocol))
	}
	b = binary.AppendUvarint(b, uint64(len(m.Features))+1)
	for _, f := range m.Features {
		b = noTags(appendInt16(appendInt16(appendString(b, f.Name), f.Min), f.Max))
	}
	b = appendNullable(b, m.Rack, m.Rack == "")
	b = appendBool(b, m.Fenced)
	if version >= 1 {
		b = appendBool(b, m.InControlledShutdown)
	}
	var tags tagged
	if len(m.LogDirs) > 0 {
		tags.add(0, appendUUIDs(nil, m.LogDirs))
	}
	return tags.appendTo(b)
}

func (m *RegisterBroker) parseBody(r *reader, version uint64) {
	m.Broker = r.int32()
	if version >= 2 && r.bool() {
		r.fail(fmt.Errorf("a migration from ZooKeeper: not known"))
	}
	m.Incarnation, m.BrokerEpoch = r.uuid(), r.int64()
	const endpointMin, featureMin = 7, 6
	for n := r.count(endpointMin); n > 0 && r.err == nil; n-- {
		e := Endpoint{Name: r.string(), Host: r.string(), Port: uint16(r.int16()), SecurityProtocol: r.int16()}
		r.tags()
		m.Endpoints = append(m.Endpoints, e)
	}
	for n := r.count(featureMin); n > 0 && r.err == nil; n-- {
		f := Feature{Name: r.string(), Min: r.int16(), Max: r.int16()}
		r.tags()
		m.Features = append(m.Features, f)
	}
	m.Rack, _ = r.nullable()
	m.Fenced = r.bool()
	if version >= 1 {
		m.InControlledShutdown = r.bool()
	}
	r.tagged(func(tag uint64, field *reader) {
		if dirs := uint64(0); tag == dirs && version >= 3 {
			m.LogDirs = someUUIDs(field.uuids())
		}
	})
}

// someUUIDs is nil for an empty list.
func someUUIDs(ids []kafka.TopicID) []kafka.TopicID {
	if len(ids) == 0 {
		return nil
	}
	return ids
}

// String is one line.
func (m *RegisterBroker) String() string {
	s := fmt.Sprintf("register-broker %d epoch=%d incarnation=%s", m.Broker, m.BrokerEpoch, m.Incarnation)
	for _, e := range m.Endpoints {
		s += fmt.Sprintf(" %s://%s:%d", e.Name, e.Host, e.Port)
	}
	for _, f := range m.Features {
		s += fmt.Sprintf(" %s=%d-%d", f.Name, f.Min, f.Max)
	}
	if m.Rack != "" {
		s += " rack=" + m.Rack
	}
	if len(m.LogDirs) > 0 {
		s += fmt.Sprintf(" dirs=%v", m.LogDirs)
	}
	if m.Fenced {
		s += " fenced"
	}
	if m.InControlledShutdown {
		s += " shutting-down"
	}
	return s
}

// Turn is what a record makes of a state that is on or off.
type Turn int8

// Turns, as Kafka writes them.
const (
	Ends      Turn = -1
	Unchanged Turn = 0
	Becomes   Turn = 1
)

// BrokerChange changes the state of a registered broker.
type BrokerChange struct {
	Broker               kafka.NodeID
	BrokerEpoch          int64
	Fenced               Turn
	InControlledShutdown bool            // begins; it ends with the registration
	LogDirs              []kafka.TopicID // those that still work; nil: unchanged
}

// Type is BrokerRegistrationChangeRecord.
func (*BrokerChange) Type() Type { return TypeBrokerChange }

func (m *BrokerChange) version() uint64 {
	switch {
	case len(m.LogDirs) > 0:
		return 2
	case m.InControlledShutdown:
		return 1
	}
	return 0
}

func (m *BrokerChange) appendBody(b []byte) []byte {
	b = appendInt64(appendInt32(b, m.Broker), m.BrokerEpoch)
	var tags tagged
	if m.Fenced != Unchanged {
		tags.add(0, []byte{byte(m.Fenced)})
	}
	if m.InControlledShutdown {
		tags.add(1, []byte{1})
	}
	if len(m.LogDirs) > 0 {
		tags.add(2, appendUUIDs(nil, m.LogDirs))
	}
	return tags.appendTo(b)
}

func (m *BrokerChange) parseBody(r *reader, version uint64) {
	m.Broker, m.BrokerEpoch = r.int32(), r.int64()
	r.tagged(func(tag uint64, field *reader) {
		switch {
		case tag == 0:
			if m.Fenced = Turn(field.int8()); m.Fenced < Ends || m.Fenced > Becomes {
				field.fail(fmt.Errorf("%d is no change of fencing", m.Fenced))
			}
		case tag == 1 && version >= 1:
			m.InControlledShutdown = field.bool()
		case tag == 2 && version >= 2:
			m.LogDirs = someUUIDs(field.uuids())
		}
	})
}

// String is one line.
func (m *BrokerChange) String() string {
	s := fmt.Sprintf("broker %d epoch=%d", m.Broker, m.BrokerEpoch)
	switch m.Fenced {
	case Becomes:
		s += " fenced"
	case Ends:
		s += " unfenced"
	}
	if m.InControlledShutdown {
		s += " shutting-down"
	}
	if len(m.LogDirs) > 0 {
		s += fmt.Sprintf(" dirs=%v", m.LogDirs)
	}
	return s
}

// UnregisterBroker forgets a broker.
type UnregisterBroker struct {
	Broker      kafka.NodeID
	BrokerEpoch int64
}

// Type is UnregisterBrokerRecord.
func (*UnregisterBroker) Type() Type { return TypeUnregisterBroker }

func (*UnregisterBroker) version() uint64 { return 0 }

func (m *UnregisterBroker) appendBody(b []byte) []byte {
	return noTags(appendInt64(appendInt32(b, m.Broker), m.BrokerEpoch))
}

func (m *UnregisterBroker) parseBody(r *reader, _ uint64) {
	m.Broker, m.BrokerEpoch = r.int32(), r.int64()
	r.tags()
}

// String is one line.
func (m *UnregisterBroker) String() string {
	return fmt.Sprintf("unregister-broker %d epoch=%d", m.Broker, m.BrokerEpoch)
}
