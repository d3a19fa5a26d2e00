package seglog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// off is all rules but one.
func off(t tb, rule string) Rules {
	r := AllRules()
	require.True(t, r.Off(rule))
	return r
}

// L03: snapshots may be torn or empty after a power cut, and the last sealed one is of no use: a retry is recognised
// nevertheless. Without rule recover-producer-state it is appended a second time.
func TestL03ProducerStateIsRecovered(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	for i := range 20 {
		mustAppend(t, l, batchOf(2, 30, 1000, 4, 0, int32(2*i)), 0)
	}
	l.abandon()
	for what, damage := range map[string]func([]byte) []byte{
		"good": func(b []byte) []byte { return b }, "empty": func([]byte) []byte { return nil },
		"half": func(b []byte) []byte { return b[:len(b)/2] }, "bad crc": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
	} {
		for _, rule := range []string{"", "recover-producer-state"} {
			fork := copyDir(t, dir)
			name := "00000000000000000028.snapshot"
			writeFile(t, damage(readFile(t, dir, name)), fork, name)
			cfg := testConfig(small())
			if rule != "" {
				cfg.Rules = off(t, rule)
			}
			l := open(t, fork, cfg, Start{RecoveryPoint: 28})
			a, err := l.Append(batchOf(2, 30, 1000, 4, 0, 38), 0, now(5))
			require.NoError(t, err)
			require.Equal(t, rule == "", a.Duplicate, "%s %s: %+v", what, rule, a)
			l.abandon()
		}
	}
}

// L04: a time index with zeros behind its entries must not make a segment look fifty years old. Without rule
// index-sanity-check retention deletes fresh data.
func TestL04ZeroPaddedTimeIndex(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	fill(t, l, 25)
	require.NoError(t, l.Close())
	for _, suffix := range []string{layout.IndexSuffix, layout.TimeIndexSuffix} {
		for _, base := range []kafka.Offset{0, 14, 28} {
			name := layout.FileName(base, suffix)
			writeFile(t, append(readFile(t, dir, name), make([]byte, 4080)...), dir, name)
		}
	}
	for _, rule := range []string{"", "index-sanity-check"} {
		cfg := testConfig(small())
		cfg.Settings.RetentionMs = 7 * 24 * 3600 * 1000
		if rule != "" {
			cfg.Rules = off(t, rule)
		}
		l := open(t, copyDir(t, dir), cfg, Start{Clean: true, HighWatermark: 50})
		n, err := l.Retain(cfg.Settings.RetentionMs + 1010)
		require.NoError(t, err)
		require.Equal(t, rule != "", n > 0, "%q: %d segments deleted", rule, n)
		if rule == "" {
			f, err := l.OffsetForTimestamp(1000+5*20, l.EndOffset())
			require.NoError(t, err)
			require.Equal(t, kafka.Offset(20), f.Offset)
		}
		l.abandon()
	}
}

// L05: offsets too far from the base of a segment roll first; segments of old versions that have them are split, also when
// a crash stops in the middle of that.
func TestL05RelativeOffsets(t *testing.T) {
	far := kafka.Offset(1<<31 + 5)
	cfg := testConfig(small())
	cfg.Settings.CleanupCompact = true // others have no such gaps
	dir := newDir(t)
	l := open(t, dir, cfg, Start{})
	for _, base := range []kafka.Offset{0, 1<<31 - 2, far} {
		_, err := l.AppendFollower(at(batch(2, 30, 1000), base, 0), now(1))
		require.NoError(t, err)
	}
	require.Equal(t, []kafka.Offset{0, far}, l.SegmentBases())
	want := contents(t, l)
	require.NoError(t, l.Close())

	first, second := layout.FileName(0, layout.LogSuffix), layout.FileName(far, layout.LogSuffix)
	for _, c := range []string{"sealed", "active", "split, and not cut"} {
		for _, clean := range []bool{true, false} {
			fork := copyDir(t, dir)
			bad := append(readFile(t, dir, first), readFile(t, dir, second)...)
			writeFile(t, bad, fork, first)
			last := at(batch(1, 30, 1000), far+10, 0)
			wantHere := want
			switch c {
			case "active":
				require.NoError(t, os.Remove(filepath.Join(fork, second)))
			case "sealed":
				require.NoError(t, os.Remove(filepath.Join(fork, second)))
				writeFile(t, last, fork, layout.FileName(far+10, layout.LogSuffix))
				wantHere = nil
			}
			l := open(t, fork, cfg, Start{Clean: clean, RecoveryPoint: far + 20})
			if wantHere != nil {
				require.Equal(t, wantHere, contents(t, l), "%s clean=%t", c, clean)
			} else {
				require.Equal(t, want, contents(t, l)[:len(want)], "%s clean=%t", c, clean)
				require.Len(t, contents(t, l), len(want)+1)
			}
			require.Equal(t, []kafka.Offset{0, far}, l.SegmentBases()[:2])
			for _, s := range *l.segments.Load() {
				next, size := s.bounds()
				info, err := os.Stat(s.path(layout.LogSuffix))
				require.NoError(t, err)
				require.Equal(t, info.Size(), size)
				require.LessOrEqual(t, next-s.base, kafka.Offset(1<<31))
			}
			require.NoError(t, l.Close())
		}
	}
}

// L07: after a clean stop an index that is missing or empty is normal, and nothing is recovered.
func TestL07MissingIndexIsNoCorruption(t *testing.T) {
	for _, n := range []int{0, 1, 3, 40} {
		dir := newDir(t)
		l := open(t, dir, testConfig(small()), Start{})
		fill(t, l, n)
		want := contents(t, l)
		require.NoError(t, l.Close())
		for _, name := range files(t, dir) {
			if ext := filepath.Ext(name); ext == layout.IndexSuffix || ext == layout.TimeIndexSuffix {
				require.NoError(t, os.Remove(filepath.Join(dir, name)))
			}
		}
		cfg := testConfig(small())
		var tr trace
		cfg.Emit = tr.emit
		l = open(t, dir, cfg, Start{Clean: true})
		require.Equal(t, "clean", tr.events[0].Text)
		require.Equal(t, want, contents(t, l))
		require.NoError(t, l.Close())
	}
}

// L16: whatever lies behind the last good batch ends the log there, and later segments go: else the log has a hole that looks
// like one that compaction left. Without rule recover-removes-later-segments it has.
func TestL16LaterSegmentsAreRemoved(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	fill(t, l, 30)
	all := contents(t, l)
	l.abandon()
	raw := readFile(t, dir, "00000000000000000014.log")
	raw[500] ^= 1 // the fourth batch
	writeFile(t, raw, dir, "00000000000000000014.log")
	for _, rule := range []string{"", "recover-removes-later-segments"} {
		cfg := testConfig(small())
		if rule != "" {
			cfg.Rules = off(t, rule)
		}
		l := open(t, copyDir(t, dir), cfg, Start{RecoveryPoint: 14})
		got := contents(t, l)
		require.Equal(t, rule == "", slices.Equal(got, all[:min(len(got), len(all))]), "%q: %v", rule, got)
		if rule == "" {
			require.Equal(t, kafka.Offset(20), l.EndOffset())
			require.Len(t, *l.segments.Load(), 2)
		}
		l.abandon()
	}
}

// L17: a batch that was written in part is cut off, and nothing follows it; an index that cannot be written fails the log
// as well.
func TestL17IndexThatCannotBeWritten(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(large()), Start{})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "00000000000000000000.index"), 0o755))
	var failed error
	for i := 0; failed == nil && i < 1000; i++ {
		_, failed = l.Append(batch(1, 5000, 5), 0, now(5))
	}
	require.ErrorContains(t, failed, "seglog: index t-0")
	_, err := l.Append(batch(1, 1, 5), 0, now(5))
	require.ErrorIs(t, err, ErrFailed)
	require.Len(t, contents(t, l), int(l.EndOffset()), "what is there can be read")
	l.abandon()
}

// L19: epoch 0 is an epoch.
func TestL19EpochZero(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	fill(t, l, 20)
	l.abandon()
	require.NoError(t, os.Remove(filepath.Join(dir, layout.EpochFile)))
	for _, point := range []kafka.Offset{0, 40} {
		l = open(t, copyDir(t, dir), testConfig(small()), Start{RecoveryPoint: point})
		epoch, end := l.EpochEndOffset(0)
		require.Equal(t, []int64{0, 40}, []int64{int64(epoch), end})
		l.abandon()
	}
}

// L21, rule two-step-deletion: the files of a deleted segment stay for file.delete.delay.ms, each for its own, and whoever
// reads it finishes; the names go durably, one segment before the next. Without the rule they are gone at once.
func TestL21TwoStepDeletion(t *testing.T) {
	cfg := testConfig(small())
	cfg.Settings.RetentionBytes, cfg.Settings.FileDeleteDelayMs = 1500, 1000
	for _, rule := range []string{"", "two-step-deletion"} {
		dir := newDir(t)
		if rule != "" {
			cfg.Rules = off(t, rule)
		}
		l := open(t, dir, cfg, Start{})
		fill(t, l, 20)
		s, err := l.Read(0, 500, 40, true)
		require.NoError(t, err)
		require.NoError(t, l.Flush(40))
		l.SetHighWatermark(40)
		n, err := l.Retain(10_000)
		require.NoError(t, err)
		require.Positive(t, n)
		kept := func() (n int) {
			for _, name := range files(t, dir) {
				if filepath.Ext(name) == layout.DeletedSuffix {
					n++
				}
			}
			return n
		}
		require.Equal(t, rule == "", kept() > 0, "%q", rule)
		next, err := l.RemoveDeleted(10_999)
		require.NoError(t, err)
		require.Equal(t, rule == "", next == 11_000)
		require.Equal(t, rule == "", kept() > 0)
		first := kept()
		fill(t, l, 20)
		require.NoError(t, l.Flush(80))
		l.SetHighWatermark(80)
		_, err = l.Retain(10_500)
		require.NoError(t, err)
		require.Equal(t, rule == "", kept() > first)
		next, err = l.RemoveDeleted(11_000)
		require.NoError(t, err)
		require.Equal(t, rule == "", next == 11_500, "the second deletion has its own time")
		require.Len(t, readAll(t, s), 500)
		require.NoError(t, removed(l))
		require.Zero(t, kept())
		require.NoError(t, l.Close())
	}
}

// R09, R10: start <= HW <= end, whatever the checkpoint says, and after everything was cut away.
func TestR09R10HighWatermarkStaysInTheLog(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	fill(t, l, 25)
	l.SetHighWatermark(50)
	require.NoError(t, l.TruncateFully(100))
	require.Equal(t, kafka.Offset(100), l.HighWatermark())
	_, err := l.Read(100, 100, l.HighWatermark(), true)
	require.NoError(t, err, "an empty success")
	for l.EndOffset() < 120 {
		mustAppend(t, l, batch(2, 30, 1000), 0)
	}
	require.NoError(t, l.Close())
	for hw, want := range map[kafka.Offset]kafka.Offset{0: 110, 115: 115, 500: 120} {
		for _, clean := range []bool{true, false} {
			l := open(t, copyDir(t, dir), testConfig(small()), Start{Clean: clean, LogStart: 110, HighWatermark: hw})
			require.Equal(t, want, l.HighWatermark())
			l.abandon()
		}
	}
}

// R26: the first batch of an empty log may begin below its start; nobody is shown what lies below it.
func TestR26StartInsideABatch(t *testing.T) {
	l := open(t, newDir(t), testConfig(small()), Start{LogStart: 5})
	a, err := l.AppendFollower(at(batch(10, 3, 1000), 0, 0), now(1))
	require.NoError(t, err)
	require.Equal(t, []kafka.Offset{0, 10}, []kafka.Offset{a.Base, a.Next})
	require.Equal(t, []kafka.Offset{5, 10}, []kafka.Offset{l.StartOffset(), l.EndOffset()})
	_, err = l.Read(4, 100, 10, true)
	require.Equal(t, kafka.ErrOffsetOutOfRange, err)
	s, err := l.Read(5, 1000, 10, true)
	require.NoError(t, err)
	require.NotEmpty(t, readAll(t, s))
	require.NoError(t, l.Close())
}

// R27, rule fsync-failure-is-final: after a failed fsync nothing counts as flushed and nothing is appended, however often it
// is asked for. Without the rule the second attempt finds clean pages, and claims what is not on disk.
func TestR27FsyncFailureIsFinal(t *testing.T) {
	for _, rule := range []string{"", "fsync-failure-is-final"} {
		dir := newDir(t)
		cfg := testConfig(large())
		if rule != "" {
			cfg.Rules = off(t, rule)
		}
		l := open(t, dir, cfg, Start{})
		fill(t, l, 2)
		active := l.active()
		file := active.file
		r, w, err := os.Pipe()
		require.NoError(t, err)
		active.file = active.env.files.Adopt(dir, 0, ".pipe", r) // fsync of a pipe is EINVAL
		require.ErrorIs(t, l.Flush(4), syscall.EINVAL)
		active.file = file
		r.Close()
		w.Close()
		err = l.Flush(4)
		require.Equal(t, rule == "", err != nil, "%q", rule)
		require.Equal(t, rule == "", l.FlushedTo() == 0, "%q: claims %d", rule, l.FlushedTo())
		l.abandon()
		require.Equal(t, rule == "", slices.Contains(files(t, dir), layout.FsyncFailedFile))
		if rule != "" {
			continue
		}
		// The next process writes again what it keeps, even if the directory is marked clean, and the note goes.
		want := 0
		for range 2 {
			var tr trace
			cfg.Emit = tr.emit
			l = open(t, dir, cfg, Start{Clean: want > 0})
			require.Equal(t, want == 0, len(tr.events[0].Text) > 5 && tr.events[0].Text[len(tr.events[0].Text)-len("failed fsync"):] == "failed fsync")
			require.Len(t, contents(t, l), 2)
			require.NotContains(t, files(t, dir), layout.FsyncFailedFile)
			want++
			require.NoError(t, l.Close())
		}
	}
}

// R31, rule retain-below-hw: retention deletes nothing that reaches above the HW. Without the rule the start passes it.
func TestR31RetentionStaysBelowTheHW(t *testing.T) {
	for _, rule := range []string{"", "retain-below-hw"} {
		cfg := testConfig(small())
		cfg.Settings.RetentionBytes = 1000
		if rule != "" {
			cfg.Rules = off(t, rule)
		}
		l := open(t, newDir(t), cfg, Start{})
		fill(t, l, 60)
		require.NoError(t, l.Flush(120))
		l.SetHighWatermark(30)
		_, err := l.Retain(1 << 40)
		require.NoError(t, err)
		require.Equal(t, rule == "", l.StartOffset() <= l.HighWatermark(), "%q: start %d", rule, l.StartOffset())
		require.NoError(t, l.Close())
	}
}

// R33: readers beside truncations and new appends get old bytes that are whole, or an error, never something else under the
// offsets that they asked for.
func TestR33ReadersBesideTruncation(t *testing.T) {
	l := open(t, newDir(t), testConfig(small()), Start{})
	fill(t, l, 50)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for who := range 2 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if err := readWhole(l, kafka.Offset(60+(i*(2*who+1))%40)); err != nil {
					t.Errorf("%v", err)
					return
				}
			}
		})
	}
	for round := range 25 {
		if err := l.Truncate(kafka.Offset(60 + round%20)); err != nil {
			t.Errorf("truncate: %v", err)
		}
		for l.EndOffset() < 100 {
			mustAppend(t, l, batch(1+round%3, 20+round, 1000), kafka.LeaderEpoch(round+1))
		}
	}
	close(done)
	wg.Wait()
	require.NoError(t, l.Close())
}

func readWhole(l *Log, offset kafka.Offset) error {
	s, err := l.Read(offset, 400, l.EndOffset(), true)
	if err == kafka.ErrOffsetOutOfRange {
		return nil // it was cut meanwhile
	}
	if err != nil {
		return fmt.Errorf("read at %d: %w", offset, err)
	}
	defer s.Close()
	buf := make([]byte, s.Len())
	if _, err := s.ReadAt(buf, 0); err != nil {
		return nil // ErrTruncated: the connection ends
	}
	for it := record.NewBatches(buf); it.Next(); {
		h, err := record.Validate(it.Batch())
		if err != nil || it.Position() == h.Size() && h.LastOffset() < offset {
			return fmt.Errorf("read at %d: %s: %v", offset, h.String(), err)
		}
	}
	return nil
}

// R34: offsets are never given twice, also while everything below the HW is deleted all the time.
func TestR34AppendBesideDeleteRecords(t *testing.T) {
	cfg := testConfig(small())
	cfg.Settings.SegmentBytes = 300
	l := open(t, newDir(t), cfg, Start{})
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for i := int64(0); ; i++ {
			select {
			case <-done:
				return
			default:
			}
			l.SetHighWatermark(l.FlushedTo())
			if _, err := l.DeleteRecords(l.HighWatermark(), i); err != nil {
				t.Errorf("delete: %v", err)
			}
			if _, err := l.RemoveDeleted(i); err != nil {
				t.Errorf("remove: %v", err)
			}
		}
	})
	next := kafka.Offset(0)
	for i := range 150 {
		a := mustAppend(t, l, batch(1+i%3, 40, 1000), 0)
		require.Equal(t, next, a.Base)
		next = a.Next
		if i%10 == 0 {
			require.NoError(t, l.Flush(next))
		}
	}
	close(done)
	wg.Wait()
	require.NoError(t, l.Flush(next))
	l.SetHighWatermark(next)
	start, err := l.DeleteRecords(next, 0)
	require.NoError(t, err)
	require.Equal(t, next, start)
	require.Equal(t, next, l.EndOffset(), "deleting everything keeps the end")
	require.NoError(t, l.Close())
}

// A hole is kept where compaction may have made it: anywhere in a compacted log, since a follower has the holes of its leader;
// in another below the recovery point or the cleaner's checkpoint.
func TestHolesAboveWhatWasCleaned(t *testing.T) {
	cfg := testConfig(small())
	cfg.Settings.CleanupCompact = true
	dir := newDir(t)
	l := open(t, dir, cfg, Start{})
	for _, base := range []kafka.Offset{0, 10, 20} {
		_, err := l.AppendFollower(at(batch(2, 30, 1000), base, 0), now(1))
		require.NoError(t, err)
	}
	l.abandon()
	for _, c := range []struct{ point, cleaned, end kafka.Offset }{
		{0, 0, 2}, {0, 20, 22}, {20, 5, 22}, {0, 15, 12}, {12, 5, 12}, {0, 5, 2},
	} {
		for _, compact := range []bool{true, false} {
			cfg.Settings.CleanupCompact = compact
			l := open(t, copyDir(t, dir), cfg, Start{RecoveryPoint: c.point, CleanedTo: c.cleaned})
			if compact {
				require.Equal(t, kafka.Offset(22), l.EndOffset(), "%+v", c)
			} else {
				require.Equal(t, c.end, l.EndOffset(), "%+v", c)
			}
			l.abandon()
		}
	}
}

// The index of aborted transactions has what markers say, and follows truncation and recovery.
func TestAbortedTransactions(t *testing.T) {
	dir := newDir(t)
	cfg := testConfig(small())
	cfg.Settings.SegmentBytes = 700
	l := open(t, dir, cfg, Start{})
	add := func(b []byte) { follow(t, l, b) }
	add(transactional(1, 0))             // 0
	add(transactional(2, 0))             // 1
	add(marker(1, record.ControlAbort))  // 2: 1 from 0, stable to 1
	add(transactional(1, 1))             // 3
	add(marker(1, record.ControlCommit)) // 4
	add(transactional(1, 2))             // 5
	for l.Segments() == 1 {
		add(batch(1, 50, 1000))
	}
	end := l.EndOffset()
	add(marker(2, record.ControlAbort)) // in the second segment, stable to 5
	add(marker(1, record.ControlAbort))
	want := []layout.TxnEntry{
		{Producer: 1, First: 0, Last: 2, LastStable: 1}, {Producer: 2, First: 1, Last: end, LastStable: 5},
		{Producer: 1, First: 5, Last: end + 1, LastStable: end + 2},
	}
	check := func(want []layout.TxnEntry) {
		t.Helper()
		got, err := l.Aborted(0, l.EndOffset())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	check(want)
	got, err := l.Aborted(3, 5)
	require.NoError(t, err)
	require.Equal(t, want[1:2], got)
	require.Equal(t, kafka.NoOffset, l.FirstUndecided())
	l.abandon()
	require.NoError(t, os.Remove(filepath.Join(dir, layout.FileName(0, layout.TxnIndexSuffix))))
	l = open(t, dir, cfg, Start{})
	check(want)
	require.NoError(t, l.Truncate(end+1))
	check(want[:2])
	require.NoError(t, l.Truncate(end))
	check(want[:1])
	require.NoError(t, l.Close())
	l = open(t, dir, cfg, Start{Clean: true})
	check(want[:1])
	l.abandon()
}
