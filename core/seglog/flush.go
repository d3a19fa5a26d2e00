package seglog

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/txnindex"
)

// flusher lets callers share fsyncs: one of them runs a pass, those who come meanwhile wait for it, and one of those
// runs the next for all.
type flusher struct {
	mu      sync.Mutex
	done    *sync.Cond
	running bool
	to      atomic.Int64 // everything below is durable
	passes  int          // how many passes ran; for tests
}

// FlushedTo is the recovery point: everything below it is durable.
func (l *Log) FlushedTo() kafka.Offset { return l.flush.to.Load() }

// Flush returns when everything below upTo (at most the end offset) is durable: bytes, size, directory entry. An error
// is KAFKA_STORAGE_ERROR, and the log has failed (S4).
func (l *Log) Flush(upTo kafka.Offset) error {
	if end := l.EndOffset(); upTo > end {
		return fmt.Errorf("seglog: flush %s to %d: it ends at %d", l.cfg.Partition, upTo, end)
	}
	return l.flushTo(upTo, false)
}

// flushTo flushes up to upTo, or, with sealed, completes all sealed segments and leaves the active one alone. (The end
// offset may go back while it waits.)
func (l *Log) flushTo(upTo kafka.Offset, sealed bool) error {
	f := &l.flush
	f.mu.Lock()
	defer f.mu.Unlock()
	for !sealed && f.to.Load() < min(upTo, l.EndOffset()) || sealed && l.unsealed() {
		if err := l.usable(); err != nil {
			return err
		}
		if f.running {
			f.done.Wait()
			continue
		}
		f.running = true
		f.passes++
		f.mu.Unlock()
		err := l.flushPass(sealed)
		f.mu.Lock()
		f.running = false
		f.done.Broadcast()
		if err != nil {
			return err
		}
	}
	return nil
}

// exclusive runs fn while no flush runs.
func (l *Log) exclusive(fn func() error) error {
	f := &l.flush
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.running {
		f.done.Wait()
	}
	f.running = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running = false
		f.done.Broadcast()
	}()
	return fn()
}

// unsealed reports a sealed segment that is not complete on disk.
func (l *Log) unsealed() bool {
	segs := *l.segments.Load()
	return len(segs) > 1 && !segs[len(segs)-2].clean.Load()
}

// flushPass makes durable what was appended before it began: dirty segments in order, then the directory, and only then
// does it count.
func (l *Log) flushPass(sealedOnly bool) error {
	segs := *l.segments.Load()
	active := segs[len(segs)-1]
	target := active.next()
	if sealedOnly {
		target = active.base
	}
	first := len(segs) - 1
	for first > 0 && !segs[first-1].clean.Load() {
		first--
	}
	for _, s := range segs[first : len(segs)-1] {
		if err := l.flushSealed(s); err != nil {
			return l.flushFailed(err)
		}
	}
	if !sealedOnly && target > l.flush.to.Load() {
		if err := active.syncActive(); err != nil {
			return l.flushFailed(err)
		}
	}
	if l.dirDirty.Swap(false) {
		if err := syncDir(l.dir, l.cfg.Rules); err != nil {
			return l.flushFailed(err)
		}
	}
	if target > l.flush.to.Load() {
		l.emit(event.Event{Kind: event.Flush, Next: target})
		l.flush.to.Store(target)
	}
	return nil
}

// flushFailed stops the log (S4), unless rule fsync-failure-is-final is off: then the next flush tries again, and takes the
// pages that the kernel dropped for written.
func (l *Log) flushFailed(err error) error {
	err = fmt.Errorf("seglog: flush %s: %w", l.cfg.Partition, err)
	if !l.cfg.Rules.FsyncFailureIsFinal {
		return err
	}
	return l.fail(err)
}

// fsync is slowed down by a benchmark.
var fsync = (*os.File).Sync

// sync makes the batches of the segment durable. A failure is noted in the directory for the next process, which finds the
// bytes in the page cache and must not believe that they are on disk; after a power cut that note is not needed.
func (s *segment) sync() error {
	return s.onFile(func(f *os.File) error {
		err := fsync(f)
		if err == nil || !s.env.rules.FsyncFailureIsFinal {
			return err
		}
		if noted := os.WriteFile(filepath.Join(s.dir, layout.FsyncFailedFile), nil, 0o644); noted != nil {
			err = fmt.Errorf("%w (and this could not be noted: %w)", err, noted)
		}
		return err
	})
}

// syncActive makes durable what of a segment is believed below the recovery point: batches, aborted transactions.
func (s *segment) syncActive() error {
	if err := s.sync(); err != nil || !s.txnDirty.Swap(false) {
		return err
	}
	return syncTxns(s.path(layout.TxnIndexSuffix))
}

// syncTxns is watched by a test.
var syncTxns = txnindex.Sync

// sealIndexes makes all indexes of the segment durable.
func (s *segment) sealIndexes() error {
	if err := s.index.Seal(); err != nil {
		return err
	}
	return syncTxns(s.path(layout.TxnIndexSuffix))
}

// flushSealed completes a sealed segment: batches, indexes, the producer snapshot at its end. Only clean segments are
// ever deleted, so its files are there.
func (l *Log) flushSealed(s *segment) error {
	if err := s.sync(); err != nil {
		return err
	}
	if todo := s.seal.Load(); todo != nil {
		if err := s.sealIndexes(); err != nil {
			return err
		}
		if todo.snapshot != nil {
			path := filepath.Join(s.dir, layout.FileName(todo.snapshotAt, layout.SnapshotSuffix))
			if err := layout.WriteSynced(path, todo.snapshot); err != nil {
				return err
			}
		}
		l.dirDirty.Store(true)
		s.seal.Store(nil)
	}
	s.clean.Store(true)
	s.unpin()
	return nil
}
