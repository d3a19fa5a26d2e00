package compact

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
)

// TestMap: the map against Go's, at every load.
func TestMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.Int64Range(2, 60).Draw(t, "slots")
		load := rapid.Float64Range(0.5, 1).Draw(t, "load")
		m, err := NewMap(slots*SlotSize+rapid.Int64Range(0, SlotSize-1).Draw(t, "rest"), load, 1000)
		if err != nil {
			require.Less(t, float64(slots)*load, 2.0)
			return
		}
		require.Equal(t, slots*SlotSize, m.Size())
		want := map[string]kafka.Offset{}
		m.Reset(0)
		for o := range rapid.Int64Range(0, 150).Draw(t, "records") {
			key := fmt.Sprint(rapid.IntRange(0, 80).Draw(t, "key"))
			_, known := want[key]
			ok := m.Put([]byte(key), o)
			require.Equal(t, known || len(want) < min(int(float64(slots)*load), int(slots)-1), ok)
			if ok {
				want[key] = o
			}
		}
		require.Equal(t, len(want), m.Len())
		for k := range 81 {
			o, ok := m.Newest([]byte(fmt.Sprint(k)))
			w, known := want[fmt.Sprint(k)]
			require.Equal(t, known, ok)
			if ok {
				require.Equal(t, w, o)
			}
		}
	})
}

func TestMapSize(t *testing.T) {
	_, err := NewMap(SlotSize, 0.9, 10)
	require.ErrorContains(t, err, "no room for one key")
	m, err := NewMap(128<<20, 0.9, 9)
	require.NoError(t, err)
	require.EqualValues(t, 12*SlotSize, m.Size()) // no more than can come
	for i := range 9 {
		require.True(t, m.Put(fmt.Append(nil, i), kafka.Offset(i)))
	}
}

func BenchmarkMap(b *testing.B) {
	m, err := NewMap(24<<20, 0.9, 1<<40)
	require.NoError(b, err)
	keys := make([][]byte, 900_000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key-%012d", i)
		m.Put(keys[i], int64(i))
	}
	b.Run("known", func(b *testing.B) {
		for i := range b.N {
			m.Newest(keys[i%len(keys)])
		}
	})
	b.Run("unknown", func(b *testing.B) {
		for i := range b.N {
			keys[i%len(keys)][0]++
			m.Newest(keys[i%len(keys)])
		}
	})
}
