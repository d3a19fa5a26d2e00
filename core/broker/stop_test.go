package broker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stop releases every produce that waits for a flush, also those that came while it began: it does not sit out
// flush.ms or their timeout.
func TestStopUnderLoad(t *testing.T) {
	in := start(t, t.TempDir())
	admin := in.dial()
	admin.create("t", 1, "flush.messages", "1000000", "flush.ms", "3600000")
	const producers = 8
	ended := make(chan struct{}, producers)
	for range producers {
		c := in.dial()
		go func() {
			defer func() { ended <- struct{}{} }()
			frame := formatter.AppendRequest(nil, produceRequest(9, -1, "t", 0, batch("v")), 1)
			for {
				if _, err := c.conn.Write(frame); err != nil {
					return
				}
			}
		}()
		go func() {
			b := make([]byte, 4096)
			for {
				if _, err := c.conn.Read(b); err != nil {
					return
				}
			}
		}()
	}
	require.Eventually(t, func() bool { return in.table.TopicNamed("t").Partition(0).Log().EndOffset() > 50 }, safety, time.Millisecond)
	in.stop.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), safety)
		defer cancel()
		began := time.Now()
		require.NoError(t, in.Stop(ctx))
		require.Less(t, time.Since(began), safety/2)
	})
	for range producers {
		<-ended
	}
}
