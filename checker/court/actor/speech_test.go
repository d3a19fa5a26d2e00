package actor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Lines are found however the bytes come; the last one may lack its newline.
func TestSpeechHasLines(t *testing.T) {
	for _, pieces := range [][]string{
		{"one\ntwo\n\nend"}, {"one", "\ntwo\n", "\n", "e", "nd"}, {"o", "n", "e\nt", "wo\n\nend"},
	} {
		s := Speech{start: time.Now()}
		for _, p := range pieces {
			n, err := s.Write([]byte(p))
			require.NoError(t, err)
			require.Equal(t, len(p), n)
		}
		var lines []string
		last := int64(0)
		for _, l := range s.Lines() {
			lines = append(lines, string(l.Text))
			require.GreaterOrEqual(t, l.At, last)
			last = l.At
		}
		require.Equal(t, []string{"one", "two", "", "end"}, lines, "%q", pieces)
		require.Equal(t, "one\ntwo\n\nend", string(s.Bytes()))
	}
	require.Empty(t, (&Speech{}).Lines())
}
