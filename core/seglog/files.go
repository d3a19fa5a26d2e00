package seglog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"trialog/core/kafka"
)

// Names and suffixes of Kafka's files.
const (
	logSuffix       = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	txnIndexSuffix  = ".txnindex"
	snapshotSuffix  = ".snapshot"
	deletedSuffix   = ".deleted"
	cleanedSuffix   = ".cleaned"
	swapSuffix      = ".swap"
	tmpSuffix       = ".tmp"

	epochFile         = "leader-epoch-checkpoint"
	partitionFile     = "partition.metadata"
	cleanMarker       = ".kafka_cleanshutdown"
	propertiesFile    = "meta.properties"
	hwFile            = "replication-offset-checkpoint"
	recoveryPointFile = "recovery-point-offset-checkpoint"
	logStartFile      = "log-start-offset-checkpoint"
)

// Sizes of index entries, and how far apart they are when nothing else is said (index.interval.bytes).
const (
	offsetEntrySize      = 8
	timeEntrySize        = 12
	defaultIndexInterval = 4096
)

// fileName is the base offset in 20 digits, and the suffix.
func fileName(base kafka.Offset, suffix string) string { return fmt.Sprintf("%020d%s", base, suffix) }

// parseFileName is the inverse; ok is false for all other names.
func parseFileName(name string) (base kafka.Offset, suffix string, ok bool) {
	const digits = 20
	if len(name) <= digits || name[digits] != '.' {
		return 0, "", false
	}
	base, err := strconv.ParseInt(name[:digits], 10, 64)
	if err != nil || base < 0 {
		return 0, "", false
	}
	return base, name[digits:], true
}

// syncDir makes the names in a directory durable; nothing under rule fsync-directory off.
func syncDir(dir string, rules Rules) error {
	if !rules.FsyncDirectory {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// writeDurable replaces a file so that after a crash the old or the new content is there: temporary file, fsync, rename,
// fsync of the directory (KAFKA-16541).
func writeDurable(dir, name string, data []byte, rules Rules) error {
	path := filepath.Join(dir, name)
	if err := writeSynced(path+tmpSuffix, data); err != nil {
		return err
	}
	if err := os.Rename(path+tmpSuffix, path); err != nil {
		return err
	}
	return syncDir(dir, rules)
}

// writeSynced writes and fsyncs a file in place.
func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// removeIfThere removes a file or does nothing.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readIfThere is nil, without an error, when there is no such file.
func readIfThere(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && b == nil {
		b = []byte{}
	}
	return b, err
}

// appendIndexFile and appendTimeIndexFile are the contents of the index files.
func appendIndexFile(b []byte, rows []offsetEntry) []byte {
	for _, r := range rows {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, r.last), r.pos)
	}
	return b
}

func appendTimeIndexFile(b []byte, rows []timeEntry) []byte {
	for _, r := range rows {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, uint64(r.ts)), r.last)
	}
	return b
}

// parseIndexFile reads entries for a segment of the given size; ok is false if they cannot be right. A tail of zeros is
// what Kafka preallocates; it is not part of the index.
func parseIndexFile(b []byte, size int64) (rows []offsetEntry, ok bool) {
	b = trimZeroEntries(b, offsetEntrySize)
	if len(b)%offsetEntrySize != 0 {
		return nil, false
	}
	for ; len(b) > 0; b = b[offsetEntrySize:] {
		r := offsetEntry{last: binary.BigEndian.Uint32(b), pos: binary.BigEndian.Uint32(b[4:])}
		if int64(r.pos) >= size || r.last > 1<<31-1 {
			return nil, false
		}
		if n := len(rows); n > 0 && (r.last <= rows[n-1].last || r.pos <= rows[n-1].pos) {
			return nil, false
		}
		rows = append(rows, r)
	}
	return rows, true
}

// parseTimeIndexFile is the same for a segment that ends at the relative offset end.
func parseTimeIndexFile(b []byte, end int64) (rows []timeEntry, ok bool) {
	b = trimZeroEntries(b, timeEntrySize)
	if len(b)%timeEntrySize != 0 {
		return nil, false
	}
	for ; len(b) > 0; b = b[timeEntrySize:] {
		r := timeEntry{ts: int64(binary.BigEndian.Uint64(b)), last: binary.BigEndian.Uint32(b[8:])}
		if r.ts < 0 || int64(r.last) >= end {
			return nil, false
		}
		if n := len(rows); n > 0 && (r.ts <= rows[n-1].ts || r.last <= rows[n-1].last) {
			return nil, false
		}
		rows = append(rows, r)
	}
	return rows, true
}

func trimZeroEntries(b []byte, size int) []byte {
	for len(b) >= size && len(b)%size == 0 && allZero(b[len(b)-size:]) {
		b = b[:len(b)-size]
	}
	return b
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// readIndexFiles reads both index files of a sealed segment; ok is false when they are missing or cannot be right. A
// segment that holds data has a time entry (written at roll and close) unless no batch has a timestamp: then it is
// rebuilt each time, which is rare and right.
func (s *segment) readIndexFiles() (offsets []offsetEntry, times []timeEntry, ok bool, err error) {
	next, size := s.bounds()
	rawOffsets, err := readIfThere(s.path(indexSuffix))
	if err != nil {
		return nil, nil, false, err
	}
	rawTimes, err := readIfThere(s.path(timeIndexSuffix))
	if err != nil {
		return nil, nil, false, err
	}
	offsets, okOffsets := parseIndexFile(rawOffsets, size)
	times, okTimes := parseTimeIndexFile(rawTimes, next-s.base)
	ok = rawOffsets != nil && rawTimes != nil && okOffsets && okTimes && (size == 0 || len(times) > 0)
	return offsets, times, ok, nil
}

// writeIndexFiles writes and fsyncs both index files.
func (s *segment) writeIndexFiles() error {
	if err := writeSynced(s.path(indexSuffix), appendIndexFile(nil, s.offsets.load())); err != nil {
		return err
	}
	return writeSynced(s.path(timeIndexSuffix), appendTimeIndexFile(nil, s.times.load()))
}

// checkpoint is the content of one of Kafka's offset checkpoint files.
type checkpoint struct {
	tp     kafka.TopicPartition
	offset kafka.Offset
}

// appendOffsets appends the text: version 0, number of lines, "topic partition offset" in each.
func appendOffsets(b []byte, rows []checkpoint) []byte {
	b = fmt.Appendf(b, "0\n%d\n", len(rows))
	for _, r := range rows {
		b = fmt.Appendf(b, "%s %d %d\n", r.tp.Topic, r.tp.Partition, r.offset)
	}
	return b
}

// parseOffsets reads what appendOffsets writes; the error names the line.
func parseOffsets(text []byte) ([]checkpoint, error) {
	lines := strings.Split(string(text), "\n")
	if len(lines) < 3 || lines[0] != "0" || lines[len(lines)-1] != "" {
		return nil, fmt.Errorf("line 1: want version 0, a count, and a newline at the end")
	}
	n, err := strconv.Atoi(lines[1])
	if err != nil || n != len(lines)-3 {
		return nil, fmt.Errorf("line 2: count %q, but %d lines follow", lines[1], len(lines)-3)
	}
	rows := make([]checkpoint, 0, n)
	for i, line := range lines[2 : len(lines)-1] {
		f := strings.Split(line, " ")
		if len(f) != 3 {
			return nil, fmt.Errorf("line %d: %q: want topic partition offset", i+3, line)
		}
		p, errP := strconv.ParseInt(f[1], 10, 32)
		o, errO := strconv.ParseInt(f[2], 10, 64)
		if f[0] == "" || errP != nil || errO != nil || p < 0 || o < 0 {
			return nil, fmt.Errorf("line %d: %q: bad number", i+3, line)
		}
		rows = append(rows, checkpoint{tp: kafka.TopicPartition{Topic: f[0], Partition: int32(p)}, offset: o})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].tp.Compare(rows[j].tp) < 0 })
	return rows, nil
}

// appendPartitionMetadata and parsePartitionMetadata are partition.metadata (KIP-516); it has no newline at its end.
func appendPartitionMetadata(b []byte, id kafka.TopicID) []byte {
	return fmt.Appendf(b, "version: 0\ntopic_id: %s", id)
}

func parsePartitionMetadata(text []byte) (kafka.TopicID, error) {
	rest, ok := strings.CutPrefix(strings.TrimRight(string(text), "\n"), "version: 0\ntopic_id: ")
	if !ok {
		return kafka.TopicID{}, fmt.Errorf("%.60q: want version: 0 and topic_id", text)
	}
	return kafka.ParseTopicID(rest)
}

// listing is what a partition's directory holds, in order.
type listing struct {
	logs      []kafka.Offset
	snapshots []kafka.Offset
}

// listFiles lists a partition's directory and tidies it: leftovers of deletions and of unfinished writes go, and a
// replacement of segments that was cut off is finished or undone.
func listFiles(dir string) (listing, error) {
	if err := finishSwaps(dir); err != nil {
		return listing{}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return listing{}, err
	}
	var l listing
	for _, e := range entries {
		base, suffix, ok := parseFileName(e.Name())
		switch {
		case strings.HasSuffix(e.Name(), deletedSuffix) || strings.HasSuffix(e.Name(), tmpSuffix):
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return l, err
			}
		case ok && suffix == logSuffix:
			l.logs = append(l.logs, base)
		case ok && suffix == snapshotSuffix:
			l.snapshots = append(l.snapshots, base)
		}
	}
	slices.Sort(l.logs)
	slices.Sort(l.snapshots)
	return l, nil
}

// finishSwaps deals with a replacement of segments that a crash cut off (KAFKA-12520): new segments are written as
// .cleaned, all renamed to .swap, the old ones removed, .swap removed from the names. While a .cleaned is there the old
// set counts, afterwards the new one.
func finishSwaps(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var swaps []string
	minCleaned := kafka.Offset(1<<63 - 1)
	for _, e := range entries {
		base, _, ok := parseFileName(e.Name())
		if ok && strings.HasSuffix(e.Name(), cleanedSuffix) {
			minCleaned = min(minCleaned, base)
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		} else if ok && strings.HasSuffix(e.Name(), swapSuffix) {
			swaps = append(swaps, e.Name())
		}
	}
	for _, name := range swaps {
		if base, suffix, _ := parseFileName(name); base < minCleaned && suffix == logSuffix+swapSuffix {
			if err := removeReplaced(dir, base, entries); err != nil {
				return err
			}
		}
	}
	for _, name := range swaps {
		path := filepath.Join(dir, name)
		if base, _, _ := parseFileName(name); base >= minCleaned {
			err = os.Remove(path)
		} else {
			err = os.Rename(path, strings.TrimSuffix(path, swapSuffix))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeReplaced removes the segments whose offsets a .log.swap covers.
func removeReplaced(dir string, base kafka.Offset, entries []fs.DirEntry) error {
	f, err := os.Open(filepath.Join(dir, fileName(base, logSuffix+swapSuffix)))
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	s := newSegment(dir, base, base, info.Size(), f, nil)
	defer s.release()
	if err := s.findEnd(defaultIndexInterval); err != nil {
		return err
	}
	for _, e := range entries {
		at, suffix, ok := parseFileName(e.Name())
		if ok && (suffix == logSuffix || suffix == indexSuffix || suffix == timeIndexSuffix || suffix == txnIndexSuffix) &&
			at >= base && (at < s.next() || at == base) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeSnapshots removes the snapshots that belong to no segment, except the newest at or below end, and all above end.
func (l *listing) removeSnapshots(dir string, segs []*segment, end kafka.Offset) error {
	newest := kafka.NoOffset
	for _, at := range l.snapshots {
		if at <= end {
			newest = at
		}
	}
	for _, at := range l.snapshots {
		if at <= end && (at == newest || segs[find(segs, at)].base == at) {
			continue
		}
		if err := removeIfThere(filepath.Join(dir, fileName(at, snapshotSuffix))); err != nil {
			return err
		}
	}
	return nil
}

// prepareDir makes the partition's directory, or checks that it belongs to the topic. fresh: it was not there. That a log
// exists is durable under all rules: rule fsync-directory concerns what comes into it later.
func (l *Log) prepareDir() (fresh bool, err error) {
	if _, err := os.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		fresh = true
		if err := os.Mkdir(l.dir, 0o755); err != nil {
			return false, err
		}
		if err := syncDir(filepath.Dir(l.dir), AllRules()); err != nil {
			return false, err
		}
	} else if err != nil {
		return false, err
	}
	text, err := readIfThere(filepath.Join(l.dir, partitionFile))
	if err != nil {
		return false, err
	}
	if text == nil {
		if l.cfg.TopicID.IsZero() {
			return fresh, nil
		}
		return fresh, writeDurable(l.dir, partitionFile, appendPartitionMetadata(nil, l.cfg.TopicID), AllRules())
	}
	id, err := parsePartitionMetadata(text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", partitionFile, err)
	}
	if !l.cfg.TopicID.IsZero() && id != l.cfg.TopicID {
		return false, fmt.Errorf("%w: %s has %s, the topic %s", ErrTopicID, partitionFile, id, l.cfg.TopicID)
	}
	l.topicID = id
	return fresh, nil
}
