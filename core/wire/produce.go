package wire

import "encoding/binary"

// ProduceEntriesMax bounds topics plus partitions of one Produce request. A
// request over it is malformed: without a bound, 100 MiB of empty topics decode
// to gigabytes.
const ProduceEntriesMax = 50_000

// ProduceRequest is a Produce request of versions 3 to 11, walked in place. A
// value is reused from request to request, so that a request costs no allocation
// however many records it has. All byte slices alias the frame.
type ProduceRequest struct {
	Version   int16
	Acks      int16
	TimeoutMs int32

	// TransactionalID is nil when there is none.
	TransactionalID []byte

	Topics     []ProduceTopic
	Partitions []ProducePartition // of all topics, in request order
}

// ProduceTopic names the partitions [First, First+Count) of the request.
type ProduceTopic struct {
	Name         []byte
	First, Count int
}

// ProducePartition is one partition's batch and, once handled, its outcome.
type ProducePartition struct {
	Index   int32
	Records []byte // may be patched in place; nil when the client sent null

	// The outcome, as AppendProduceResponse writes it.
	ErrorCode      int16
	BaseOffset     int64
	LogAppendTime  int64
	LogStartOffset int64
	ErrorMessage   string // "" is sent as null
	ErrorRecord    int32  // index of a record that is why the batch was refused (KIP-467); -1: of none
}

// produceFlexible is the first flexible version.
const produceFlexible = 9

// Parse walks a request body. Outcomes are set to "none": error 0, offsets and
// time -1, no record. Errors wrap ErrMalformed.
func (r *ProduceRequest) Parse(version int16, body []byte) error {
	flexible := version >= produceFlexible
	c := cursor{src: body}
	*r = ProduceRequest{Version: version, Topics: r.Topics[:0], Partitions: r.Partitions[:0]}
	r.TransactionalID, _ = c.nullable(flexible, false)
	r.Acks = c.int16()
	r.TimeoutMs = c.int32()
	for n := c.arrayLen(flexible, 3); n > 0 && !c.bad; n-- {
		r.parseTopic(&c, flexible)
	}
	if flexible {
		c.skipTags()
	}
	if c.bad || r.entries() > ProduceEntriesMax {
		return malformed("Produce v%d: bad body of %d bytes (%d topics, %d partitions read)", version, len(body), len(r.Topics), len(r.Partitions))
	}
	return nil
}

func (r *ProduceRequest) entries() int { return len(r.Topics) + len(r.Partitions) }

func (r *ProduceRequest) parseTopic(c *cursor, flexible bool) {
	name, ok := c.nullable(flexible, false)
	if !ok || r.entries() >= ProduceEntriesMax {
		c.bad = true
		return
	}
	t := ProduceTopic{Name: name, First: len(r.Partitions)}
	for n := c.arrayLen(flexible, 5); n > 0 && !c.bad; n-- {
		p := ProducePartition{Index: c.int32(), BaseOffset: -1, LogAppendTime: -1, LogStartOffset: -1, ErrorRecord: -1}
		p.Records, _ = c.nullable(flexible, true)
		if flexible {
			c.skipTags()
		}
		if r.entries() >= ProduceEntriesMax {
			c.bad = true
			return
		}
		r.Partitions = append(r.Partitions, p)
		t.Count++
	}
	if flexible {
		c.skipTags()
	}
	r.Topics = append(r.Topics, t)
}

// AppendProduceResponse appends the body of the response: every partition of the
// request, in its order.
func AppendProduceResponse(dst []byte, r *ProduceRequest) []byte {
	flexible := r.Version >= produceFlexible
	dst = appendArrayLen(dst, len(r.Topics), flexible)
	for i := range r.Topics {
		t := &r.Topics[i]
		dst = appendString(dst, t.Name, flexible)
		dst = appendArrayLen(dst, t.Count, flexible)
		for j := range r.Partitions[t.First : t.First+t.Count] {
			dst = appendProducePartition(dst, &r.Partitions[t.First+j], r.Version)
		}
		dst = appendNoTags(dst, flexible)
	}
	dst = binary.BigEndian.AppendUint32(dst, 0) // throttle time
	return appendNoTags(dst, flexible)
}

func appendProducePartition(dst []byte, p *ProducePartition, version int16) []byte {
	flexible := version >= produceFlexible
	dst = binary.BigEndian.AppendUint32(dst, uint32(p.Index))
	dst = binary.BigEndian.AppendUint16(dst, uint16(p.ErrorCode))
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.BaseOffset))
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.LogAppendTime))
	if version >= 5 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(p.LogStartOffset))
	}
	if version >= 8 {
		dst = appendRecordErrors(dst, p, flexible)
		dst = appendNullableString(dst, p.ErrorMessage, flexible)
	}
	return appendNoTags(dst, flexible)
}

// appendRecordErrors names the record that was refused, if it was one; the reason is that of the batch.
func appendRecordErrors(dst []byte, p *ProducePartition, flexible bool) []byte {
	if p.ErrorRecord < 0 {
		return appendArrayLen(dst, 0, flexible)
	}
	dst = appendArrayLen(dst, 1, flexible)
	dst = binary.BigEndian.AppendUint32(dst, uint32(p.ErrorRecord))
	dst = appendNullableString(dst, p.ErrorMessage, flexible)
	return appendNoTags(dst, flexible)
}

func appendArrayLen(dst []byte, n int, flexible bool) []byte {
	if flexible {
		return binary.AppendUvarint(dst, uint64(n)+1)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(n))
}

func appendString[S ~string | ~[]byte](dst []byte, s S, flexible bool) []byte {
	if flexible {
		dst = binary.AppendUvarint(dst, uint64(len(s))+1)
	} else {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(s)))
	}
	return append(dst, s...)
}

func appendNullableString(dst []byte, s string, flexible bool) []byte {
	switch {
	case s != "":
		return appendString(dst, s, flexible)
	case flexible:
		return append(dst, 0)
	default:
		return append(dst, 0xff, 0xff)
	}
}

func appendNoTags(dst []byte, flexible bool) []byte {
	if flexible {
		return append(dst, 0)
	}
	return dst
}
