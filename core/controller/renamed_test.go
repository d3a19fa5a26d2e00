package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// TestRenamed: a controller whose brokers have other names is another one, and with the first names again the same, in
// every field that its canonical form has.
func TestRenamed(t *testing.T) {
	there := meta.Renaming(func(n kafka.NodeID) kafka.NodeID { return n%3 + 1 })
	back := meta.Renaming(func(n kafka.NodeID) kafka.NodeID { return (n+1)%3 + 1 })
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t, []string{"3", "brokers", "min.insync=2", "elr"}, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") })
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			m.step()
		}
		m.c.Handle(m.now, &AllocateProducerIDs{Broker: 1, BrokerEpoch: m.epoch(1)}) // which stays pending
		before := m.c.AppendTo(nil)
		renamed := m.c.Renamed(there)
		require.NotEqual(t, before, renamed.AppendTo(nil))
		require.Equal(t, before, renamed.Renamed(back).AppendTo(nil))
		require.Equal(t, before, m.c.AppendTo(nil), "the first one is as it was")
		for n := kafka.NodeID(1); n <= 3; n++ {
			require.Equal(t, m.c.Session(n, m.epoch(int(n))), renamed.Session(there(n), m.epoch(int(n))))
			require.EqualValues(t, Session{Registered: -1, ShutDown: -1, Heard: -1}, m.c.Session(n, 99), "of another life")
		}
	})
}
