package meta

import (
	"encoding/binary"
	"errors"
	"fmt"

	"trialog/core/kafka"
)

// frameVersion is the version of the frame around every metadata record.
const frameVersion = 1

// AppendRecord appends frame and body.
func AppendRecord(b []byte, r Record) []byte {
	b = append(b, frameVersion)
	b = binary.AppendUvarint(b, uint64(r.Type()))
	b = binary.AppendUvarint(b, r.version())
	return r.appendBody(b)
}

// ParseRecord reads one record: all of b. Any bytes may be passed in; nothing in the record aliases them. Unknown tagged
// fields are skipped; an unknown type or version is an error, since to skip it would silently give another image.
func ParseRecord(b []byte) (Record, error) {
	r := &reader{b: b}
	frame, typ, version := r.uvarint(), r.uvarint(), r.uvarint()
	if r.err != nil {
		return nil, fmt.Errorf("meta: record frame: %w", r.err)
	}
	rec := newRecord(typ)
	if frame != frameVersion || rec == nil || version > versionMax(rec.Type()) {
		return nil, fmt.Errorf("meta: record with frame version %d, type %d, version %d: not known", frame, typ, version)
	}
	rec.parseBody(r, version)
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%d bytes follow", len(r.b))
	}
	if r.err != nil {
		return nil, fmt.Errorf("meta: record of type %d: %w", typ, r.err)
	}
	return rec, nil
}

func newRecord(typ uint64) Record {
	switch Type(typ) {
	case TypeRegisterBroker:
		return &RegisterBroker{}
	case TypeTopic:
		return &Topic{}
	case TypePartition:
		return &Partition{}
	case TypeConfig:
		return &Config{}
	case TypeRemoveTopic:
		return &RemoveTopic{}
	case TypeFeatureLevel:
		return &FeatureLevel{}
	case TypeProducerIDs:
		return &ProducerIDs{}
	case TypeUnregisterBroker:
		return &UnregisterBroker{}
	case TypePartitionChange:
		return &PartitionChange{}
	case TypeBrokerChange:
		return &BrokerChange{}
	}
	return nil
}

func appendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))+1), s...)
}

// appendNullable writes null instead of the string if null is set.
func appendNullable(b []byte, s string, null bool) []byte {
	if null {
		return append(b, 0)
	}
	return appendString(b, s)
}

func appendNodes(b []byte, nodes []kafka.NodeID) []byte {
	b = binary.AppendUvarint(b, uint64(len(nodes))+1)
	for _, n := range nodes {
		b = appendInt32(b, n)
	}
	return b
}

func appendUUIDs(b []byte, ids []kafka.TopicID) []byte {
	b = binary.AppendUvarint(b, uint64(len(ids))+1)
	for i := range ids {
		b = append(b, ids[i][:]...)
	}
	return b
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// noTags ends every structure without tagged fields.
func noTags(b []byte) []byte { return append(b, 0) }

// tagged collects tagged fields, which are added by tag, ascending.
type tagged struct {
	n int
	b []byte
}

func (t *tagged) add(tag uint64, value []byte) {
	t.n++
	t.b = binary.AppendUvarint(t.b, tag)
	t.b = append(binary.AppendUvarint(t.b, uint64(len(value))), value...)
}

// nodes adds a list unless it is nil, which stands for null.
func (t *tagged) nodes(tag uint64, nodes []kafka.NodeID) {
	if nodes != nil {
		t.add(tag, appendNodes(nil, nodes))
	}
}

func (t *tagged) appendTo(b []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(t.n)), t.b...)
}

// Errors of a reader.
var (
	errShort  = errors.New("ends too early")
	errLength = errors.New("length out of range")
	errNull   = errors.New("null where none may be")
)

// reader takes a body apart. After the first error all reads give zero values. It allocates no more than the bytes that
// are there account for.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail(errShort)
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) uvarint() uint64 {
	const bytesMax = 5
	v, n := binary.Uvarint(r.b[:min(len(r.b), bytesMax)])
	if n <= 0 || v > 1<<32-1 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) bool() bool { return r.int8() != 0 }

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) uuid() (id kafka.TopicID) {
	copy(id[:], r.take(len(id)))
	return id
}

func (r *reader) nullable() (s string, null bool) {
	n := r.uvarint()
	if n == 0 {
		return "", true
	}
	return string(r.take(int(n - 1))), false
}

func (r *reader) string() string {
	s, null := r.nullable()
	if null {
		r.fail(errNull)
	}
	return s
}

// count is the length of an array whose elements have at least size bytes.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n == 0 {
		if r.err == nil {
			r.fail(errNull)
		}
		return 0
	}
	if int64(n-1)*int64(size) > int64(len(r.b)) {
		r.fail(errLength)
		return 0
	}
	return int(n - 1)
}

// nodes is nil for an empty list.
func (r *reader) nodes() []kafka.NodeID {
	if nodes := r.someNodes(); len(nodes) > 0 {
		return nodes
	}
	return nil
}

// someNodes is a list that is not null; empty is not nil.
func (r *reader) someNodes() []kafka.NodeID {
	nodes := make([]kafka.NodeID, r.count(4))
	for i := range nodes {
		nodes[i] = r.int32()
	}
	return nodes
}

// maybeNodes is nil for null.
func (r *reader) maybeNodes() []kafka.NodeID {
	if len(r.b) > 0 && r.b[0] == 0 {
		r.take(1)
		return nil
	}
	return r.someNodes()
}

// uuids is a list that is not null; empty is not nil.
func (r *reader) uuids() []kafka.TopicID {
	ids := make([]kafka.TopicID, r.count(len(kafka.TopicID{})))
	for i := range ids {
		ids[i] = r.uuid()
	}
	return ids
}

// tags skips tagged fields.
func (r *reader) tags() { r.tagged(func(uint64, *reader) {}) }

// tagged gives each tagged field to known, which reads it whole, or reads nothing of one that it does not know.
func (r *reader) tagged(known func(tag uint64, field *reader)) {
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		tag, size := r.uvarint(), r.uvarint()
		field := &reader{b: r.take(int(size))}
		if r.err != nil {
			return
		}
		known(tag, field)
		switch {
		case field.err != nil:
			r.fail(fmt.Errorf("tagged field %d: %w", tag, field.err))
		case len(field.b) > 0 && len(field.b) < int(size):
			r.fail(fmt.Errorf("tagged field %d: %w", tag, errLength))
		}
	}
}
