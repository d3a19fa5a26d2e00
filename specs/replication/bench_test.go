package replication

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/explore"
)

// BenchmarkSearch prints generated states a second for one worker (target 500,000 with symmetry) and two (target 1.5 times
// that), and the bytes that a visited state takes (target 24).
func BenchmarkSearch(b *testing.B) {
	for _, symmetry := range []bool{true, false} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("symmetry=%v/workers=%d", symmetry, workers), func(b *testing.B) {
				w := world(b, "kip320", 3, 2, 2, 2, nil)
				var res explore.Result
				generated := uint64(0)
				for b.Loop() {
					res = explore.Search(context.Background(), w, explore.Options[State]{
						Invariants: w.Invariants(), Workers: workers, NoSymmetry: !symmetry,
					})
					generated += res.Generated
				}
				require.Equal(b, explore.Exhausted, res.Verdict)
				b.ReportMetric(float64(generated)/b.Elapsed().Seconds(), "states/s")
				b.ReportMetric(res.BytesPerState, "B/state")
			})
		}
	}
}
