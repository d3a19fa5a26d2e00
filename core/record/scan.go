package record

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"trialog/core/kafka"
)

// ScanWindow is a good size for the window of Produced.Scan, in bytes.
const ScanWindow = 32 << 10

// Scan checks the records of a compressed batch as they come out of r, which decompresses them, as ValidateProduce checks
// those of one that is not compressed: sizes, offset deltas 0, 1, 2 ..., as many as the header counts, nothing left over.
// It fills in MaxTimestamp, MinTimestamp and Keyless. No record is kept: window, which has room for a varint at least, is
// all the memory it needs, and is the caller's. Errors: an [*Error] with FaultRecord, or what r says, as it says it.
func (p *Produced) Scan(r io.Reader, window []byte) error {
	if len(window) < binary.MaxVarintLen64 {
		panic(fmt.Sprintf("record: a scan through a window of %d bytes", len(window)))
	}
	max := p.RecordMax
	if max == 0 {
		max = math.MaxInt64
	}
	return p.scan(&scanner{src: r, buf: window, max: max})
}

// walk checks the records of a batch that is not compressed.
func (p *Produced) walk(b []byte) error {
	return p.scan(&scanner{buf: b[HeaderSize:], end: len(b) - HeaderSize, ended: true, max: math.MaxInt64})
}

func (p *Produced) scan(s *scanner) error {
	p.MinTimestamp, p.MaxTimestamp = kafka.NoTimestamp, kafka.NoTimestamp
	p.Oldest, p.Newest, p.Keyless = -1, -1, -1
	for i := range p.Count {
		timestamp, delta, hasKey := s.record()
		if delta != int64(i) {
			s.fail(fmt.Sprintf("offset delta %d", delta))
		}
		if s.bad != "" {
			return s.fault(i, p.Count)
		}
		ms := p.BaseTimestamp + timestamp
		if ms > p.MaxTimestamp {
			p.MaxTimestamp, p.Newest = ms, i
		}
		if ms != kafka.NoTimestamp && (ms < p.MinTimestamp || p.MinTimestamp == kafka.NoTimestamp) {
			p.MinTimestamp, p.Oldest = ms, i
		}
		if !hasKey && p.Keyless < 0 {
			p.Keyless = i
		}
	}
	s.fill(1)
	if s.left = int64(s.end - s.pos); s.left > 0 {
		s.fail("bytes after the last record")
		return s.fault(p.Count, p.Count)
	}
	return s.err
}

// FirstAt finds the first record with an offset of at least start and a timestamp (ms) of at least ts in a compressed
// batch of a log, whose records r decompresses and window is for as in Scan. It reads no further than there. Errors are
// those of Scan; offset deltas need only increase.
func (h *Header) FirstAt(r io.Reader, window []byte, start kafka.Offset, ts int64) (offset kafka.Offset, timestamp int64, found bool, err error) {
	s := scanner{src: r, buf: window, max: math.MaxInt64}
	last := int64(-1)
	for i := range h.Count {
		timestamp, delta, _ := s.record()
		if delta <= last || delta > int64(h.LastOffsetDelta) {
			s.fail(fmt.Sprintf("offset delta %d after %d", delta, last))
		}
		if s.bad != "" {
			return 0, 0, false, s.fault(i, h.Count)
		}
		last = delta
		ms := h.BaseTimestamp + timestamp
		if h.IsLogAppendTime() {
			ms = h.MaxTimestamp
		}
		if offset := h.BaseOffset + delta; ms >= ts && offset >= start {
			return offset, ms, true, nil
		}
	}
	return 0, 0, false, s.err
}

// scanner reads a stream through a window; like cursor, it is bad from the first thing that does not fit.
type scanner struct {
	src      io.Reader
	buf      []byte
	pos, end int   // of what is in buf and not yet read
	err      error // of src; nil at its end
	ended    bool
	max      int64 // bytes that a record may have
	left     int64 // bytes of the current record that are not yet read; below 0 when it was too short
	bad      string
}

func (s *scanner) fail(what string) {
	if s.bad == "" {
		s.bad = what
	}
}

// fault is what ended the scan in front of record i.
func (s *scanner) fault(i, count int32) error {
	if s.err != nil {
		return s.err
	}
	return &Error{Fault: FaultRecord, Have: s.left, Detail: fmt.Sprintf("%s (record %d of %d)", s.bad, i, count)}
}

// fill tries to have n bytes in the window. NB: a scan of bytes that lie there whole, which has no src, must not move them.
func (s *scanner) fill(n int) {
	if s.ended || s.end-s.pos >= n {
		return
	}
	s.end = copy(s.buf, s.buf[s.pos:s.end])
	s.pos = 0
	for s.end < n && !s.ended {
		k, err := s.src.Read(s.buf[s.end:])
		s.end += k
		if err != nil {
			s.ended = true
			if err != io.EOF {
				s.err = err
			}
		}
	}
}

// varlong reads a zigzag varint of up to 64 bits.
func (s *scanner) varlong() int64 {
	s.fill(binary.MaxVarintLen64)
	v, n := binary.Varint(s.buf[s.pos:s.end])
	if n <= 0 {
		s.fail("bad varint")
		return 0
	}
	s.pos += n
	if s.left -= int64(n); s.left < 0 {
		s.fail("varint beyond the record")
	}
	return v
}

// varint reads a zigzag varint of up to 32 bits.
func (s *scanner) varint() int64 {
	v := s.varlong()
	if int64(int32(v)) != v {
		s.fail("varint over 32 bits")
		return 0
	}
	return v
}

// skip passes over n bytes of the record.
func (s *scanner) skip(n int64) {
	if n < 0 || n > s.left {
		s.fail("size out of range")
		return
	}
	s.left -= n
	if n <= int64(s.end-s.pos) {
		s.pos += int(n)
		return
	}
	for {
		k := min(n, int64(s.end-s.pos))
		s.pos += int(k)
		if n -= k; n == 0 {
			return
		}
		if s.fill(1); s.end == s.pos {
			s.fail("the stream ends in a record")
			return
		}
	}
}

// bytes passes over a size and that many bytes; false is null.
func (s *scanner) bytes() bool {
	n := s.varint()
	if n == -1 {
		return false
	}
	s.skip(n)
	return true
}

// record passes over one record.
func (s *scanner) record() (timestamp, delta int64, hasKey bool) {
	if size, n := short(s.buf[s.pos:s.end]); n > 0 && size > 0 && size <= min(s.max, int64(s.end-s.pos-n)) {
		var ok bool
		if timestamp, delta, hasKey, ok = plainRecord(s.buf[s.pos+n : s.pos+n+int(size)]); ok {
			s.pos += n + int(size)
			return timestamp, delta, hasKey
		}
	}
	s.left = math.MaxInt64
	size := s.varint()
	if size < 0 || size > s.max {
		s.fail(fmt.Sprintf("size %d out of range", size))
	}
	s.left = size
	s.skip(1) // attributes of a record have no meaning yet
	timestamp = s.varlong()
	delta = s.varint()
	hasKey = s.bytes()
	s.bytes()
	headers := s.varint()
	if headers < 0 || headers > s.left/2 { // each takes two bytes at least
		s.fail("header count out of range")
	}
	for ; headers > 0 && s.bad == ""; headers-- {
		if !s.bytes() {
			s.fail("null header key")
		}
		s.bytes()
	}
	if s.left != 0 {
		s.fail("bytes after the headers of a record")
	}
	return timestamp, delta, hasKey
}

// plainRecord reads a record that lies whole in b and has nothing unusual: it is not ok if anything is wrong, or a varint
// is not the shortest or of more than two bytes, and then record finds out what it is. It sees the same as record, in a third of the time.
func plainRecord(b []byte) (timestamp, delta int64, hasKey, ok bool) {
	timestamp, n := short(b[1:])
	i := 1 + n
	delta, m := short(b[i:])
	i += m
	if n == 0 || m == 0 {
		return 0, 0, false, false
	}
	key := plainBytes(b[i:])
	i += max(key, 0)
	value := plainBytes(b[i:])
	i += max(value, 0)
	headers, n := short(b[i:])
	if key < 0 || value < 0 || n == 0 {
		return 0, 0, false, false
	}
	hasKey = b[i-value-key] != nullSize
	for i += n; headers > 0; headers-- {
		name := plainBytes(b[i:])
		if name < 0 || b[i] == nullSize {
			return 0, 0, false, false
		}
		i += name
		value := plainBytes(b[i:])
		if value < 0 {
			return 0, 0, false, false
		}
		i += value
	}
	return timestamp, delta, hasKey, headers == 0 && i == len(b)
}

// nullSize is the varint of -1, the size of null.
const nullSize = 1

// plainBytes is the length of a size and that many bytes at the front of b; -1 if they are not there.
func plainBytes(b []byte) int {
	size, n := short(b)
	switch {
	case size == -1:
		return n
	case n == 0 || size < 0 || size > int64(len(b)-n):
		return -1
	}
	return n + int(size)
}

// short reads a zigzag varint of one or two bytes; n is 0 if it is of more, or longer than it need be, or not there.
func short(b []byte) (v int64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return int64(b[0]>>1) ^ -int64(b[0]&1), 1
	}
	if len(b) > 1 && b[1] < 0x80 && b[1] > 0 {
		u := int64(b[0]&0x7f) | int64(b[1])<<7
		return u>>1 ^ -(u & 1), 2
	}
	return 0, 0
}
