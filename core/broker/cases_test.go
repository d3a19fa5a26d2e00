package broker

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// failureModes are the failure modes of fetching (F) and of the wire (W), each with the tests that hold this broker to the
// correct behaviour, or with why there is none. A rule that guards a case is named; its test shows the case with the rule
// off.
var failureModes = []struct{ id, what, tests, rule, without string }{
	{"F01", "first batch larger than the limit", "TestFetchLimits", "", ""},
	{"F02", "fetch offset inside a batch", "TestFetchVersions", "", ""},
	{"F03", "fetch offset removed by compaction", "", "", "nothing is compacted yet"},
	{"F04", "empty batches", "", "", "nothing is compacted yet"},
	{"F05", "out-of-range reset loops", "TestFetchErrors TestDeleteRecords", "", ""},
	{"F06", "out of range on a follower", "", "", "there are no followers yet"},
	{"F07", "bad preferred replica", "TestFetchVersions", "", ""},
	{"F08", "auto-commit", "", "", "there are no groups yet"},
	{"F09", "long-poll wake-ups", "TestParkedFetch TestVisibleAfterFlush", "replica.visible-after-flush", ""},
	{"F10", "incremental fetch sessions", "TestFetchSessions TestSessionServesEveryPartition TestSessionOfDeletedTopic TestPipelinedSession TestSessionSlots TestEpochs TestChanges TestRotation TestEviction TestIncrementalKnowsAsMuch", "", ""},
	{"F11", "epoch unknown treated as an epoch", "TestOffsetForLeaderEpoch TestFetchDiverging TestFetchErrors", "", ""},
	{"F12", "offsets by timestamp", "TestListOffsets TestCompressedTimes", "", ""},
	{"F13", "latest offset right after an election", "", "", "a single replica leads with all of its log durable; core/replica has the rule in its transcripts"},
	{"F14", "response larger than the client allows", "TestFetchLimits", "", ""},
	{"F15", "segment deleted while being read", "TestSegmentDeletedWhileSent", "", ""},
	{"F16", "late response applied to a new position", "", "", "a client's affair"},
	{"W01", "length prefix", "TestHostileFrames TestFrameLyingLength TestDribble TestFrameHostile", "", ""},
	{"W02", "counts", "TestCountBombs TestDecodeCountBombs TestProduceTooManyEntries TestHostileClient", "", ""},
	{"W03", "version negotiation", "TestAPIVersions TestAPIVersionsFromTheFuture TestResponseHeader", "", ""},
	{"W04", "unknown key or version", "TestHostileFrames TestVersionsNextToServed", "", ""},
	{"W05", "decompression bombs", "TestHostileCompressedBatches TestUncompressedBound", "", ""},
	{"W06", "structurally wrong batches", "TestHostileBatches TestHostileCompressedBatches TestBadBatchAmongGood", "", ""},
	{"W07", "connection floods and leaks", "TestConnectionStorm TestConnectionLimits TestLimitsPerAddress TestCreationRate TestIdleConnectionBytes TestAcceptSurvives", "", ""},
	{"W08", "slow clients", "TestSlowReader TestDribble TestFramePatience TestBudget TestBudgetKnot TestBusyConnectionsShareMemory TestIdleSweep", "", ""},
	{"W09", "order on one connection", "TestOrder TestFetchHoldsNobodyElse TestLongPipeline TestPipelineBound", "", ""},
	{"W10", "flexible versions and unknown tags", "TestUnknownTags TestHeaderTags TestHostileFrames", "", ""},
	{"W11", "string and name limits", "TestHostileNames TestNamesAtTheirLimits", "", ""},
	{"W12", "throttling", "", "", "there are no quotas: every throttle time is 0"},
}

// Every case is answered for, by tests that exist and rules that exist.
func TestFailureModes(t *testing.T) {
	names := testNames(t)
	for i, c := range failureModes {
		require.True(t, i == 0 || failureModes[i-1].id < c.id, "%s: in order, once", c.id)
		require.NotEqual(t, c.tests == "", c.without == "", "%s: tests, or why there are none", c.id)
		for _, test := range strings.Fields(c.tests) {
			require.Contains(t, names, test, c.id)
		}
		if c.rule != "" {
			require.Contains(t, ruleNames(), c.rule, c.id)
		}
	}
}

// testNames is the names of all tests under core.
func testNames(t *testing.T) []string {
	var names []string
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names = append(names, f.Name.Name)
			}
		}
		return nil
	}))
	slices.Sort(names)
	return names
}
