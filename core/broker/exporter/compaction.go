package exporter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"trialog/core/broker/logcleaner"
)

const (
	cleanerPrefix = "kafka_log_logcleaner_"
	managerPrefix = "kafka_log_logcleanermanager_"
)

// compactionDescs are the metrics of LogCleaner and LogCleanerManager.
type compactionDescs struct {
	uncleanable, uncleanableBytes, dirty, lastRun *prometheus.Desc
	recopied, bufferUsed, longest, delay          *prometheus.Desc
}

func (d *compactionDescs) describe() {
	d.uncleanable = desc(managerPrefix+"uncleanable_partitions_count", "logs that cannot be compacted", "logDirectory")
	d.uncleanableBytes = desc(managerPrefix+"uncleanable_bytes", "dirty bytes of logs that cannot be compacted", "logDirectory")
	d.dirty = desc(managerPrefix+"max_dirty_percent", "dirty share of the dirtiest log")
	d.lastRun = desc(managerPrefix+"time_since_last_run_ms", "milliseconds since it was last looked which log is dirty")
	d.recopied = desc(cleanerPrefix+"cleaner_recopy_percent", "share of the bytes read by the last compaction of each thread that it wrote")
	d.bufferUsed = desc(cleanerPrefix+"max_buffer_utilization_percent", "share of the map of keys that the last compaction of a thread used")
	d.longest = desc(cleanerPrefix+"max_clean_time_secs", "seconds that the last compaction of a thread took")
	d.delay = desc(cleanerPrefix+"max_compaction_delay_secs", "seconds that the log last compacted by a thread was beyond max.compaction.lag.ms")
}

func (d *compactionDescs) collect(to chan<- prometheus.Metric, s logcleaner.Status, now time.Time) {
	bytes, count := map[string]int64{}, map[string]int{}
	for _, u := range s.Uncleanable {
		bytes[u.Directory] += u.Bytes
		count[u.Directory]++
	}
	for dir, n := range count {
		gauge(to, d.uncleanable, float64(n), dir)
		gauge(to, d.uncleanableBytes, float64(bytes[dir]), dir)
	}
	gauge(to, d.dirty, 100*s.Dirtiest)
	if s.LastRunMs > 0 {
		gauge(to, d.lastRun, float64(now.UnixMilli()-s.LastRunMs))
	}
	var read, written int64
	var used, longest, delay float64
	for _, last := range s.Done {
		read, written = read+last.Stats.Read, written+last.Stats.Written
		used, longest = max(used, last.Stats.MapUsed), max(longest, last.Took.Seconds())
		delay = max(delay, float64(last.Dirt.OverdueMs)/1000)
	}
	gauge(to, d.recopied, 100*float64(written)/float64(max(read, 1)))
	gauge(to, d.bufferUsed, 100*used)
	gauge(to, d.longest, longest)
	gauge(to, d.delay, delay)
}
