package logcleaner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPace: what is read and written is paid for in order, whoever it was; time that nobody used is not saved up.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	require.Equal(t, time.Second, p.add(1000, 1000, now))
	require.Equal(t, 1500*time.Millisecond, p.add(500, 1000, now))
	require.Equal(t, 600*time.Millisecond, p.add(100, 1000, now.Add(time.Second)))
	require.Equal(t, time.Second, p.add(1000, 1000, now.Add(time.Hour)))
	require.Equal(t, 3*time.Second, p.add(1000, 500, now.Add(time.Hour)), "the rate of now")
	require.Positive(t, p.add(1<<30, 0, now), "a rate of nothing is one that is very low")
}
