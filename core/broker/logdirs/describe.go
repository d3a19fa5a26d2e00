package logdirs

import (
	"path/filepath"

	"trialog/core/kafka"
)

// UnknownBytes is the size of a disk that the system does not tell, as Kafka
// writes it (KIP-827).
const UnknownBytes = -1

// Described is one directory for DescribeLogDirs.
type Described struct {
	Path        string // absolute
	TotalBytes  int64  // of its disk; UnknownBytes in the simulator
	UsableBytes int64
	Offline     bool           // it failed; nothing else is known of it
	Logs        []DescribedLog // open ones of topics
}

// DescribedLog is one log of a directory.
type DescribedLog struct {
	Partition kafka.TopicPartition
	Bytes     int64
}

// Describe is what every directory holds now.
func (s *Set) Describe() []Described {
	all := make([]Described, 0, len(s.dirs))
	for _, e := range s.dirs {
		d := Described{Path: e.path, TotalBytes: UnknownBytes, UsableBytes: UnknownBytes}
		if abs, err := filepath.Abs(d.Path); err == nil {
			d.Path = abs
		}
		s.mu.Lock()
		d.Offline = e.failed != nil
		s.mu.Unlock()
		if d.Offline {
			all = append(all, d)
			continue
		}
		d.TotalBytes, d.UsableBytes = space(d.Path)
		for _, l := range e.logs.Logs() {
			if tp := l.Partition(); tp.Topic != kafka.ClusterMetadataTopic {
				d.Logs = append(d.Logs, DescribedLog{Partition: tp, Bytes: l.Size()})
			}
		}
		all = append(all, d)
	}
	return all
}
