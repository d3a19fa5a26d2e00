package layout

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
)

// What is written is read back; a cut or changed file is never read as something else that is as long.
func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfDistinct(rapid.Uint32Range(1, 1<<31-1), func(v uint32) uint32 { return v }).Draw(t, "offsets")
		var offsets []OffsetEntry
		var times []TimeEntry
		last := uint32(0)
		for i, r := range rows {
			if r <= last {
				continue
			}
			last = r
			offsets = append(offsets, OffsetEntry{Last: r, Pos: uint32(i + 1)})
			times = append(times, TimeEntry{Timestamp: int64(i), Last: r})
		}
		got, ok := ParseOffsetIndex(AppendOffsetEntries(nil, offsets), int64(len(rows)+1))
		require.True(t, ok)
		require.Equal(t, offsets, got)
		padded := append(AppendTimeEntries(nil, times), make([]byte, 5*TimeEntrySize)...)
		gotTimes, ok := ParseTimeIndex(padded, 1<<31)
		require.True(t, ok)
		require.Equal(t, times, gotTimes)
		if len(offsets) > 1 {
			offsets[0], offsets[1] = offsets[1], offsets[0]
			_, ok = ParseOffsetIndex(AppendOffsetEntries(nil, offsets), int64(len(rows)+1))
			require.False(t, ok)
		}
	})
}

func TestTexts(t *testing.T) {
	rows := []Checkpoint{
		{Partition: kafka.TopicPartition{Topic: "a", Partition: 1}, Offset: 7},
		{Partition: kafka.TopicPartition{Topic: "b.c", Partition: 0}, Offset: 0},
	}
	text := AppendCheckpoints(nil, rows)
	require.Equal(t, "0\n2\na 1 7\nb.c 0 0\n", string(text))
	got, err := ParseCheckpoints(text)
	require.NoError(t, err)
	require.Equal(t, rows, got)
	for bad, want := range map[string]string{
		"":                       "line 1",
		"1\n0\n":                 "line 1",
		"0\n2\na 1 7\n":          `line 2: count "2"`,
		"0\n1\na 1\n":            `line 3: "a 1"`,
		"0\n1\na x 7\n":          `line 3: "a x 7"`,
		"0\n1\na 1 -7\n":         `line 3: "a 1 -7"`,
		"0\n1\na 1 7":            "line 1",
		"0\n1\na 4294967296 7\n": "line 3",
	} {
		_, err := ParseCheckpoints([]byte(bad))
		require.ErrorContains(t, err, want, "%q", bad)
	}
	require.Equal(t, Marker{BrokerEpoch: 7}, ParseMarker(AppendMarker(nil, Marker{BrokerEpoch: 7})))
	require.Equal(t, int64(kafka.NoBrokerEpoch), ParseMarker(nil).BrokerEpoch)
	require.Equal(t, int64(kafka.NoBrokerEpoch), ParseMarker([]byte("{")).BrokerEpoch)
	p := Properties{ClusterID: "c", NodeID: 3}
	back, err := ParseProperties(string(AppendProperties(nil, p)))
	require.NoError(t, err)
	require.Equal(t, p, back)
}

func TestFileNames(t *testing.T) {
	require.Equal(t, "00000000000000000042.log", FileName(42, LogSuffix))
	base, suffix, ok := ParseFileName("00000000000000000042.log.swap")
	require.True(t, ok)
	require.Equal(t, kafka.Offset(42), base)
	require.Equal(t, LogSuffix+SwapSuffix, suffix)
	for _, name := range []string{"", "42.log", "0000000000000000004x.log", "00000000000000000042log", "-0000000000000000042.log", "99999999999999999999.log"} {
		_, _, ok := ParseFileName(name)
		require.False(t, ok, name)
	}
}

func TestTxnIndexParsesWhatItWrites(t *testing.T) {
	rows := []TxnEntry{{Producer: 12, First: 22, Last: 42, LastStable: 32}, {Producer: 13, First: 32, Last: 43, LastStable: 44}}
	b := AppendTxnEntries(nil, rows)
	require.Len(t, b, 2*TxnEntrySize)
	got, err := ParseTxnIndex(b)
	require.NoError(t, err)
	require.Equal(t, rows, got)
	got, err = ParseTxnIndex(b[:len(b)-1])
	require.ErrorContains(t, err, "byte 34: 33 bytes")
	require.Equal(t, rows[:1], got)
	b[1] = 7
	_, err = ParseTxnIndex(b)
	require.ErrorContains(t, err, "byte 0: version 7")
}

func TestIsDeletedDir(t *testing.T) {
	for name, want := range map[string]bool{
		"t-0.0123456789abcdef0123456789abcdef-delete": true, "a.b-12.u-delete": true,
		"t-0": false, "t-0-delete": false, "backup.old-delete": false, "t-0.-delete": false, "t-0.u-stray": false, ".-delete": false,
	} {
		require.Equal(t, want, IsDeletedDir(name), name)
	}
}
