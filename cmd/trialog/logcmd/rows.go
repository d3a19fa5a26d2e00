package logcmd

import (
	"encoding/json"
	"strconv"

	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// batchRow is the header of a batch.
type batchRow struct {
	File     string
	Kind     string
	h        record.Header
	Position int64
	Valid    bool
}

// appendLine is the line of Kafka's tool.
func (r *batchRow) appendLine(b []byte) []byte {
	h := &r.h
	b = field(b, "baseOffset: ", h.BaseOffset)
	b = field(b, " lastOffset: ", h.LastOffset())
	b = field(b, " count: ", int64(h.Count))
	b = field(b, " baseSequence: ", int64(h.BaseSequence))
	b = field(b, " lastSequence: ", int64(h.LastSequence()))
	b = field(b, " producerId: ", h.ProducerID)
	b = field(b, " producerEpoch: ", int64(h.ProducerEpoch))
	b = field(b, " partitionLeaderEpoch: ", int64(h.LeaderEpoch))
	b = strconv.AppendBool(append(b, " isTransactional: "...), h.IsTransactional())
	b = strconv.AppendBool(append(b, " isControl: "...), h.IsControl())
	b = optional(append(b, " deleteHorizonMs: "...), h.BaseTimestamp, h.Attributes&record.HasDeleteHorizon != 0)
	b = field(b, " position: ", r.Position)
	b = field(append(append(b, ' '), timestampType(h)+": "...), "", h.MaxTimestamp)
	b = field(b, " size: ", int64(h.Size()))
	b = field(b, " magic: ", int64(h.Magic))
	b = append(append(b, " compresscodec: "...), codecName(h)...)
	b = field(b, " crc: ", int64(h.CRC))
	return strconv.AppendBool(append(b, " isvalid: "...), r.Valid)
}

// MarshalJSON has the same fields under the same names.
func (r *batchRow) MarshalJSON() ([]byte, error) {
	h := &r.h
	var horizon *int64
	if h.Attributes&record.HasDeleteHorizon != 0 {
		horizon = &h.BaseTimestamp
	}
	return json.Marshal(struct {
		File                 string `json:"file"`
		Kind                 string `json:"kind"`
		BaseOffset           int64  `json:"baseOffset"`
		LastOffset           int64  `json:"lastOffset"`
		Count                int32  `json:"count"`
		BaseSequence         int32  `json:"baseSequence"`
		LastSequence         int32  `json:"lastSequence"`
		ProducerID           int64  `json:"producerId"`
		ProducerEpoch        int16  `json:"producerEpoch"`
		PartitionLeaderEpoch int32  `json:"partitionLeaderEpoch"`
		IsTransactional      bool   `json:"isTransactional"`
		IsControl            bool   `json:"isControl"`
		DeleteHorizonMs      *int64 `json:"deleteHorizonMs"`
		Position             int64  `json:"position"`
		TimestampType        string `json:"timestampType"`
		MaxTimestamp         int64  `json:"maxTimestamp"`
		Size                 int    `json:"size"`
		Magic                int8   `json:"magic"`
		CompressCodec        string `json:"compresscodec"`
		CRC                  uint32 `json:"crc"`
		IsValid              bool   `json:"isvalid"`
	}{r.File, r.Kind, h.BaseOffset, h.LastOffset(), h.Count, h.BaseSequence, h.LastSequence(), h.ProducerID, h.ProducerEpoch,
		h.LeaderEpoch, h.IsTransactional(), h.IsControl(), horizon, r.Position, timestampType(h), h.MaxTimestamp, h.Size(), h.Magic,
		codecName(h), h.CRC, r.Valid})
}

func timestampType(h *record.Header) string {
	if h.IsLogAppendTime() {
		return "LogAppendTime"
	}
	return "CreateTime"
}

func codecName(h *record.Header) string {
	if h.Codec() == record.Uncompressed {
		return "none"
	}
	return h.Codec().String()
}

// recordRow is one record.
type recordRow struct {
	File, Kind string
	rec        *record.Record
	h          *record.Header
	headers    []record.RecordHeader
	control    string // what a control record says; "" for data
	metadata   bool
	contents   bool
}

// sequence is the record's own.
func (r *recordRow) sequence() kafka.Sequence {
	if r.h.BaseSequence < 0 {
		return kafka.NoSequence
	}
	return kafka.NextSequence(r.h.BaseSequence, int32(r.rec.Offset-r.h.BaseOffset))
}

// appendLine is the line of Kafka's tool.
func (r *recordRow) appendLine(b []byte) []byte {
	prefix := "| "
	if r.metadata {
		b = field(b, "| offset: ", r.rec.Offset)
		b = field(append(append(b, ' '), timestampType(r.h)+": "...), "", r.rec.Timestamp)
		b = field(b, " keySize: ", sizeOf(r.rec.Key))
		b = field(b, " valueSize: ", sizeOf(r.rec.Value))
		b = field(b, " sequence: ", int64(r.sequence()))
		b = append(b, " headerKeys: ["...)
		for i, h := range r.headers {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, javaString([]byte(h.Key))...)
		}
		b = append(append(b, ']'), r.control...)
		prefix = " "
	}
	if !r.contents || r.h.IsControl() {
		return b
	}
	if r.rec.Key != nil {
		b = append(append(append(b, prefix...), "key: "...), javaString(r.rec.Key)...)
		prefix = " "
	}
	if r.rec.Value != nil {
		b = append(append(append(b, prefix...), "payload: "...), javaString(r.rec.Value)...)
	}
	return b
}

// MarshalJSON has the fields, and keys and values as bytes (base64) besides text.
func (r *recordRow) MarshalJSON() ([]byte, error) {
	type header struct {
		Key   string `json:"key"`
		Value []byte `json:"value"`
	}
	out := struct {
		File          string   `json:"file"`
		Kind          string   `json:"kind"`
		Offset        int64    `json:"offset"`
		TimestampType string   `json:"timestampType"`
		Timestamp     int64    `json:"timestamp"`
		KeySize       int64    `json:"keySize"`
		ValueSize     int64    `json:"valueSize"`
		Sequence      int32    `json:"sequence"`
		Headers       []header `json:"headers"`
		Control       string   `json:"control,omitempty"`
		Key           *[]byte  `json:"key,omitempty"`
		Payload       *[]byte  `json:"payload,omitempty"`
	}{File: r.File, Kind: r.Kind, Offset: r.rec.Offset, TimestampType: timestampType(r.h), Timestamp: r.rec.Timestamp,
		KeySize: sizeOf(r.rec.Key), ValueSize: sizeOf(r.rec.Value), Sequence: r.sequence(), Headers: []header{}}
	for _, h := range r.headers {
		out.Headers = append(out.Headers, header(h))
	}
	if len(r.control) > 0 {
		out.Control = r.control[1:]
	} else if r.contents {
		out.Key, out.Payload = &r.rec.Key, &r.rec.Value
	}
	return json.Marshal(out)
}

// sizeOf is -1 for null.
func sizeOf(b []byte) int64 {
	if b == nil {
		return -1
	}
	return int64(len(b))
}

// offsetRow is an entry of an .index.
type offsetRow struct {
	File     string `json:"file"`
	Kind     string `json:"kind"`
	Offset   int64  `json:"offset"`
	Position int64  `json:"position"`
}

func (r offsetRow) appendLine(b []byte) []byte {
	return field(field(b, "offset: ", r.Offset), " position: ", r.Position)
}

// timeRow is an entry of a .timeindex.
type timeRow struct {
	File      string `json:"file"`
	Kind      string `json:"kind"`
	Timestamp int64  `json:"timestamp"`
	Offset    int64  `json:"offset"`
}

func (r timeRow) appendLine(b []byte) []byte {
	return field(field(b, "timestamp: ", r.Timestamp), " offset: ", r.Offset)
}

// txnRow is an entry of a .txnindex.
type txnRow struct {
	File             string `json:"file"`
	Kind             string `json:"kind"`
	ProducerID       int64  `json:"producerId"`
	FirstOffset      int64  `json:"firstOffset"`
	LastOffset       int64  `json:"lastOffset"`
	LastStableOffset int64  `json:"lastStableOffset"`
}

func txnRowOf(file string, e layout.TxnEntry) txnRow {
	return txnRow{file, "aborted", e.Producer, e.First, e.Last, e.LastStable}
}

func (r txnRow) appendLine(b []byte) []byte {
	b = field(b, "version: 0 producerId: ", r.ProducerID)
	b = field(b, " firstOffset: ", r.FirstOffset)
	b = field(b, " lastOffset: ", r.LastOffset)
	return field(b, " lastStableOffset: ", r.LastStableOffset)
}

// producerRow is an entry of a .snapshot.
type producerRow struct {
	File                  string `json:"file"`
	Kind                  string `json:"kind"`
	ProducerID            int64  `json:"producerId"`
	ProducerEpoch         int16  `json:"producerEpoch"`
	CoordinatorEpoch      int32  `json:"coordinatorEpoch"`
	CurrentTxnFirstOffset int64  `json:"currentTxnFirstOffset"` // -1: none
	LastTimestamp         int64  `json:"lastTimestamp"`
	FirstSequence         int32  `json:"firstSequence"`
	LastSequence          int32  `json:"lastSequence"`
	LastOffset            int64  `json:"lastOffset"` // -1: no batch
	OffsetDelta           int32  `json:"offsetDelta"`
}

func producerRowOf(file string, e producers.Entry) producerRow {
	return producerRow{file, "producer", e.ID, e.Epoch, e.CoordinatorEpoch, e.TxnFirstOffset, e.Batch.Timestamp, e.Batch.FirstSeq,
		e.Batch.LastSeq, e.Batch.LastOffset, e.Batch.OffsetDelta}
}

func (r producerRow) appendLine(b []byte) []byte {
	b = field(b, "producerId: ", r.ProducerID)
	b = field(b, " producerEpoch: ", int64(r.ProducerEpoch))
	b = field(b, " coordinatorEpoch: ", int64(r.CoordinatorEpoch))
	b = optional(append(b, " currentTxnFirstOffset: "...), r.CurrentTxnFirstOffset, r.CurrentTxnFirstOffset >= 0)
	b = field(b, " lastTimestamp: ", r.LastTimestamp)
	if r.LastOffset < 0 {
		return b
	}
	b = field(b, " firstSequence: ", int64(r.FirstSequence))
	b = field(b, " lastSequence: ", int64(r.LastSequence))
	b = field(b, " lastOffset: ", r.LastOffset)
	b = field(b, " offsetDelta: ", int64(r.OffsetDelta))
	return field(b, " timestamp: ", r.LastTimestamp)
}

// textRow is a line of a text file, which Kafka's tool does not read.
type textRow struct {
	File string `json:"file"`
	Kind string `json:"kind"`
	Line string `json:"line"`
}

func (r textRow) appendLine(b []byte) []byte { return append(b, r.Line...) }

func field(b []byte, name string, v int64) []byte {
	return strconv.AppendInt(append(b, name...), v, 10)
}

// optional is how Java prints an OptionalLong.
func optional(b []byte, v int64, there bool) []byte {
	if !there {
		return append(b, "OptionalLong.empty"...)
	}
	return append(strconv.AppendInt(append(b, "OptionalLong["...), v, 10), ']')
}
