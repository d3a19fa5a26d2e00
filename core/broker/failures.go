package broker

import (
	"errors"
	"fmt"
	"slices"

	"trialog/core/broker/logdirs"
	"trialog/core/broker/metalog"
	"trialog/core/broker/partition"
	"trialog/core/kafka"
)

// A failure of the disk concerns all that lies in the same log directory (KIP-112): its partitions go offline and answer
// KAFKA_STORAGE_ERROR until the broker is started again, other directories go on. Without the directory of the metadata,
// or without any, there is no broker: it ends.

// Failed delivers why the broker must not go on, if that ever happens: the process is to end at once, as in a crash, since
// what it holds in memory is not on its disk.
func (b *Broker) Failed() <-chan error { return b.failed }

// failDir takes a log directory offline. It does nothing for one that is.
func (b *Broker) failDir(path string, why error) {
	first, fatal := b.dirs.Fail(path, why)
	if !first {
		return
	}
	offline := 0
	for _, p := range b.table.All() {
		if b.dirs.Of(p.Name()) == path {
			p.GoOffline()
			offline++
		}
	}
	b.log.Error("a log directory failed; it is offline until the broker is started again", "dir", path, "partitions", offline, "err", why)
	b.end(fatal)
}

// end says that the broker must not go on; nil says nothing.
func (b *Broker) end(fatal error) {
	if fatal == nil {
		return
	}
	select {
	case b.failed <- fatal:
	default: // once is enough
	}
}

// logFailed is told of a partition whose log failed.
func (b *Broker) logFailed(p *partition.Partition, err error) { b.failDir(b.dirs.Of(p.Name()), err) }

// metadataFailed is told that no decision can be made durable any more.
func (b *Broker) metadataFailed(err error) { b.failDir(b.dirs.Of(metalog.Name), err) }

// checkOffline is for a topic that came into the table while a directory failed.
func (b *Broker) checkOffline(t *partition.Topic) {
	failed := b.dirs.Failures()
	if len(failed) == 0 {
		return
	}
	for _, p := range t.Partitions {
		if p != nil && slices.ContainsFunc(failed, func(f logdirs.Failure) bool { return f.Path == b.dirs.Of(p.Name()) }) {
			p.GoOffline()
		}
	}
}

// failDirs takes several offline.
func (b *Broker) failDirs(failed []logdirs.Failure) {
	for _, f := range failed {
		b.failDir(f.Path, f.Err)
	}
}

// isolate decides about a partition that could not be opened or led: whether it is offline, because its directory failed,
// now or before, and the broker goes on without it. Everything else is wrong with this partition alone.
func (b *Broker) isolate(tp kafka.TopicPartition, p *partition.Partition, err error) bool {
	if errors.Is(err, logdirs.ErrOffline) {
		return true
	}
	if logFailed := p != nil && p.Log().Err() != nil; !logFailed && !partition.DiskFailure(err) {
		return false
	}
	b.failDir(b.dirs.Of(tp), err)
	return b.dirs.Fatal() == nil
}

// checkDirs says which directories are offline from the start.
func (b *Broker) checkDirs() error {
	for _, f := range b.dirs.Failures() {
		b.log.Error("a log directory is offline until the broker is started again", "dir", f.Path, "err", f.Err)
	}
	return b.dirs.Fatal()
}

// checkLogs finds logs that failed in the background, where nobody asked them for anything since.
func (b *Broker) checkLogs() {
	for _, p := range b.table.All() {
		if p.State() == partition.Online && p.Log().Err() != nil {
			p.CheckLog(nil)
		}
	}
}

// OfflineDirs are the log directories that are offline.
func (b *Broker) OfflineDirs() []logdirs.Failure {
	if b.State() < Running {
		return nil
	}
	return b.dirs.Failures()
}

// startFailed adds why there is no broker without what failed.
func (b *Broker) startFailed(err error) error {
	if fatal := b.dirs.Fatal(); fatal != nil {
		return fmt.Errorf("%w (%w)", err, fatal)
	}
	return err
}
