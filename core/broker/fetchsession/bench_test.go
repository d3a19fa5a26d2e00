package fetchsession

import (
	"sync/atomic"
	"testing"

	"trialog/core/kafka"

	"github.com/stretchr/testify/require"
)

// BenchmarkContinue is what a request of a session costs where many sessions are asked for at once.
func BenchmarkContinue(b *testing.B) {
	for _, tc := range []struct {
		name       string
		partitions int
	}{{"1 partition", 1}, {"1000 partitions", 1000}} {
		b.Run(tc.name, func(b *testing.B) {
			const sessions = 200
			var next int32
			c := New(sessions, PartitionsMax, func() int32 { next++; return next })
			wants := make([]Want, tc.partitions)
			for i := range wants {
				wants[i].Key = Key{Topic: "t", Partition: kafka.PartitionID(i)}
			}
			ids := make([]int32, sessions)
			for i := range ids {
				ids[i] = c.Create(wants, make([]Said, len(wants)), false, 0)
				require.NotZero(b, ids[i])
			}
			var worker atomic.Int32
			b.SetParallelism(sessions / 8)
			b.RunParallel(func(pb *testing.PB) {
				id := ids[int(worker.Add(1)-1)%sessions]
				var dst []Want
				for epoch := int32(1); pb.Next(); epoch++ {
					c.Find(id)
					c.Size(id)
					s, got, code := c.Continue(id, epoch, false, nil, nil, 0, dst[:0])
					if code != 0 || len(got) != tc.partitions {
						b.Errorf("code %d, %d partitions", code, len(got))
						return
					}
					dst = got
					s.Close()
				}
			})
		})
	}
}
