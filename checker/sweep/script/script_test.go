package script

import (
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/record"
)

func TestParse(t *testing.T) {
	s, err := Parse("s", `# Two
# lines.
log t-0 internal.segment.bytes=4000 retention.bytes=9
convicts a b
start
open t-0 id=3
2 * append t-0 n=2 pid=7 keys=a,b!  # a comment
hw t-0 end
truncate t-0 5
fault eio sync on
observe *
`)
	require.NoError(t, err)
	require.Equal(t, "Two lines.", s.About)
	require.Equal(t, []string{"a", "b"}, s.Convicts)
	require.Equal(t, int32(4000), s.Logs[0].Settings.SegmentBytes)
	require.Equal(t, int64(9), s.Logs[0].Settings.RetentionBytes)
	require.Len(t, s.Steps, 8)
	require.Equal(t, byte(3), s.Steps[1].ID[15])
	require.Equal(t, []int32{0, 2}, []int32{s.Steps[2].Batch.Sequence, s.Steps[3].Batch.Sequence})
	require.Equal(t, []int64{End, 5}, []int64{s.Steps[4].Offset, s.Steps[5].Offset})
	require.Equal(t, "eio sync", s.Steps[6].Fault)
	require.True(t, s.Steps[6].On && s.Steps[7].All)
	require.Equal(t, s.Logs[0].Settings, s.Recovery().Logs[0].Settings)
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"append t-0":                 "s:1: append t-0: t-0 is not declared",
		"jump":                       "there is no such verb",
		"log t-0 nope=1":             "no topic setting is named nope",
		"log t-0\nappend t-0 many=1": `there is no argument "many"`,
		"log t-0\nappend t-0 n=-1":   `"n=-1" is no number`,
		"close t-0":                  `unexpected "t-0"`,
		"fault on":                   "want a fault",
		"log t-0\n2000 * flush t-0":  "at most 1000 steps",
		"log t-0\nopen":              "which log?",
	} {
		_, err := Parse("s", text)
		require.ErrorContains(t, err, want, text)
	}
}

// The guest and its judge build the same bytes, and no two values are alike.
func TestBatches(t *testing.T) {
	s, err := Parse("s", "log t-0\nappend t-0 n=2 size=500 keys=a,b!\nappend t-0 size=500")
	require.NoError(t, err)
	a, b := s.Steps[0].Batch, s.Steps[1].Batch
	require.Equal(t, a.Bytes(), a.Bytes())
	it := record.NewRecords(a.Bytes())
	require.True(t, it.Next())
	require.Equal(t, "a", string(it.Record().Key))
	require.Len(t, it.Record().Value, 500)
	require.NotContains(t, string(it.Record().Value), "\x00")
	first := string(it.Record().Value)
	require.True(t, it.Next())
	require.Nil(t, it.Record().Value)
	require.NotContains(t, string(b.Bytes()), first)
}
