package exporter

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"trialog/core/broker/logcleaner"
	"trialog/core/seglog/compact"
)

// The metrics of compaction: of the whole broker in a scrape, and what they make of a status.
func TestCompactionMetrics(t *testing.T) {
	b, _ := start(t)
	series := scrape(t, b)
	for _, name := range []string{"max_dirty_percent", "time_since_last_run_ms"} {
		require.Contains(t, series, managerPrefix+name)
	}

	made := gatherer{logcleaner.Status{
		Uncleanable: []logcleaner.Uncleanable{{Directory: "/a", Bytes: 10}, {Directory: "/a", Bytes: 5}, {Directory: "/b", Bytes: 1}},
		Dirtiest:    0.25, LastRunMs: 1000,
		Done: []logcleaner.Done{
			{Stats: compact.Stats{Read: 100, Written: 10, MapUsed: 0.5}, Took: 2 * time.Second},
			{Stats: compact.Stats{Read: 100, Written: 40, MapUsed: 0.1}, Took: time.Second, Dirt: compact.Dirt{OverdueMs: 1500}},
		},
	}}
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(made))
	families, err := registry.Gather()
	require.NoError(t, err)
	got := map[string][]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() { // by label
			got[f.GetName()] = append(got[f.GetName()], m.GetGauge().GetValue())
		}
	}
	require.Equal(t, map[string][]float64{
		managerPrefix + "uncleanable_partitions_count": {2, 1}, managerPrefix + "uncleanable_bytes": {15, 1},
		managerPrefix + "max_dirty_percent": {25}, managerPrefix + "time_since_last_run_ms": {700},
		cleanerPrefix + "cleaner_recopy_percent": {25}, cleanerPrefix + "max_buffer_utilization_percent": {50},
		cleanerPrefix + "max_clean_time_secs": {2}, cleanerPrefix + "max_compaction_delay_secs": {1.5},
	}, got)
}

// gatherer collects the metrics of one status.
type gatherer struct{ status logcleaner.Status }

func (gatherer) Describe(chan<- *prometheus.Desc) {}

func (g gatherer) Collect(to chan<- prometheus.Metric) {
	var d compactionDescs
	d.describe()
	d.collect(to, g.status, time.UnixMilli(1700))
}
