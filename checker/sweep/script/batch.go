package script

import (
	"strconv"
	"strings"

	"trialog/core/kafka"
	"trialog/core/record"
)

// Batch says what is appended.
type Batch struct {
	Count, Size int    // records, and bytes of each value
	Ts          int64  // ms, of the first record; each later one is a millisecond more
	Tag         string // makes the values unlike all others
	Keys        []string
	ProducerID  kafka.ProducerID
	Sequence    kafka.Sequence
	Epoch       kafka.LeaderEpoch
	Base        kafka.Offset // follow
}

// Bytes builds the batch anew: whoever appends it may change it.
func (b *Batch) Bytes() []byte {
	var out record.Builder
	out.Reset(nil)
	if b.ProducerID >= 0 {
		out.SetProducer(b.ProducerID, 0, b.Sequence)
	}
	for i := range b.Count {
		var key []byte
		value := b.value(i)
		if len(b.Keys) > 0 {
			name, null := strings.CutSuffix(b.Keys[i%len(b.Keys)], "!")
			key = []byte(name)
			if null {
				value = nil
			}
		}
		out.Append(b.Ts+int64(i), key, value)
	}
	return out.Finish()
}

// Follower is the batch as a leader stamped it.
func (b *Batch) Follower() []byte {
	raw := b.Bytes()
	record.SetBaseOffset(raw, b.Base)
	record.SetLeaderEpoch(raw, b.Epoch)
	return raw
}

// value is a text and, up to the size, bytes that repeat nowhere: a page of zeros or of another file is no part of it.
func (b *Batch) value(i int) []byte {
	v := []byte(b.Tag + "/" + strconv.Itoa(i) + ":")
	state := uint64(i) + 1
	for _, c := range v {
		state = state*1099511628211 + uint64(c)
	}
	for len(v) < b.Size {
		state = state*6364136223846793005 + 1442695040888963407
		v = append(v, byte(state>>56)|1)
	}
	return v
}
