package console

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/client"
	"trialog/core/record"
)

func shown(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

// Each row is what kafka-console-producer makes of the line under the same properties.
func TestLines(t *testing.T) {
	for _, row := range []struct{ properties, line, want string }{
		{"", "a\tb", `key null value "a\tb"`},
		{"", "", `key null value ""`},
		{"parse.key=TRUE", "a\tb\tc", `key "a" value "b\tc"`},
		{"parse.key=true key.separator=::", "a::b", `key "a" value "b"`},
		{"parse.key=true key.separator=:", ":b", `key "" value "b"`},
		{"parse.key=true key.separator=:", "b", `error line 7: no key separator ":" in "b"`},
		{"parse.key=true key.separator=: ignore.error=true", "b", `key null value "b"`},
		{"parse.headers=true", "h:1,i:2,,\tb", `key null value "b" h="1" i="2"`},
		{"parse.headers=true", "\tb", `error line 7: no header key separator ":" in header ""`},
		{"parse.headers=true", "b", `error line 7: no headers delimiter "\t" in "b"`},
		{"parse.headers=true ignore.error=true", "h\tb", `key null value "b" h=null`},
		{"parse.headers=true parse.key=true key.separator=: headers.delimiter=| headers.separator=; headers.key.separator==", "h=1;i=a=b|k:v", `key "k" value "v" h="1" i="a=b"`},
		{"parse.headers=true null.marker=N", "N\tv", `key null value "v"`},
		{"parse.headers=true null.marker=N", "h:N\tN", `key null value null h=null`},
		{"parse.headers=true null.marker=N", "N:1\tv", `error line 7: the key of a header is the null marker "N", and cannot be null`},
		{"parse.key=true null.marker=", "\t", `key null value null`},
		{"parse.key=true", "\t", `key "" value ""`},
		{"parse.key=yes", "", `error --property parse.key=yes: must be true or false`},
		{"parse.keys=true", "", `error --property parse.keys: no such property; there are headers.delimiter, headers.key.separator, headers.separator, ignore.error, key.separator, null.marker, parse.headers, parse.key`},
		{"key", "", `error --property "key" is not name=value`},
		{"headers.separator=:", "", `error headers.separator and headers.key.separator are both ":"`},
		{"null.marker=,", "", `error headers.separator and null.marker are both ","`},
		{"null.marker=; key.separator=;", "", `error null.marker and key.separator are both ";"`},
		{"key.separator=,", "x", `key null value "x"`},
		{"key.separator=", "", `error key.separator must not be empty`},
	} {
		require.Equal(t, row.want, parsed(row.properties, row.line), "%s: %q", row.properties, row.line)
	}
}

func parsed(properties, line string) string {
	p, err := ParseProperties(strings.Fields(properties))
	var f *LineFormat
	if err == nil {
		f, err = NewLineFormat(p)
	}
	var r client.Record
	if err == nil {
		r, err = f.Parse(7, line)
	}
	if err != nil {
		return "error " + err.Error()
	}
	s := "key " + shown(r.Key) + " value " + shown(r.Value)
	for _, h := range r.Headers {
		s += " " + h.Key + "=" + shown(h.Value)
	}
	return s
}

// Each row is what kafka-console-consumer prints of the record under the same properties.
func TestRecords(t *testing.T) {
	full := client.Record{
		Offset: 5, Timestamp: 17, Key: []byte("k"), Value: []byte("v"), LeaderEpoch: 3,
		Headers: []record.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "i"}},
	}
	bare := client.Record{Timestamp: -1, LeaderEpoch: -1}
	stamped := client.Record{Timestamp: 9, LogAppendTime: true, Value: []byte{}}
	all := "print.timestamp=true print.partition=true print.offset=true print.delivery=true print.epoch=true print.headers=true print.key=true"
	for _, row := range []struct {
		properties string
		record     client.Record
		want       string
	}{
		{"", full, "v\n"},
		{"", bare, "null\n"},
		{"print.key=true", full, "k\tv\n"},
		{"print.key=true print.value=false", full, "k\n"},
		{"print.value=false", full, ""},
		{all, full, "CreateTime:17\tPartition:2\tOffset:5\tDelivery:NOT_PRESENT\tEpoch:3\th:1,i:null\tk\tv\n"},
		{all, bare, "NO_TIMESTAMP\tPartition:2\tOffset:0\tDelivery:NOT_PRESENT\tEpoch:NOT_PRESENT\tNO_HEADERS\tnull\tnull\n"},
		{"print.timestamp=true", stamped, "LogAppendTime:9\t\n"},
		{"print.key=true print.headers=true key.separator=| line.separator=; headers.separator=+ null.literal=-", full, "h:1+i:-|k|v;"},
		{"value.deserializer=" + stringDeserializer, full, "v\n"},
	} {
		p, err := ParseProperties(strings.Fields(row.properties))
		require.NoError(t, err)
		f, err := NewRecordFormat(p)
		require.NoError(t, err)
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		f.Write(w, 2, &row.record)
		require.NoError(t, w.Flush())
		require.Equal(t, row.want, out.String(), row.properties)
	}
	for text, want := range map[string]string{
		"print.keys=true":      "--property print.keys: no such property; there are ",
		"value.deserializer=x": "--property value.deserializer=x: bytes are printed as they are, no class can be loaded",
	} {
		p, err := ParseProperties([]string{text})
		require.NoError(t, err)
		_, err = NewRecordFormat(p)
		require.ErrorContains(t, err, want)
	}
}
