package compact

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
)

// ErrUnreadable: a batch of the log is damaged. Its log cannot be cleaned.
var ErrUnreadable = errors.New("compact: unreadable batch")

// ErrTooLarge: what a segment becomes is more than a segment can have, since batches with a delete horizon grow a little.
var ErrTooLarge = errors.New("compact: a segment of more than 2 GiB")

// ErrNoRoom: the map cannot take the keys of one batch.
var ErrNoRoom = errors.New("compact: log.cleaner.dedupe.buffer.size is too small")

// contentMax bounds what the records of one compressed batch may be uncompressed, in bytes: no batch that a broker takes
// comes near.
const contentMax = 1 << 30

// Rules are the safety mechanisms of a round; true is the safe behaviour. seglog documents them.
type Rules struct {
	KeepLogEnd    bool // C4: seglog.compact-keeps-log-end
	DeleteHorizon bool // C3: seglog.compact-delete-horizon
}

// Newest is the newest batch of a producer, as the producer state has it.
type Newest struct {
	ID         kafka.ProducerID
	Epoch      kafka.ProducerEpoch
	LastOffset kafka.Offset // of its last data batch; -1: only a marker is known of it
}

// Round is what all batches of one round are filtered with.
type Round struct {
	Map               *Map
	Txns              *Txns // nil: no transactional batch is in the map's range
	NowMs             int64 // wall time
	DeleteRetentionMs int64
	Newest            []Newest // by ID, C5
	Rules             Rules
}

// Stats count what a round did.
type Stats struct {
	Read, Written      int64 // bytes of batches that were filtered
	Indexed            int64 // bytes of batches whose keys were put into the map
	Records, Kept      int64
	Keyless            int64   // records without a key, which a compacted topic cannot keep
	Tombstones         int64   // that were kept
	Copied, Rebuilt    int64   // batches that stayed as they were, and that did not
	Emptied, Dropped   int64   // batches that stayed without a record, and that did not stay
	Keys               int64   // in the map
	MapUsed            float64 // share of the map
	MapBytes, IOBuffer int64   // memory: of the map, and the most that the buffers came to
}

// Filter filters the batches of a round, in order of their offsets from the log start on. It keeps buffers, and the state
// of transactions whose markers it has not met yet.
type Filter struct {
	Round
	Stats Stats

	seen    map[kafka.ProducerID]bool // a batch of its open transaction went by in this round
	content []byte                    // of a compressed batch
	runs    []run
	rebuilt []byte
}

// run is a range of bytes of records that stay.
type run struct{ from, to int }

// NewFilter begins a round.
func NewFilter(r Round) *Filter { return &Filter{Round: r, seen: map[kafka.ProducerID]bool{}} }

// Batch appends to dst what stays of the next batch: all of it, a smaller one in its place, or nothing. batch has been
// validated (record.Validate). The error is ErrUnreadable. What stays has header kept, which is not valid when nothing
// does.
func (f *Filter) Batch(dst []byte, h *record.Header, batch []byte) (out []byte, kept record.Header, err error) {
	f.Stats.Read += int64(len(batch))
	emptied := f.marked(h, batch)
	if emptied.err != nil {
		return dst, kept, emptied.err
	}
	if emptied.all {
		f.Stats.Records += int64(h.Count)
		out, kept = f.empty(dst, h)
		return out, kept, nil
	}
	found, err := f.sift(h, batch)
	if err != nil {
		return dst, kept, err
	}
	f.Stats.Kept += int64(found.count)
	if found.count == 0 {
		out, kept = f.empty(dst, h)
		return out, kept, nil
	}
	f.Stats.Tombstones += int64(found.tombstones)
	setHorizon := (found.mature || emptied.marker) && h.Attributes&record.HasDeleteHorizon == 0
	if found.count == h.Count && !setHorizon {
		f.Stats.Copied++
		f.Stats.Written += int64(len(batch))
		return append(dst, batch...), *h, nil
	}
	f.Stats.Rebuilt++
	start := len(dst)
	dst, kept = f.rebuild(dst, h, found, setHorizon)
	f.Stats.Written += int64(len(dst) - start)
	return dst, kept, nil
}

// verdict is what the transaction of a batch says of it.
type verdict struct {
	all    bool // no record stays
	marker bool // a marker of which nothing else is left: it goes when its horizon has passed
	err    error
}

// marked decides on a batch by its transaction: data of an aborted one goes; a marker goes delete.retention.ms after the
// first round that met no batch of its transaction (KIP-534).
func (f *Filter) marked(h *record.Header, batch []byte) verdict {
	if !h.IsControl() {
		if h.IsTransactional() {
			f.seen[h.ProducerID] = true
		}
		return verdict{all: f.Txns.Aborted(h)}
	}
	kind, ok, err := marker(batch)
	if err != nil || !ok {
		return verdict{all: true, err: err}
	}
	if kind != record.ControlAbort && kind != record.ControlCommit {
		return verdict{}
	}
	used := f.seen[h.ProducerID]
	delete(f.seen, h.ProducerID)
	if used || h.LastOffset() >= f.Map.End() {
		return verdict{}
	}
	return verdict{all: f.past(h), marker: true}
}

// past reports that the batch has a delete horizon, and that it has passed.
func (f *Filter) past(h *record.Header) bool {
	if !f.Rules.DeleteHorizon {
		return true
	}
	return h.Attributes&record.HasDeleteHorizon != 0 && f.NowMs >= h.BaseTimestamp
}

// sifted is what sift found: where the records lie that stay (f.runs, in content), and what is known of them.
type sifted struct {
	content           []byte
	count, tombstones int32
	newestMs          int64 // the largest of their timestamps
	mature            bool  // a tombstone among them is in the map's range: its time begins
}

func (f *Filter) sift(h *record.Header, batch []byte) (sifted, error) {
	out := sifted{newestMs: kafka.NoTimestamp, content: batch[record.HeaderSize:]}
	if h.Codec() != record.Uncompressed {
		var err error
		if f.content, err = decompress(f.content[:0], h.Codec(), out.content); err != nil {
			return out, wrap(err)
		}
		out.content = f.content
	}
	f.runs = f.runs[:0]
	it := record.NewRecordsOf(h, out.content)
	for pos := 0; it.Next(); {
		r, end := it.Record(), len(out.content)-it.Rest()
		f.Stats.Records++
		if f.stays(h, r) {
			if n := len(f.runs); n > 0 && f.runs[n-1].to == pos {
				f.runs[n-1].to = end
			} else {
				f.runs = append(f.runs, run{pos, end})
			}
			out.count++
			out.newestMs = max(out.newestMs, r.Timestamp)
			if r.Value == nil && !h.IsControl() {
				out.tombstones++
				out.mature = out.mature || r.Offset < f.Map.End()
			}
		}
		pos = end
	}
	return out, wrap(it.Err())
}

// stays decides on a record, C2 and C3. Control records are decided on with their batch.
func (f *Filter) stays(h *record.Header, r *record.Record) bool {
	switch {
	case h.IsControl() || r.Offset >= f.Map.End():
		return true
	case r.Key == nil:
		f.Stats.Keyless++
		return false
	}
	if newest, ok := f.Map.Newest(r.Key); ok && newest > r.Offset {
		return false
	}
	return r.Value != nil || !f.past(h)
}

// empty leaves the header of a batch whose records are gone, if it is a producer's newest (C5), or nothing.
func (f *Filter) empty(dst []byte, h *record.Header) ([]byte, record.Header) {
	if !f.newest(h) {
		f.Stats.Dropped++
		return dst, record.Header{}
	}
	return f.header(dst, h)
}

// Tail appends the header of the last batch of a group of segments, of which Batch has left nothing (C4); nothing if the
// rule is off.
func (f *Filter) Tail(dst []byte, h *record.Header) ([]byte, record.Header) {
	if !f.Rules.KeepLogEnd {
		return dst, record.Header{}
	}
	f.Stats.Dropped--
	return f.header(dst, h)
}

// header appends a batch without records; one that had none stays as it is.
func (f *Filter) header(dst []byte, h *record.Header) ([]byte, record.Header) {
	kept := *h
	kept.Attributes &^= record.CodecMask
	if h.Count == 0 {
		f.Stats.Copied++
	} else {
		f.Stats.Emptied++
		kept.Attributes &^= record.HasDeleteHorizon
		kept.Count, kept.BaseTimestamp = 0, kafka.NoTimestamp
	}
	f.Stats.Written += record.HeaderSize
	return seal(dst, len(dst), kept, nil)
}

// newest reports the newest batch of a producer that is known: of one that has no data batch, a marker of its epoch.
func (f *Filter) newest(h *record.Header) bool {
	if !h.HasProducerID() {
		return false
	}
	i, ok := slices.BinarySearchFunc(f.Newest, h.ProducerID, func(n Newest, id kafka.ProducerID) int { return cmp.Compare(n.ID, id) })
	if !ok {
		return false
	}
	if n := f.Newest[i]; n.LastOffset >= 0 {
		return h.LastOffset() == n.LastOffset
	} else {
		return h.IsControl() && h.ProducerEpoch == n.Epoch
	}
}

// Put puts the keys of the next batch into the map. It is false when the map is full: the batch is not in it, the round
// ends before it. The error is ErrUnreadable, or that not even one batch has room.
func (f *Filter) Put(h *record.Header, batch []byte) (bool, error) {
	f.Stats.Indexed += int64(len(batch))
	if h.IsControl() || f.Txns.Aborted(h) {
		f.Map.Extend(h.NextOffset())
		return true, nil
	}
	content := batch[record.HeaderSize:]
	if h.Codec() != record.Uncompressed {
		var err error
		if f.content, err = decompress(f.content[:0], h.Codec(), content); err != nil {
			return false, wrap(err)
		}
		content = f.content
	}
	it := record.NewRecordsOf(h, content)
	for it.Next() {
		r := it.Record()
		if r.Key != nil && r.Offset >= f.Map.End() && !f.Map.Put(r.Key, r.Offset) {
			return false, nil
		}
	}
	if err := it.Err(); err != nil {
		return false, wrap(err)
	}
	f.Map.Extend(h.NextOffset())
	return true, nil
}

// Buffers is the memory of the filter's buffers, in bytes.
func (f *Filter) Buffers() int64 { return int64(cap(f.content) + cap(f.rebuilt)) }

// Shrink gives back buffers of more than max bytes.
func (f *Filter) Shrink(max int) {
	if cap(f.content) > max {
		f.content = nil
	}
	if cap(f.rebuilt) > max {
		f.rebuilt = nil
	}
}

// decompress appends what payload is uncompressed to dst. NB: the memory grows with what comes out, not with what a
// header claims.
func decompress(dst []byte, c record.Codec, payload []byte) ([]byte, error) {
	if c > record.Zstd {
		return dst, fmt.Errorf("records of %s", c)
	}
	s := codec.Open(c, payload, contentMax)
	defer s.Close()
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, max(4*len(payload), 4096))
		}
		n, err := s.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, fmt.Errorf("records of %s: %w", c, err)
		}
	}
}
