package broker

import (
	"trialog/core/broker/logcleaner"
	"trialog/core/config"
)

// startCleaner begins to compact what has cleanup.policy=compact.
func (b *Broker) startCleaner() *logcleaner.Cleaner {
	return logcleaner.Start(logcleaner.Config{
		Partitions: b.table.All, Settings: func() config.Cleaner { return b.live.Load().Cleaner }, Now: b.now, Log: b.log,
		Cleaned: func() {
			b.failDirs(b.dirs.Checkpoint())
			b.chores.removeSoon()
		},
	})
}

// Compaction is what can be seen of the log cleaner; nothing before the broker serves.
func (b *Broker) Compaction() logcleaner.Status {
	if b.State() < Running {
		return logcleaner.Status{}
	}
	s := b.cleaner.Status()
	for i := range s.Uncleanable {
		s.Uncleanable[i].Directory = b.dirs.Of(s.Uncleanable[i].Partition)
	}
	return s
}
