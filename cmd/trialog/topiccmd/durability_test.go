package topiccmd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What an acknowledged record survives, by settings, with a broker that holds acknowledgements until the flush and with
// Kafka, which does not unless each append is flushed.
func TestDurability(t *testing.T) {
	const survive = "acknowledged records survive"
	for _, row := range []struct {
		messages, ms int64
		ours         bool
		policy, cut  string
	}{
		{never, never, true, "the operating system writes records when it sees fit", "acknowledged records that the operating system has not written yet are lost"},
		{never, never, false, "the operating system writes records when it sees fit", "acknowledged records that the operating system has not written yet are lost"},
		{1, never, true, "fsync each record; acknowledgements wait for it", survive},
		{1, 50, false, "fsync each record", survive},
		{10, never, true, "fsync after 10 records; acknowledgements wait for it", survive},
		{10, never, false, "fsync after 10 records; acknowledgements do not wait for it", "acknowledged records that are not flushed yet are lost"},
		{never, 50, false, "fsync after 50 ms; acknowledgements do not wait for it", "acknowledged records that are not flushed yet are lost"},
	} {
		d := durability{FlushMessages: row.messages, FlushMs: row.ms}
		d.say(row.ours)
		require.Equal(t, [3]string{row.policy, survive, row.cut}, [3]string{d.Policy, d.Kill, d.PowerCut})
	}
}
