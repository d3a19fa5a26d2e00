package historytest

import (
	"fmt"
	"math/rand"
	"slices"

	"trialog/checker/history"
)

// Sizes of Typical: what a run of the first experiment comes to.
const (
	typicalPartitions = 3
	typicalOps        = 290 // of the clients on one partition
	typicalReadMax    = 110
	typicalTick       = 5_003_777 // ns
)

// Typical is a history of the size and kind that one run of an experiment leaves: about 1,000 operations on three
// partitions, by four producers and three readers, and the marks of each partition. It is always the same. Benchmarks
// of the judges use it.
func Typical() ([]history.Op, [][]Mark) {
	rng := rand.New(rand.NewSource(1))
	var parts [][]history.Op
	var marks [][]Mark
	for p := range typicalPartitions {
		ops, done := SimulateCuts(rng, Spec{Producers: 4, Readers: 3, Ops: typicalOps, BatchMax: 5, ReadMax: typicalReadMax})
		for i := range ops {
			place(&ops[i], p)
		}
		for i := range done {
			done[i].Time *= typicalTick
		}
		parts, marks = append(parts, ops), append(marks, done)
	}
	return history.Merge(parts...), marks
}

// place moves an operation of a simulated partition to partition p of a larger world, where each process has a logical
// client for each partition.
func place(op *history.Op, p int) {
	op.Time *= typicalTick
	op.Process, op.Partition = p, int32(p)
	if op.PID >= 0 {
		op.PID = op.PID*typicalPartitions + int64(p)
	}
	op.Values = slices.Clone(op.Values)
	for i, v := range op.Values {
		op.Values[i] = name(p, v)
	}
	op.Records = slices.Clone(op.Records)
	for i, r := range op.Records {
		op.Records[i].Value = name(p, r.Value)
	}
}

func name(p int, value string) string { return fmt.Sprintf("c%d-%s", p, value[1:]) }
