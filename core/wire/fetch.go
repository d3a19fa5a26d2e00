package wire

import "encoding/binary"

// FetchResponse lays out a Fetch response of versions 4 to 17 whose record bytes
// are sent from elsewhere: the memory part is built in one buffer, and Cuts tells
// where record bytes go between. For every partition:
//
//	... records length | <- a cut; the record bytes are sent here -> | tag buffer ...
//
// The caller decides each partition's length first, then calls Begin, Topic,
// Partition and End in order, then sends buf[:Cuts[0].At], Cuts[0].Len record
// bytes, buf[Cuts[0].At:Cuts[1].At], and so on. A value is reused.
type FetchResponse struct {
	Buf  []byte
	Cuts []FetchCut

	version int16
	inTopic bool
	records int
}

// FetchCut is a place in Buf after which Len record bytes are sent.
type FetchCut struct{ At, Len int }

// FetchPartition is one partition of the response. Offsets are -1 when unknown.
type FetchPartition struct {
	Index            int32
	ErrorCode        int16
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64
	RecordBytes      int // length of the record bytes; 0 sends no bytes, never null

	// DivergingEpoch (v12+, KIP-595) is sent when DivergingEpoch is not -1.
	DivergingEpoch     int32
	DivergingEndOffset int64
}

const (
	fetchFlexible = 12
	fetchTopicIDs = 13 // topics are named by id from here (KIP-516)
)

// Begin starts the frame of a response with so many topic entries.
func (f *FetchResponse) Begin(version int16, correlationID int32, errorCode int16, sessionID int32, topics int) {
	*f = FetchResponse{Buf: f.Buf[:0], Cuts: f.Cuts[:0], version: version}
	f.Buf = BeginResponse(f.Buf, KeyFetch, version, correlationID)
	f.Buf = binary.BigEndian.AppendUint32(f.Buf, 0) // throttle time
	if version >= 7 {
		f.Buf = binary.BigEndian.AppendUint16(f.Buf, uint16(errorCode))
		f.Buf = binary.BigEndian.AppendUint32(f.Buf, uint32(sessionID))
	}
	f.Buf = appendArrayLen(f.Buf, topics, f.flexible())
}

func (f *FetchResponse) flexible() bool { return f.version >= fetchFlexible }

// Topic starts a topic entry with so many partitions. The name is sent up to
// v12, the id from v13.
func (f *FetchResponse) Topic(name string, id [16]byte, partitions int) {
	f.endTopic()
	f.inTopic = true
	if f.version >= fetchTopicIDs {
		f.Buf = append(f.Buf, id[:]...)
	} else {
		f.Buf = appendString(f.Buf, name, f.flexible())
	}
	f.Buf = appendArrayLen(f.Buf, partitions, f.flexible())
}

func (f *FetchResponse) endTopic() {
	if f.inTopic {
		f.Buf = appendNoTags(f.Buf, f.flexible())
	}
	f.inTopic = false
}

// Partition appends one partition, and a cut if it has record bytes.
func (f *FetchResponse) Partition(p *FetchPartition) {
	b := f.Buf
	b = binary.BigEndian.AppendUint32(b, uint32(p.Index))
	b = binary.BigEndian.AppendUint16(b, uint16(p.ErrorCode))
	b = binary.BigEndian.AppendUint64(b, uint64(p.HighWatermark))
	b = binary.BigEndian.AppendUint64(b, uint64(p.LastStableOffset))
	if f.version >= 5 {
		b = binary.BigEndian.AppendUint64(b, uint64(p.LogStartOffset))
	}
	b = f.appendNoAborted(b)
	if f.version >= 11 {
		b = append(b, 0xff, 0xff, 0xff, 0xff) // preferred read replica: none
	}
	b = appendArrayLen(b, p.RecordBytes, f.flexible())
	if p.RecordBytes > 0 {
		f.Cuts = append(f.Cuts, FetchCut{At: len(b), Len: p.RecordBytes})
		f.records += p.RecordBytes
	}
	if f.flexible() {
		b = appendDiverging(b, p)
	}
	f.Buf = b
}

// appendNoAborted writes a null list of aborted transactions.
func (f *FetchResponse) appendNoAborted(b []byte) []byte {
	if f.flexible() {
		return append(b, 0)
	}
	return append(b, 0xff, 0xff, 0xff, 0xff)
}

func appendDiverging(b []byte, p *FetchPartition) []byte {
	if p.DivergingEpoch == -1 {
		return append(b, 0)
	}
	b = append(b, 1, 0, 13) // one tag: number 0, of 13 bytes
	b = binary.BigEndian.AppendUint32(b, uint32(p.DivergingEpoch))
	b = binary.BigEndian.AppendUint64(b, uint64(p.DivergingEndOffset))
	return append(b, 0)
}

// End completes the memory part and the size prefix.
func (f *FetchResponse) End() {
	f.endTopic()
	f.Buf = appendNoTags(f.Buf, f.flexible())
	EndFrame(f.Buf, 0, f.records)
}

// Size is the whole frame in bytes, record bytes included.
func (f *FetchResponse) Size() int { return len(f.Buf) + f.records }
