package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// TestC10DeposedController: another one leads in a later term. What the deposed one had decided is told by its term, and is
// not committed; once it knows, it decides nothing, and forgets what was not committed. No leader epoch is given twice.
func TestC10DeposedController(t *testing.T) {
	old := newCluster(t, []string{"3", "brokers"})
	old.c.term = 1
	cfg := old.cfg
	cfg.Standby = true
	next := New(cfg, &meta.Image{})
	for _, records := range old.log {
		require.NoError(t, next.Replay(records...))
	}
	next.Reached(old.now, int64(len(old.log)))
	next.Lead(old.now, 2, int64(len(old.log)))
	require.True(t, next.Active())
	expired := &SessionExpired{Broker: 1, BrokerEpoch: old.epoch(1)}
	d := next.Handle(old.now, expired)
	require.EqualValues(t, 2, d.Term)
	next.Committed(d.Seq)
	p := next.Image().Topic("t").Partitions[0]
	require.Equal(t, []int32{2, 1}, []int32{p.Leader, p.LeaderEpoch})

	// It does not know yet, and moves the partition, too: in a batch of an old term, which no log takes.
	late := old.c.Handle(old.now, &SessionExpired{Broker: 2, BrokerEpoch: old.epoch(2)})
	require.EqualValues(t, 1, late.Term)
	require.NotEmpty(t, late.Records)

	old.c.Resign()
	require.Empty(t, old.c.Committed(late.Seq), "it is forgotten")
	require.IsType(t, &NotController{}, old.c.Handle(old.now, expired).Response)
	require.NoError(t, old.c.Replay(d.Records...))
	require.Equal(t, next.Image().String(), old.c.Image().String())
	require.Equal(t, kafka.NodeID(2), old.c.Image().Topic("t").Partitions[0].Leader)
}
