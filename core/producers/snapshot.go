package producers

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"trialog/core/kafka"
)

// Sizes of a snapshot, in bytes.
const (
	snapshotVersion    = 1
	snapshotCRCFrom    = 6 // the CRC covers from here to the end
	snapshotHeaderSize = 10
	snapshotEntrySize  = 46
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendSnapshot appends the bytes of Kafka's file <offset>.snapshot, version 1, big-endian:
//
//	i16 version, u32 crc-32c of what follows, i32 count, then count times
//	i64 id, i16 epoch, i32 last sequence, i64 last offset, i32 offset delta, i64 timestamp, i32 coordinator epoch,
//	i64 first offset of the open transaction or -1
//
// The state must be that of the log below <offset>, the name of the file.
//
// Kafka writes one entry for each producer, its last batch, so that a restart forgets four of the five remembered
// batches and answers a retry of those with OUT_OF_ORDER_SEQUENCE_NUMBER. We write one entry for each remembered batch,
// oldest first: Kafka's reader lets a later entry of a producer replace the former, and so ends with the last batch.
// A producer without batches is one entry with sequence and offset -1, as in Kafka.
func (s *State) AppendSnapshot(b []byte) []byte {
	be := binary.BigEndian
	start := len(b)
	b = be.AppendUint16(b, snapshotVersion)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0) // crc and count, below
	count := 0
	for i := range s.producers {
		p := &s.producers[i]
		if p.count == 0 {
			b = appendEntry(b, p, Batch{LastSeq: kafka.NoSequence, LastOffset: kafka.NoOffset, Timestamp: p.LastTimestamp})
			count++
		}
		for j, batch := range p.Batches() {
			if j < int(p.count)-1 && !s.rules.SnapshotKeepsFive {
				continue
			}
			if j == int(p.count)-1 {
				batch.Timestamp = p.LastTimestamp // as Kafka: what expiry looks at must survive
			}
			b = appendEntry(b, p, batch)
			count++
		}
	}
	be.PutUint32(b[start+snapshotCRCFrom:], uint32(count))
	be.PutUint32(b[start+2:], crc32.Checksum(b[start+snapshotCRCFrom:], castagnoli))
	return b
}

func appendEntry(b []byte, p *Producer, batch Batch) []byte {
	be := binary.BigEndian
	b = be.AppendUint64(b, uint64(p.ID))
	b = be.AppendUint16(b, uint16(p.Epoch))
	b = be.AppendUint32(b, uint32(batch.LastSeq))
	b = be.AppendUint64(b, uint64(batch.LastOffset))
	b = be.AppendUint32(b, uint32(batch.OffsetDelta))
	b = be.AppendUint64(b, uint64(batch.Timestamp))
	b = be.AppendUint32(b, uint32(p.CoordinatorEpoch))
	return be.AppendUint64(b, uint64(p.TxnFirstOffset))
}

// Entry is one row of a snapshot as it lies in the file.
type Entry struct {
	ID               kafka.ProducerID
	Epoch            kafka.ProducerEpoch
	CoordinatorEpoch int32
	TxnFirstOffset   kafka.Offset // of the open transaction, or -1
	Batch            Batch        // LastOffset -1: none
}

// SnapshotEntries reads the rows of a snapshot, written by us or by Kafka: version, CRC and count are right, the rows are
// what they are.
func SnapshotEntries(b []byte) ([]Entry, error) {
	be := binary.BigEndian
	if len(b) < snapshotHeaderSize {
		return nil, fmt.Errorf("producers: snapshot of %d bytes, want %d at least", len(b), snapshotHeaderSize)
	}
	if version := be.Uint16(b); version != snapshotVersion {
		return nil, fmt.Errorf("producers: snapshot version %d, want %d", version, snapshotVersion)
	}
	if have, want := crc32.Checksum(b[snapshotCRCFrom:], castagnoli), be.Uint32(b[2:]); have != want {
		return nil, fmt.Errorf("producers: snapshot crc %08x, want %08x", have, want)
	}
	rows := b[snapshotHeaderSize:]
	if count := be.Uint32(b[snapshotCRCFrom:]); int64(count)*snapshotEntrySize != int64(len(rows)) {
		return nil, fmt.Errorf("producers: snapshot count %d, but %d bytes of entries follow", count, len(rows))
	}
	var entries []Entry
	for ; len(rows) > 0; rows = rows[snapshotEntrySize:] {
		entries = append(entries, entryOf(rows))
	}
	return entries, nil
}

func entryOf(b []byte) Entry {
	be := binary.BigEndian
	e := Entry{
		ID:               int64(be.Uint64(b)),
		Epoch:            int16(be.Uint16(b[8:])),
		CoordinatorEpoch: int32(be.Uint32(b[34:])),
		TxnFirstOffset:   int64(be.Uint64(b[38:])),
		Batch: Batch{
			LastSeq:     int32(be.Uint32(b[10:])),
			LastOffset:  int64(be.Uint64(b[14:])),
			OffsetDelta: int32(be.Uint32(b[22:])),
			Timestamp:   int64(be.Uint64(b[26:])),
		},
	}
	e.Batch.FirstSeq = firstSequence(e.Batch.LastSeq, e.Batch.OffsetDelta)
	return e
}

// ParseSnapshot reads the snapshot that was taken at offset end (its file's name), written by us or by Kafka. Anything
// that is not whole and consistent is an error, an entry at or above end for one (KAFKA-6683): the caller then takes an
// older snapshot, or replays the log from its start.
func ParseSnapshot(rules Rules, end kafka.Offset, b []byte) (*State, error) {
	entries, err := SnapshotEntries(b)
	if err != nil {
		return nil, err
	}
	s := New(rules)
	for i, e := range entries {
		if err := s.load(e, end); err != nil {
			return nil, fmt.Errorf("producers: snapshot entry %d: %w", i, err)
		}
	}
	s.end = end
	return s, nil
}

// load takes in one entry; a later one of the same producer is a newer batch.
func (s *State) load(e Entry, end kafka.Offset) error {
	batch := e.Batch
	switch {
	case e.ID < 0 || e.Epoch < -1 || batch.LastSeq < -1 || batch.LastOffset < -1 || e.TxnFirstOffset < -1:
		return fmt.Errorf("negative: producer %d/%d seq %d offset %d txn %d", e.ID, e.Epoch, batch.LastSeq, batch.LastOffset, e.TxnFirstOffset)
	case batch.OffsetDelta < 0 || int64(batch.OffsetDelta) > max(batch.LastOffset, 0):
		return fmt.Errorf("producer %d: offset delta %d of last offset %d", e.ID, batch.OffsetDelta, batch.LastOffset)
	case (batch.LastOffset >= end || e.TxnFirstOffset >= end) && s.rules.SnapshotBelowEnd:
		return fmt.Errorf("producer %d: offset %d or transaction at %d is not below the snapshot at %d",
			e.ID, batch.LastOffset, e.TxnFirstOffset, end)
	}
	p := s.entry(e.ID)
	if last, ok := p.Last(); ok && batch.FirstOffset() <= last.LastOffset {
		return fmt.Errorf("producer %d: batch at %d..%d follows %d", e.ID, batch.FirstOffset(), batch.LastOffset, last.LastOffset)
	}
	p.setEpoch(e.Epoch)
	p.CoordinatorEpoch, p.TxnFirstOffset, p.LastTimestamp = e.CoordinatorEpoch, e.TxnFirstOffset, batch.Timestamp
	if batch.LastOffset >= 0 {
		s.push(p, batch)
	}
	return nil
}

// firstSequence goes back from the last sequence, over 0 to MaxSequence.
func firstSequence(last kafka.Sequence, delta int32) kafka.Sequence {
	if last < 0 {
		return kafka.NoSequence
	}
	return kafka.Sequence((int64(last) - int64(delta)) & int64(kafka.MaxSequence))
}
