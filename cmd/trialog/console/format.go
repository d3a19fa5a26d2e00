package console

import (
	"bufio"
	"fmt"
	"strconv"

	"trialog/core/client"
	"trialog/core/kafka"
)

// RecordFormat says which parts of a record are printed. They come in the order of the fields.
type RecordFormat struct {
	Timestamp bool // print.timestamp, as CreateTime:ms or LogAppendTime:ms
	Partition bool // print.partition, as Partition:n
	Offset    bool // print.offset, as Offset:n
	Delivery  bool // print.delivery, as Delivery:NOT_PRESENT: there are no share groups
	Epoch     bool // print.epoch, the leader's, as Epoch:n
	Headers   bool // print.headers, as key:value,key:value or NO_HEADERS
	Key       bool // print.key
	Value     bool // print.value

	KeySeparator     string // key.separator: between two parts
	LineSeparator    string // line.separator: behind a record
	HeadersSeparator string // headers.separator: between two headers
	NullLiteral      string // null.literal: printed for null
}

// stringDeserializer is the one deserializer that changes nothing; others are Java classes that only Kafka's tool can load.
const stringDeserializer = "org.apache.kafka.common.serialization.StringDeserializer"

// NewRecordFormat is Kafka's default, changed by what p says.
func NewRecordFormat(p *Properties) (*RecordFormat, error) {
	f := &RecordFormat{Value: true, KeySeparator: "\t", LineSeparator: "\n", HeadersSeparator: ",", NullLiteral: "null"}
	for _, row := range []struct {
		name string
		to   *bool
	}{
		{"print.timestamp", &f.Timestamp}, {"print.partition", &f.Partition}, {"print.offset", &f.Offset}, {"print.delivery", &f.Delivery},
		{"print.epoch", &f.Epoch}, {"print.headers", &f.Headers}, {"print.key", &f.Key}, {"print.value", &f.Value},
	} {
		if err := p.truth(row.name, row.to); err != nil {
			return nil, err
		}
	}
	p.text("key.separator", &f.KeySeparator)
	p.text("line.separator", &f.LineSeparator)
	p.text("headers.separator", &f.HeadersSeparator)
	p.text("null.literal", &f.NullLiteral)
	for _, name := range []string{"key.deserializer", "value.deserializer", "headers.deserializer"} {
		class := stringDeserializer
		if p.text(name, &class); class != stringDeserializer {
			return nil, fmt.Errorf("--property %s=%s: bytes are printed as they are, no class can be loaded", name, class)
		}
	}
	return f, p.rest()
}

// part is one thing to print.
type part struct {
	on    bool
	write func(w *bufio.Writer)
}

// Write prints one record of a partition. Errors stay in w.
func (f *RecordFormat) Write(w *bufio.Writer, partition kafka.PartitionID, r *client.Record) {
	parts := [...]part{
		{f.Timestamp, func(w *bufio.Writer) { w.WriteString(timestamp(r)) }},
		{f.Partition, func(w *bufio.Writer) { number(w, "Partition:", int64(partition)) }},
		{f.Offset, func(w *bufio.Writer) { number(w, "Offset:", r.Offset) }},
		{f.Delivery, func(w *bufio.Writer) { w.WriteString("Delivery:NOT_PRESENT") }},
		{f.Epoch, func(w *bufio.Writer) { epoch(w, r.LeaderEpoch) }},
		{f.Headers, func(w *bufio.Writer) { f.headers(w, r) }},
		{f.Key, func(w *bufio.Writer) { f.bytes(w, r.Key) }},
		{f.Value, func(w *bufio.Writer) { f.bytes(w, r.Value) }},
	}
	written := false
	for _, p := range parts {
		if !p.on {
			continue
		}
		if written {
			w.WriteString(f.KeySeparator)
		}
		p.write(w)
		written = true
	}
	if written {
		w.WriteString(f.LineSeparator)
	}
}

func number(w *bufio.Writer, name string, n int64) {
	w.WriteString(name)
	w.Write(strconv.AppendInt(w.AvailableBuffer(), n, 10))
}

func epoch(w *bufio.Writer, e int32) {
	if e < 0 {
		w.WriteString("Epoch:NOT_PRESENT")
		return
	}
	number(w, "Epoch:", int64(e))
}

func timestamp(r *client.Record) string {
	switch {
	case r.Timestamp < 0:
		return "NO_TIMESTAMP"
	case r.LogAppendTime:
		return "LogAppendTime:" + strconv.FormatInt(r.Timestamp, 10)
	}
	return "CreateTime:" + strconv.FormatInt(r.Timestamp, 10)
}

func (f *RecordFormat) headers(w *bufio.Writer, r *client.Record) {
	if len(r.Headers) == 0 {
		w.WriteString("NO_HEADERS")
	}
	for i, h := range r.Headers {
		if i > 0 {
			w.WriteString(f.HeadersSeparator)
		}
		w.WriteString(h.Key)
		w.WriteByte(':')
		f.bytes(w, h.Value)
	}
}

func (f *RecordFormat) bytes(w *bufio.Writer, b []byte) {
	if b == nil {
		w.WriteString(f.NullLiteral)
		return
	}
	w.Write(b)
}
