package court

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/oracle"
	"trialog/checker/report"
)

// A broker that does not fsync directories loses a segment to a power cut. Whoever opens the report of such a run finds
// the record, its acknowledgement, the power cut and the read that missed it.
func TestReportTellsHowARecordWasLost(t *testing.T) {
	names := engineNames()
	s, err := NewSim(t.Context(), SimOptions{Engine: names[len(names)-1], Program: program(t), Source: strings.Repeat("5", 64), Command: "trialog"})
	require.NoError(t, err)
	defer s.Close(t.Context())
	e := theExperimentFile(t)
	cell, err := e.Cell("powercut-flush")
	require.NoError(t, err)
	const seeds = 40
	for seed := range uint64(seeds) {
		r, err := s.Run(t.Context(), &Case{Experiment: e, Cell: cell, Seed: seed + 1, RulesOff: []string{"seglog.fsync-directory"}})
		require.NoError(t, err)
		if r.Verdict.Counts[oracle.LostAcked] > 0 {
			tellsOfALostRecord(t, r)
			return
		}
	}
	t.Fatalf("no record was lost under %d seeds", seeds)
}

func tellsOfALostRecord(t *testing.T, r *Run) {
	in, err := r.reportInput()
	require.NoError(t, err)
	d, err := report.Build(in)
	require.NoError(t, err)
	at := slices.IndexFunc(d.Stories, func(s report.Story) bool { return s.Class == oracle.LostAcked })
	require.GreaterOrEqual(t, at, 0)
	story := d.Stories[at]
	require.GreaterOrEqual(t, story.Record, 0)
	record := d.Parts[story.Part].Records[story.Record]
	require.True(t, record.Gone)
	when := map[string]int64{}
	for _, step := range story.Steps {
		if _, seen := when[step.Role]; !seen || step.Role == "missed" {
			when[step.Role] = step.Time
		}
		if step.Role == "ack" {
			require.Equal(t, record.Writer, step.Op)
			require.Contains(t, d.Ops[step.Op].Text, record.Value)
		}
	}
	for _, role := range []string{"appended", "ack", "crash", "missed"} {
		require.Contains(t, when, role, story)
	}
	require.Less(t, when["crash"], when["missed"])
	page, err := r.Report()
	require.NoError(t, err)
	for _, want := range []string{"the power of b1 was cut", "seglog.fsync-directory", r.Replay, r.TraceHash, "Does a record that the broker acknowledged survive"} {
		require.Contains(t, string(page), want)
	}
	require.NotEmpty(t, d.Output)
	require.True(t, slices.ContainsFunc(d.Output, func(s report.Said) bool { return s.Time > 0 }))
}
