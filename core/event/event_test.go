package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		event Event
		want  string
	}{
		{Event{Kind: Start, Node: 1, Text: "trialog"}, `{"kind":"start","node":1,"text":"trialog"}`},
		{Event{Kind: Stop}, `{"kind":"stop","node":0}`},
		{
			Event{Kind: Append, Node: 1, Topic: "t", ProducerID: -1, ProducerEpoch: -1, BaseSeq: -1, LastSeq: -1, Next: 3, Offset: 9},
			`{"kind":"append","node":1,"topic":"t","partition":0,"epoch":0,"base":0,"next":3,"pid":-1,"pepoch":-1,"seq":-1,"lastseq":-1}`,
		},
		{Event{Kind: HW, Topic: "t", Partition: 2, Offset: 7}, `{"kind":"hw","node":0,"topic":"t","partition":2,"offset":7}`},
		{
			Event{Kind: Recover, Time: 5, Proc: "b1", Topic: "t", Next: 4, Text: "cut \"9\"\n\x00\u2028é😀"},
			`{"time":5,"proc":"b1","kind":"recover","node":0,"topic":"t","partition":0,"next":4,"text":"cut \"9\"\n\u0000\u2028é😀"}`,
		},
		{Event{Kind: Assert, Text: "a\xffb\x7f"}, `{"kind":"assert","node":0,"text":"a\ufffdb\u007f"}`},
		{Event{Kind: Metadata}, `{"kind":"metadata","node":0,"text":""}`},
	} {
		assert.Equal(t, c.want, c.event.String())
		assert.True(t, json.Valid([]byte(c.want)))
	}
}

// keep clears the fields that the kind does not carry.
func keep(e Event) Event {
	f := kinds[e.Kind].fields
	v := reflect.ValueOf(&e).Elem()
	for i, name := range []string{"Topic", "Partition", "Epoch", "Base", "Next", "Offset", "ProducerID", "ProducerEpoch", "BaseSeq", "LastSeq"} {
		if f&(fTopic<<i) == 0 {
			v.FieldByName(name).SetZero()
		}
	}
	return e
}

func drawEvent(t *rapid.T) Event {
	return Event{
		Time: rapid.Int64().Draw(t, "time"), Proc: rapid.String().Draw(t, "proc"),
		Kind: rapid.SampledFrom(Kinds()).Draw(t, "kind"), Node: rapid.Int32().Draw(t, "node"),
		Topic: rapid.String().Draw(t, "topic"), Partition: rapid.Int32().Draw(t, "partition"),
		Epoch: rapid.Int32().Draw(t, "epoch"), Base: rapid.Int64().Draw(t, "base"), Next: rapid.Int64().Draw(t, "next"),
		Offset: rapid.Int64().Draw(t, "offset"), ProducerID: rapid.Int64().Draw(t, "pid"),
		ProducerEpoch: rapid.Int16().Draw(t, "pepoch"), BaseSeq: rapid.Int32().Draw(t, "seq"),
		LastSeq: rapid.Int32().Draw(t, "lastseq"), Text: rapid.String().Draw(t, "text"),
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		line := e.AppendTo(nil)
		got, err := Parse(line)
		require.NoError(t, err)
		require.Equal(t, keep(e), got)
		require.Equal(t, string(line), string(got.AppendTo(nil)))
		require.True(t, json.Valid(line))
		require.Equal(t, 1, strings.Count(string(line), "\n"))
	})
}

// TestAgainstJSON reads lines that encoding/json wrote, in its order of keys and with its escapes.
func TestAgainstJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		var object map[string]any
		dec := json.NewDecoder(strings.NewReader(e.String()))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&object))
		line, err := json.MarshalIndent(object, " ", "\t")
		require.NoError(t, err)
		got, err := Parse(line)
		require.NoError(t, err, "%s", line)
		require.Equal(t, keep(e), got)
	})
}

func TestExtremes(t *testing.T) {
	e := Event{
		Kind: Append, Time: math.MinInt64, Node: math.MinInt32, Partition: math.MaxInt32, Base: math.MinInt64,
		Next: math.MaxInt64, ProducerEpoch: math.MinInt16,
	}
	got, err := Parse(e.AppendTo(nil))
	require.NoError(t, err)
	require.Equal(t, e, got)
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{``, "byte 0: want '{', have the end"},
		{`[]`, "want '{'"},
		{`{}`, "want '\"'"},
		{`{"kind":"start"}`, "start lacks node"},
		{`{"node":1}`, "no kind"},
		{`{"kind":"start","node":1,"epoch":2}`, "start has no epoch"},
		{`{"kind":"hw","node":1,"topic":"t"}`, "hw lacks partition offset"},
		{`{"kind":"nope","node":1}`, `unknown kind "nope"`},
		{`{"kind":"start","node":1,"nodes":1}`, `unknown key "nodes"`},
		{`{"kind":"start","node":1,"node":1}`, "key twice: node"},
		{`{"kind":"start","node":1} {`, "something after the object"},
		{"{\"kind\":\"start\",\"node\":1}\x00", "something after the object"},
		{`{"kind":"start","node":1,}`, "want '\"'"},
		{`{"kind":"start","node":2147483648}`, "number outside -2147483648 to 2147483647"},
		{`{"kind":"start","node":-2147483649}`, "number outside"},
		{`{"kind":"start","node":1e3}`, "want '}'"},
		{`{"kind":"start","node":01}`, "no integer"},
		{`{"kind":"start","node":"1"}`, "no integer"},
		{`{"kind":"start","node":-}`, "no integer"},
		{`{"kind":"start","node":1,"time":9223372036854775808}`, "number outside"},
		{`{"kind":"start","node":1,"time":99999999999999999999999}`, "number too large"},
		{`{"kind":"start","node":1,"text":"a`, "string without an end"},
		{`{"kind":"start","node":1,"text":"\q"}`, "bad escape"},
		{`{"kind":"start","node":1,"text":"\ud800"}`, "bad escape"},
		{`{"kind":"start","node":1,"text":"\ud800\u0041"}`, "bad escape"},
		{`{"kind":"start","node":1,"text":"\u00g0"}`, "bad escape"},
		{`{"kind":"start","node":1,"text":"\`, "bad escape"},
		{"{\"kind\":\"start\",\"node\":1,\"text\":\"\t\"}", "control character"},
		{"{\"kind\":\"start\",\"node\":1,\"text\":\"\xff\"}", "not UTF-8"},
	} {
		_, err := Parse([]byte(c.line))
		assert.ErrorContains(t, err, c.want, "%s", c.line)
	}
}

func TestDecoder(t *testing.T) {
	line := (&Event{Kind: Start, Node: 1}).String()
	all, err := ReadAll("e.jsonl", strings.NewReader(line+"\n"+line+"\n"))
	require.NoError(t, err)
	assert.Len(t, all, 2)

	all, err = ReadAll("e.jsonl", strings.NewReader(""))
	require.NoError(t, err)
	assert.Empty(t, all)

	all, err = ReadAll("e.jsonl", strings.NewReader(line+"\n"+line[:9]))
	assert.EqualError(t, err, `e.jsonl:2: event: line of 9 bytes is cut off: "{\"kind\":\""`)
	assert.Len(t, all, 1)

	_, err = ReadAll("e.jsonl", strings.NewReader(line))
	assert.ErrorContains(t, err, "e.jsonl:1: event: line of 25 bytes is cut off")

	_, err = ReadAll("e.jsonl", strings.NewReader(line+"\n\n"+line+"\n"))
	assert.ErrorContains(t, err, "e.jsonl:2: event: byte 0: want '{'")

	_, err = ReadAll("e.jsonl", strings.NewReader(strings.Repeat("x", LineMax+1)))
	assert.ErrorContains(t, err, "e.jsonl:1: event: bufio.Scanner: token too long")

	d := NewDecoder("e.jsonl", io.MultiReader(strings.NewReader(line+"\n"), failing{}))
	_, err = d.Next()
	require.NoError(t, err)
	assert.Equal(t, 1, d.Line())
	_, err = d.Next()
	assert.ErrorIs(t, err, errFailing)
}

var errFailing = errors.New("failing")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFailing }

func TestKinds(t *testing.T) {
	for _, k := range Kinds() {
		got, ok := ParseKind(k.String())
		assert.True(t, ok)
		assert.Equal(t, k, got)
	}
	assert.Equal(t, "kind(0)", Kind(0).String())
	assert.Panics(t, func() { (&Event{}).AppendTo(nil) })
}

func TestNoAllocation(t *testing.T) {
	e := Event{Kind: Append, Topic: "topic", Partition: 3, Next: 1 << 40, ProducerID: 9, Text: "é\n"}
	buf := make([]byte, 0, 512)
	assert.Zero(t, testing.AllocsPerRun(100, func() { buf = e.AppendTo(buf[:0]) }))
}

func BenchmarkAppendTo(b *testing.B) {
	e := Event{Kind: Append, Node: 1, Topic: "topic", Partition: 3, Base: 1 << 39, Next: 1 << 40, ProducerID: 9}
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = e.AppendTo(buf[:0])
	}
}

func BenchmarkParse(b *testing.B) {
	line := (&Event{Kind: Append, Node: 1, Topic: "topic", Partition: 3, Base: 1 << 39, Next: 1 << 40, ProducerID: 9}).AppendTo(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleEvent_String() {
	e := Event{Kind: Flush, Node: 1, Topic: "orders", Partition: 2, Next: 17}
	fmt.Println(e.String())
	// Output: {"kind":"flush","node":1,"topic":"orders","partition":2,"next":17}
}
