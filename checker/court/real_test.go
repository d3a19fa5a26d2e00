package court

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/checker/court/actor"
	"trialog/netsim/nemesis"
)

// A broker that does not stop when it is asked to leaves a run to be judged and kept, not a failure of the court.
func TestABrokerThatDoesNotStopIsADoubt(t *testing.T) {
	deaf := filepath.Join(t.TempDir(), "deaf")
	require.NoError(t, os.WriteFile(deaf, []byte("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.01; done\n"), 0o755))
	s := &stage{start: time.Now()}
	s.broker = actor.New("b1", deaf, nil, eventsEnv, s.start, 50*time.Millisecond)
	plan, err := nemesis.Parse("plan", "at 200ms stop b1\nat 210ms start b1\n")
	require.NoError(t, err)
	require.NoError(t, s.play(t.Context(), plan))
	require.Equal(t, []string{"b1 is told to start, and did not stop within 50ms of being asked"}, s.doubts)
	s.killAll()
	require.Len(t, s.broker.Ends(), 1)
	require.Equal(t, "kill", s.broker.Ends()[0].How)
}
