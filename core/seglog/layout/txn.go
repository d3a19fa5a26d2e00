package layout

import (
	"encoding/binary"
	"fmt"

	"trialog/core/kafka"
)

// TxnEntrySize is the size of an entry of a .txnindex.
const TxnEntrySize = 34

const txnVersion = 0

// TxnEntry is one aborted transaction whose marker lies in the segment (KIP-98).
type TxnEntry struct {
	Producer   kafka.ProducerID
	First      kafka.Offset // of its first record
	Last       kafka.Offset // of its marker
	LastStable kafka.Offset // the last stable offset as the marker left it
}

// AppendTxnEntries appends entries as they lie in a .txnindex: i16 version 0, i64 producer id, i64 first offset, i64 last
// offset, i64 last stable offset.
func AppendTxnEntries(b []byte, rows []TxnEntry) []byte {
	be := binary.BigEndian
	for _, r := range rows {
		b = be.AppendUint16(b, txnVersion)
		b = be.AppendUint64(b, uint64(r.Producer))
		b = be.AppendUint64(b, uint64(r.First))
		b = be.AppendUint64(b, uint64(r.Last))
		b = be.AppendUint64(b, uint64(r.LastStable))
	}
	return b
}

// ParseTxnIndex reads the entries of a .txnindex. The error names the byte from which on they cannot be right; the rows
// before it are returned with it.
func ParseTxnIndex(b []byte) (rows []TxnEntry, err error) {
	be := binary.BigEndian
	for pos := 0; pos < len(b); pos += TxnEntrySize {
		e := b[pos:]
		if len(e) < TxnEntrySize {
			return rows, fmt.Errorf("byte %d: %d bytes, an entry has %d", pos, len(e), TxnEntrySize)
		}
		if version := be.Uint16(e); version != txnVersion {
			return rows, fmt.Errorf("byte %d: version %d, want %d", pos, version, txnVersion)
		}
		r := TxnEntry{
			Producer: int64(be.Uint64(e[2:])), First: int64(be.Uint64(e[10:])), Last: int64(be.Uint64(e[18:])),
			LastStable: int64(be.Uint64(e[26:])),
		}
		if r.Producer < 0 || r.First < 0 || r.Last <= r.First || r.LastStable < 0 || r.LastStable > r.Last+1 {
			return rows, fmt.Errorf("byte %d: producer %d, offsets %d to %d, last stable offset %d", pos, r.Producer, r.First, r.Last, r.LastStable)
		}
		if n := len(rows); n > 0 && r.Last <= rows[n-1].Last {
			return rows, fmt.Errorf("byte %d: last offset %d follows %d", pos, r.Last, rows[n-1].Last)
		}
		rows = append(rows, r)
	}
	return rows, nil
}
