package history

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const good = `{"index":0,"time":10,"proc":"c1","process":0,"id":1,"type":"invoke","f":"produce","topic":"t","partition":0,"values":["a","b"],"acks":-1,"idempotent":true,"pid":7,"pepoch":0,"seq":0}
{"index":1,"time":20,"proc":"c1","process":0,"id":1,"type":"ok","f":"produce","topic":"t","partition":0,"retried":true,"offset":0}
{"index":2,"time":21,"proc":"c1","process":0,"id":2,"type":"invoke","f":"produce","topic":"t","partition":0,"values":["c"],"acks":0}
{"index":3,"time":30,"proc":"c2","process":1,"id":1,"type":"invoke","f":"fetch","topic":"t","partition":0,"offset":0,"final":true}
{"index":4,"time":40,"proc":"c2","process":1,"id":1,"type":"ok","f":"fetch","topic":"t","partition":0,"offset":0,"records":[[0,"a"],[1,"b"]],"hw":2,"log_start":0,"final":true}
{"index":5,"time":41,"proc":"c2","process":1,"id":2,"type":"invoke","f":"list-offsets","topic":"t","partition":0,"offset":-1}
{"index":6,"time":42,"proc":"c2","process":1,"id":2,"type":"ok","f":"list-offsets","topic":"t","partition":0,"offset":2}
{"index":7,"time":43,"proc":"c2","process":1,"id":3,"type":"invoke","f":"init-producer-id"}
{"index":8,"time":44,"proc":"c2","process":1,"id":3,"type":"ok","f":"init-producer-id","pid":8,"pepoch":0}
{"index":9,"time":45,"proc":"c2","process":1,"id":4,"type":"invoke","f":"fetch","topic":"t","partition":0,"offset":9}
{"index":10,"time":46,"proc":"c2","process":1,"id":4,"type":"fail","f":"fetch","topic":"t","partition":0,"offset":9,"error":"OFFSET_OUT_OF_RANGE","corrupt":"\"\\\u000a"}
`

func TestReadWriteRoundTrip(t *testing.T) {
	ops, err := Read(strings.NewReader(good))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, WriteAll(&out, ops))
	require.Equal(t, good, out.String())

	pairs, err := Pair(ops)
	require.NoError(t, err)
	var text []string
	for i := range pairs {
		text = append(text, pairs[i].String())
	}
	require.Equal(t, strings.TrimSpace(`
[0.000000s..0.000000s] c1/0#1 produce t-0 [a b] acks=all pid=7/0 seq=0 -> ok offset 0 retried
[0.000000s..never] c1/0#2 produce t-0 [c] acks=0 -> open
[0.000000s..0.000000s] c2/1#1 fetch t-0 from 0 final -> ok [0:a 1:b] hw=2 start=0
[0.000000s..0.000000s] c2/1#2 list-offsets t-0 latest -> ok offset 2
[0.000000s..0.000000s] c2/1#3 init-producer-id -> ok pid=8/0
[0.000000s..0.000000s] c2/1#4 fetch t-0 from 9 -> fail OFFSET_OUT_OF_RANGE corrupt: "\`+"\n"), strings.TrimSpace(strings.Join(text, "\n")))
	require.True(t, pairs[0].Acked())
	require.True(t, pairs[0].Retried())
	require.Equal(t, Forever, pairs[1].Return)
	require.Equal(t, int64(9), pairs[5].Offset())
}

// TestRefused names the line of every kind of damage. Each case edits the good history in one place.
func TestRefused(t *testing.T) {
	const produceOK = `{"index":1,"time":20,"proc":"c1","process":0,"id":1,"type":"ok"`
	cases := []struct {
		name, old, new string
		line           int
		why            string
	}{
		{"cut at the end", `"corrupt":"\"\\\u000a"}` + "\n", `"corr`, 11, "cut in the middle: it has no newline"},
		{"cut inside", `"values":["c"],"acks":0}`, `"values":["c"]`, 3, "cut in the middle: the JSON object is not closed"},
		{"newline lost", "\n" + `{"index":10`, `{"index":10`, 10, "follows the JSON object"},
		{"empty line", "\n" + `{"index":5`, "\n\n" + `{"index":5`, 6, "the line is empty"},
		{"line of spaces", "\n" + `{"index":5`, "\n \t\n" + `{"index":5`, 6, "the line is empty"},
		{"unknown key", `"acks":0`, `"ack":0`, 3, "unknown field"},
		{"unknown type", `"id":2,"type":"invoke","f":"produce"`, `"id":2,"type":"begin","f":"produce"`, 3, `unknown type "begin"`},
		{"unknown f", `"f":"init-producer-id","pid":8`, `"f":"init-pid","pid":8`, 9, `unknown f "init-pid"`},
		{"never invoked", produceOK, strings.Replace(produceOK, `"id":1`, `"id":5`, 1), 2, "c1/0 operation 5 completes (ok) and was never invoked"},
		{"invoked twice", `"time":21,"proc":"c1","process":0,"id":2`, `"time":21,"proc":"c1","process":0,"id":1`, 3, "is invoked twice"},
		{"completes twice", `"id":4,"type":"fail","f":"fetch","topic":"t","partition":0,"offset":9`, `"id":1,"type":"ok","f":"fetch","topic":"t","partition":0,"offset":0`, 11, "completes twice"},
		{"value twice", `["c"]`, `["a"]`, 3, `value "a" is produced again, first on line 1`},
		{"time goes back", `"time":41`, `"time":39`, 6, "time goes back in c2: 39 ns after 40 ns"},
		{"other partition", `"type":"ok","f":"list-offsets","topic":"t","partition":0`, `"type":"ok","f":"list-offsets","topic":"t","partition":1`, 7, "completes as list-offsets t-1 but was invoked as list-offsets t-0"},
		{"other offset", `"offset":0,"records"`, `"offset":1,"records"`, 5, "asked for offset 0 and completes for offset 1"},
		{"ack near 2^63", `"retried":true,"offset":0`, `"retried":true,"offset":9223372036854775806`, 2, "offset 9223372036854775806 is above 9223372036846387199"},
		{"record near 2^63", `[1,"b"]`, `[9223372036854775807,"b"]`, 5, "offset 9223372036854775807 is above 9223372036846387199"},
		{"record not a pair", `[[0,"a"],[1,"b"]]`, `[[0,"a"],[1]]`, 5, "a record is [offset,"},
		{"no time", `"time":41,`, ``, 6, "no time"},
		{"no id", `"process":1,"id":2,"type":"invoke"`, `"process":1,"type":"invoke"`, 6, "no id"},
		{"no pid", `"pid":8,`, ``, 9, "without pid"},
		{"timestamp lookup", `"offset":-1}`, `"offset":1234}`, 6, "only latest (-1) and earliest (-2)"},
		{"no values", `"values":["c"],`, ``, 3, "produce without values"},
		{"number too large", `"partition":0,"offset":2`, `"partition":99999999999,"offset":2`, 7, "cannot unmarshal number"},
		{"not an object", `{"index":7,"time":43,"proc":"c2","process":1,"id":3,"type":"invoke","f":"init-producer-id"}`, `[]`, 8, "cannot unmarshal array"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, 1, strings.Count(good, c.old), "the edit must hit one place: %s", c.old)
			_, err := Read(strings.NewReader(strings.Replace(good, c.old, c.new, 1)))
			var at *LineError
			require.ErrorAs(t, err, &at)
			require.Equal(t, c.line, at.Line, err)
			require.Contains(t, at.Why, c.why)
		})
	}
}

func TestLineIsBounded(t *testing.T) {
	long := `{"proc":"` + strings.Repeat("x", MaxLine) + `"}` + "\n"
	_, err := Read(strings.NewReader(long))
	require.ErrorContains(t, err, "history: line 1: longer than 8388608 bytes")
	_, err = Read(strings.NewReader(long[:MaxLine+10]))
	require.ErrorContains(t, err, "history: line 1:")

	w := NewWriter(&bytes.Buffer{}, nil)
	require.ErrorContains(t, w.Write(&Op{F: Produce, Values: []string{long}}), "history: line 1: line of")
}

func TestWriterStampsAndNumbers(t *testing.T) {
	var out bytes.Buffer
	now := int64(100)
	w := NewWriter(&out, func() int64 { now++; return now })
	op := Op{Proc: "c1", ID: 1, Type: Invoke, F: CreateTopic, Topic: "t"}
	require.NoError(t, w.Write(&op))
	op.Type = OK
	require.NoError(t, w.Write(&op))
	require.Equal(t, int64(102), op.Time)
	require.Equal(t, int64(1), op.Index)
	require.Equal(t, `{"index":0,"time":101,"proc":"c1","process":0,"id":1,"type":"invoke","f":"create-topic","topic":"t","partition":0}
{"index":1,"time":102,"proc":"c1","process":0,"id":1,"type":"ok","f":"create-topic","topic":"t","partition":0}
`, out.String())
}

func TestMergeIsStable(t *testing.T) {
	a := []Op{{Proc: "a", ID: 1, Time: 1}, {Proc: "a", ID: 2, Time: 3}, {Proc: "a", ID: 3, Time: 3}}
	b := []Op{{Proc: "b", ID: 1, Time: 1}, {Proc: "b", ID: 2, Time: 2}}
	var got []string
	for i, op := range Merge(a, b) {
		require.Equal(t, int64(i), op.Index)
		got = append(got, op.key().String())
	}
	require.Equal(t, []string{"a/0 operation 1", "b/0 operation 1", "b/0 operation 2", "a/0 operation 2", "a/0 operation 3"}, got)
}

func TestOutcome(t *testing.T) {
	require.Equal(t, OK, Outcome("", true))
	require.Equal(t, Fail, Outcome("MESSAGE_TOO_LARGE", false))
	require.Equal(t, Info, Outcome("MESSAGE_TOO_LARGE", true), "an earlier attempt may have been appended")
	for _, name := range []string{"NOT_LEADER_OR_FOLLOWER", "OUT_OF_ORDER_SEQUENCE_NUMBER", "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
		"REQUEST_TIMED_OUT", "KAFKA_STORAGE_ERROR", "UNKNOWN_SERVER_ERROR", "UNKNOWN_PRODUCER_ID", ErrConnection, ErrTimeout, "NO_SUCH_NAME"} {
		require.Equal(t, Info, Outcome(name, false), name)
	}
	require.Equal(t, Fail, Outcome(ErrDial, false))
}

// drawOp draws an operation as a client may write it.
func drawOp(t *rapid.T, text *rapid.Generator[string]) Op {
	op := Op{
		Index: rapid.Int64Min(0).Draw(t, "index"), Time: rapid.Int64Min(0).Draw(t, "time"),
		Proc: "c" + text.Draw(t, "proc"), Process: rapid.IntRange(0, 9).Draw(t, "process"), ID: rapid.Int64().Draw(t, "id"),
		Type: rapid.SampledFrom([]Type{Invoke, OK, Fail, Info}).Draw(t, "type"), F: Produce,
		Topic: "t" + text.Draw(t, "topic"), Partition: rapid.Int32Min(0).Draw(t, "partition"),
		Values: rapid.SliceOfN(text, 1, 4).Draw(t, "values"), Error: text.Draw(t, "error"), Corrupt: text.Draw(t, "corrupt"),
		PID: NoOffset, PEpoch: -1, Seq: -1, Offset: NoOffset, HW: -1, LogStart: -1, Final: rapid.Bool().Draw(t, "final"),
	}
	switch rapid.IntRange(0, 3).Draw(t, "f") {
	case 0:
		op.F, op.Offset = Fetch, rapid.Int64Min(0).Draw(t, "offset")
		op.Values = nil
		if op.Type != Invoke {
			op.Records = []Rec{{rapid.Int64Max(MaxOffset).Draw(t, "o"), text.Draw(t, "v")}}
			op.HW, op.LogStart = rapid.Int64().Draw(t, "hw"), rapid.Int64().Draw(t, "start")
		}
	case 1:
		op.F, op.Values, op.Offset = ListOffsets, nil, Latest
	default:
		if op.Idempotent = rapid.Bool().Draw(t, "idempotent"); op.Idempotent {
			op.PID, op.PEpoch, op.Seq = rapid.Int64().Draw(t, "pid"), rapid.Int16().Draw(t, "pepoch"), rapid.Int32().Draw(t, "seq")
		}
		if op.Type == OK {
			op.Offset = rapid.Int64Range(-1, MaxOffset).Draw(t, "base")
		}
	}
	return op
}

// TestLineRoundTrip: whatever a client writes comes back, for every operation and text.
func TestLineRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := drawOp(t, rapid.String())
		got, err := Parse(Append(nil, &op))
		require.NoError(t, err)
		require.Equal(t, op, got)
	})
}

// TestDamagedBytes: no bytes make the reader panic, and what it accepts it writes back to something it accepts.
func TestDamagedBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(good)
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		ops, err := Read(bytes.NewReader(data[:rapid.IntRange(0, len(data)).Draw(t, "len")]))
		if err != nil {
			return
		}
		var out bytes.Buffer
		require.NoError(t, WriteAll(&out, ops))
		again, err := Read(&out)
		require.NoError(t, err)
		require.Len(t, again, len(ops))
	})
}

func BenchmarkAppend(b *testing.B) {
	ops, err := Read(strings.NewReader(good))
	require.NoError(b, err)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = Append(buf[:0], &ops[0])
	}
}

func BenchmarkRead(b *testing.B) {
	b.SetBytes(int64(len(good)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(strings.NewReader(good)); err != nil {
			b.Fatal(err)
		}
	}
}
