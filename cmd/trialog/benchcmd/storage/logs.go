package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"trialog/core/client"
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/seglog"
	"trialog/core/seglog/layout"
)

const (
	recovered = "recovery"   // the topic that is recovered: four partitions
	compacted = "compaction" // the topic that is compacted: one

	partitions  = 4
	batchBytes  = 64 << 10
	recordBytes = 1 << 10
)

// logs are the segments that both get.
type logs struct {
	dir     string
	ends    map[kafka.TopicPartition]kafka.Offset
	bytes   int64
	active  kafka.Offset // base of the last segment of the compacted topic
	segment string       // one file, for the dump
}

// makeLogs writes both topics, so many bytes each.
func makeLogs(dir string, bytes int64) (*logs, error) {
	d, err := seglog.OpenDir(dir, seglog.DirConfig{Rules: seglog.AllRules(), ProducerRules: producers.AllRules()})
	if err != nil {
		return nil, err
	}
	cfg, err := config.LoadBroker(nil, []string{"node.id=1", fmt.Sprintf("log.segment.bytes=%d", max(bytes/8, 1<<20))})
	if err != nil {
		return nil, err
	}
	l := &logs{dir: dir, ends: map[kafka.TopicPartition]kafka.Offset{}, bytes: bytes}
	for p := range int32(partitions + 1) {
		tp, size := kafka.TopicPartition{Topic: recovered, Partition: p}, bytes/partitions
		if p == partitions {
			tp, size = kafka.TopicPartition{Topic: compacted}, bytes
		}
		log, err := d.OpenLog(tp, kafka.TopicID{1: tp.Topic[0]}, cfg.Topic(nil))
		if err != nil {
			return nil, err
		}
		if err := fill(log, size); err != nil {
			return nil, err
		}
		l.ends[tp] = log.EndOffset()
	}
	if err := d.Close(kafka.NoBrokerEpoch); err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, compacted+"-0", "*"+layout.LogSuffix))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no segments: %w", err)
	}
	l.active, _, _ = layout.ParseFileName(filepath.Base(names[len(names)-1]))
	l.segment = names[0]
	return l, nil
}

// fill appends batches of records, three quarters of which have a key that comes again.
func fill(l *seglog.Log, size int64) error {
	var b record.Builder
	var buf []byte
	value := make([]byte, recordBytes-80)
	keys := size / recordBytes / 4
	now := time.Now().UnixMilli()
	for n, i := int64(0), int64(0); n < size; n += int64(len(buf)) {
		b.Reset(buf[:0])
		for b.Size()+recordBytes < batchBytes {
			for j := range value {
				value[j] = byte(i*31 + int64(j)*7)
			}
			b.Append(now, fmt.Appendf(nil, "key-%012d", i*2654435761%max(keys, 1)), value)
			i++
		}
		buf = b.Finish()
		if _, err := l.Append(buf, 0, kafka.Now{WallMs: now}); err != nil {
			return err
		}
	}
	l.SetHighWatermark(l.EndOffset())
	return nil
}

func (l *logs) createTopics(ctx context.Context, addr string) error {
	cl, err := client.New(client.Config{Bootstrap: []string{addr}, RequestTimeout: 30 * time.Second})
	if err != nil {
		return err
	}
	defer cl.Close()
	for _, t := range []client.NewTopic{{Name: recovered, Partitions: partitions}, {Name: compacted, Partitions: 1}} {
		t.ReplicationFactor = 1
		for patience := 100; ; patience-- { // a broker that has just started may not be ready to create
			err := cl.CreateTopic(ctx, t)
			if err == nil || client.NameOf(err) == "TOPIC_ALREADY_EXISTS" {
				break
			}
			if patience == 0 {
				return err
			}
			time.Sleep(100 * time.Millisecond)
		}
		for p := range t.Partitions {
			if err := await(time.Minute, func() error { _, err := cl.ListOffset(ctx, t.Name, p, client.Latest); return err }); err != nil {
				return err
			}
		}
	}
	return nil
}

// handOver puts the segments into a broker's directories, which keep their partition.metadata, and forgets marker and
// checkpoints: so it finds them after an unclean stop. Only batches are handed over: whatever else there is, each broker makes.
func (l *logs) handOver(data string) error {
	for tp := range l.ends {
		to := filepath.Join(data, tp.String())
		old, err := filepath.Glob(filepath.Join(to, "0*"))
		if err != nil {
			return err
		}
		for _, name := range old {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
		segments, err := filepath.Glob(filepath.Join(l.dir, tp.String(), "*"+layout.LogSuffix))
		if err != nil {
			return err
		}
		for _, from := range segments {
			if err := copyFile(from, filepath.Join(to, filepath.Base(from))); err != nil {
				return err
			}
		}
		if err := layout.RemoveIfThere(filepath.Join(to, layout.EpochFile)); err != nil {
			return err
		}
	}
	for _, name := range []string{layout.CleanMarker, layout.RecoveryPointFile, layout.HWFile, layout.LogStartFile} {
		if err := layout.RemoveIfThere(filepath.Join(data, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	if err == nil {
		err = out.Sync() // not a part of what is measured
	}
	return errors.Join(err, out.Close())
}

// startAndAwait is how long it takes from the start of the process until every partition answers with its end.
func (l *logs) startAndAwait(ctx context.Context, n node) (time.Duration, error) {
	began, err := n.start()
	if err != nil {
		return 0, err
	}
	cl, err := client.New(client.Config{Bootstrap: []string{n.addr()}, RequestTimeout: 30 * time.Second})
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	for tp, end := range l.ends {
		err := await(10*time.Minute, func() error {
			o, err := cl.ListOffset(ctx, tp.Topic, tp.Partition, client.Latest)
			if err == nil && o.Offset != end {
				err = fmt.Errorf("%s ends at %d, not at %d", tp, o.Offset, end)
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// compact has the topic compacted, and waits until all but its last segment is clean.
func (l *logs) compact(ctx context.Context, n node) (time.Duration, error) {
	cl, err := client.New(client.Config{Bootstrap: []string{n.addr()}, RequestTimeout: 30 * time.Second})
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	began := time.Now()
	err = cl.AlterTopic(ctx, compacted, []client.SettingChange{{Name: "cleanup.policy", Value: "compact"}, {Name: "min.cleanable.dirty.ratio", Value: "0.01"}})
	if err != nil {
		return 0, err
	}
	err = await(10*time.Minute, func() error {
		at, err := cleanedTo(n.data())
		if err == nil && at < l.active {
			err = fmt.Errorf("clean to %d of %d", at, l.active)
		}
		return err
	})
	return time.Since(began), err
}

// cleanedTo is what the cleaner's checkpoint says of the compacted topic.
func cleanedTo(data string) (kafka.Offset, error) {
	f, err := os.Open(filepath.Join(data, layout.CleanerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), compacted+" 0 "); ok {
			return strconv.ParseInt(rest, 10, 64)
		}
	}
	return -1, nil
}

// await tries until it works.
func await(patience time.Duration, try func() error) error {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := try()
		if err == nil || time.Since(began) > patience {
			return err
		}
	}
}

// sizeOf is the bytes of the .log files of a partition.
func sizeOf(dir string) (n int64, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"+layout.LogSuffix))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			n += info.Size()
		}
	}
	return n, err
}
