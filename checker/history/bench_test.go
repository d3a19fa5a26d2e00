package history_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/history"
	"trialog/checker/history/historytest"
)

// typical is a history of the size of one run, and its text.
func typical(b *testing.B) ([]history.Op, []byte) {
	b.Helper()
	ops, _ := historytest.Typical()
	var text bytes.Buffer
	require.NoError(b, history.WriteAll(&text, ops))
	return ops, text.Bytes()
}

// BenchmarkHistory is what the court does with the history of one run, beside judging it.
func BenchmarkHistory(b *testing.B) {
	ops, text := typical(b)
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	bench := func(name string, do func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, do())
			}
		})
	}
	bench("parse", func() error {
		for _, line := range lines {
			if _, err := history.Parse(line); err != nil {
				return err
			}
		}
		return nil
	})
	bench("read", func() error { _, err := history.Read(bytes.NewReader(text)); return err })
	bench("merge", func() error { history.Merge(ops); return nil })
	bench("write", func() error { return history.WriteAll(&bytes.Buffer{}, ops) })
	bench("check", func() error { return history.Check(ops) })
}
