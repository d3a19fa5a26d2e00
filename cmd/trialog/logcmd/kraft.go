package logcmd

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"trialog/core/record"
	"trialog/core/seglog/inspect"
)

// Control records of KRaft (KIP-595, KIP-630, KIP-853).
const (
	controlSnapshotHeader record.ControlType = 3
	controlSnapshotFooter record.ControlType = 4
	controlKRaftVersion   record.ControlType = 5
	controlKRaftVoters    record.ControlType = 6
)

// controlText is what Kafka's tool adds to the line of a control record.
func controlText(r *record.Record) (string, error) {
	kind, err := record.ParseControl(r)
	if err != nil {
		return "", err
	}
	m := message{b: r.Value}
	text := ""
	switch kind {
	case record.ControlAbort, record.ControlCommit:
		name := "COMMIT"
		if kind == record.ControlAbort {
			name = "ABORT"
		}
		marker, ok := inspect.ParseMarker(r.Value)
		if !ok {
			return "", fmt.Errorf("a marker of %d bytes", len(r.Value))
		}
		return fmt.Sprintf(" endTxnMarker: %s coordinatorEpoch: %d", name, marker.CoordinatorEpoch), nil
	case record.ControlLeaderChange:
		text = " LeaderChange: " + m.leaderChange()
	case controlSnapshotHeader:
		text = fmt.Sprintf(` SnapshotHeader {"version":%d,"lastContainedLogTimestamp":%d}`, m.int16(), m.int64())
	case controlSnapshotFooter:
		text = fmt.Sprintf(` SnapshotFooter {"version":%d}`, m.int16())
	case controlKRaftVersion:
		text = fmt.Sprintf(` KRaftVersion {"version":%d,"kRaftVersion":%d}`, m.int16(), m.int16())
	case controlKRaftVoters:
		text = " KRaftVoters " + m.votersRecord()
	default:
		return fmt.Sprintf(" controlType: UNKNOWN(%d)", kind), nil
	}
	return text, m.err
}

// message reads a message of Kafka's flexible format.
type message struct {
	b   []byte
	err error
}

func (m *message) take(n int) []byte {
	if m.err != nil || n < 0 || n > len(m.b) {
		m.err = errors.New("it ends too early")
		return make([]byte, 16)
	}
	v := m.b[:n]
	m.b = m.b[n:]
	return v
}

func (m *message) int16() int16   { return int16(binary.BigEndian.Uint16(m.take(2))) }
func (m *message) uint16() uint16 { return binary.BigEndian.Uint16(m.take(2)) }
func (m *message) int32() int32   { return int32(binary.BigEndian.Uint32(m.take(4))) }
func (m *message) int64() int64   { return int64(binary.BigEndian.Uint64(m.take(8))) }
func (m *message) uuid() string   { return base64.RawURLEncoding.EncodeToString(m.take(16)) }

func (m *message) uvarint() int {
	v, n := binary.Uvarint(m.b)
	if n <= 0 || v > 1<<20 {
		m.err = errors.New("a length that cannot be")
		return 0
	}
	m.take(n)
	return int(v)
}

func (m *message) string() string { return fmt.Sprintf("%q", m.take(max(m.uvarint()-1, 0))) }

// tags skips tagged fields.
func (m *message) tags() {
	for range m.uvarint() {
		m.uvarint()
		m.take(m.uvarint())
		if m.err != nil {
			return
		}
	}
}

// list is a JSON array of elements, each with its tagged fields behind it.
func (m *message) list(element func() string) string {
	var all []string
	for range m.uvarint() - 1 {
		all = append(all, element())
		m.tags()
		if m.err != nil {
			return ""
		}
	}
	return "[" + strings.Join(all, ",") + "]"
}

func (m *message) leaderChange() string {
	version, leader := m.int16(), m.int32()
	voter := func() string {
		text := fmt.Sprintf(`{"voterId":%d`, m.int32())
		if version >= 1 {
			text += fmt.Sprintf(`,"voterDirectoryId":"%s"`, m.uuid())
		}
		return text + "}"
	}
	return fmt.Sprintf(`{"version":%d,"leaderId":%d,"voters":%s,"grantingVoters":%s}`, version, leader, m.list(voter), m.list(voter))
}

func (m *message) votersRecord() string {
	version := m.int16()
	voters := m.list(func() string {
		id, dir := m.int32(), m.uuid()
		endpoints := m.list(func() string {
			return fmt.Sprintf(`{"name":%s,"host":%s,"port":%d}`, m.string(), m.string(), m.uint16())
		})
		low, high := m.int16(), m.int16()
		m.tags()
		return fmt.Sprintf(`{"voterId":%d,"voterDirectoryId":"%s","endpoints":%s,"kRaftVersionFeature":{"minSupportedVersion":%d,"maxSupportedVersion":%d}}`,
			id, dir, endpoints, low, high)
	})
	return fmt.Sprintf(`{"version":%d,"voters":%s}`, version, voters)
}
