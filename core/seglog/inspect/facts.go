package inspect

import (
	"os"
	"path/filepath"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
)

// dirFacts are what the files beside the partitions say.
type dirFacts struct {
	clean       bool // the marker is there
	checkpoints bool // the directory is a broker's, and not a copy of a part of one: what no checkpoint says is 0
	offsets     [len(offsetFiles)]map[kafka.TopicPartition]kafka.Offset
}

var offsetFiles = [...]string{layout.RecoveryPointFile, layout.HWFile, layout.LogStartFile, layout.CleanerFile}

const (
	recoveryPoint = iota
	highWatermark
	logStart
	cleaned
)

// facts are what is known of one partition besides its own files. Offsets are -1 when nothing is said.
type facts struct {
	clean         bool
	recoveryPoint kafka.Offset // -1: no checkpoint at all
	highWatermark kafka.Offset
	logStart      kafka.Offset
	cleaned       kafka.Offset // compaction has been done below
	bare          bool         // nobody could have said whether it was compacted
}

func (d *dirFacts) of(tp kafka.TopicPartition) facts {
	get := func(file int) kafka.Offset {
		if o, ok := d.offsets[file][tp]; ok {
			return o
		}
		return kafka.NoOffset
	}
	f := facts{clean: d.clean, recoveryPoint: get(recoveryPoint), highWatermark: get(highWatermark), logStart: get(logStart),
		cleaned: get(cleaned), bare: !d.checkpoints}
	if d.checkpoints && f.recoveryPoint < 0 {
		f.recoveryPoint = 0
	}
	return f
}

// level is of what is wrong with the record at offset.
func (f *facts) level(offset kafka.Offset) Level {
	if f.clean || f.recoveryPoint < 0 || offset < f.recoveryPoint {
		return Damage
	}
	return Recoverable
}

// readFacts reads what lies beside the partitions of dir, and reports what cannot be read.
func readFacts(r *Report, dir string) (d dirFacts, err error) {
	marker, err := layout.ReadIfThere(filepath.Join(dir, layout.CleanMarker))
	if err != nil {
		return d, err
	}
	d.clean = marker != nil
	properties, err := layout.ReadIfThere(filepath.Join(dir, layout.PropertiesFile))
	if err != nil {
		return d, err
	}
	d.checkpoints = properties != nil
	if d.clean && layout.ParseMarker(marker).BrokerEpoch == kafka.NoBrokerEpoch {
		r.add(Note, filepath.Join(dir, layout.CleanMarker), NoPos, "it names no broker epoch")
	}
	for i, name := range offsetFiles {
		path := filepath.Join(dir, name)
		text, err := layout.ReadIfThere(path)
		if err != nil {
			return d, err
		}
		d.offsets[i] = map[kafka.TopicPartition]kafka.Offset{}
		if text == nil {
			continue
		}
		r.Files++
		if i == recoveryPoint {
			d.checkpoints = true
		}
		if len(text) == 0 {
			r.add(Note, path, NoPos, "it is empty: Kafka makes it so, and writes it later")
			continue
		}
		rows, err := layout.ParseCheckpoints(text)
		if err != nil {
			r.add(Damage, path, NoPos, "%v", err)
			continue
		}
		for _, row := range rows {
			if _, twice := d.offsets[i][row.Partition]; twice {
				r.add(Damage, path, NoPos, "%s is there twice", row.Partition)
			}
			d.offsets[i][row.Partition] = row.Offset
			if _, err := os.Stat(filepath.Join(dir, row.Partition.String())); err != nil {
				r.add(Note, path, NoPos, "%s has no directory here", row.Partition)
			}
		}
	}
	return d, nil
}
