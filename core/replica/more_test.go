package replica

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
)

// more is the verbs of a broker that few stories need: readers, DeleteRecords, messages that come much too late.
func (c *cluster) more(t *testing.T, b *broker, verb string, args []string) (text string, ok bool) {
	switch verb {
	case "late": // b1 late b2: what b2 asked in its earlier life arrives
		peer := c.brokers[number(t, args[0])-1]
		peer.asked, peer.before = peer.before, nil
		text = c.answers(t, peer, fmt.Sprint(b.node))
		peer.answer = nil
	case "reads": // b1 reads b2: the log is read for b2, later than b1 answered
		a := c.brokers[number(t, args[0])-1].answer
		a.records = slices.Clone(b.log[a.asked.Offset-b.start:])
		a.answer.LEO = b.leo()
		return fmt.Sprintf("  b%d answers with %d records\n", b.node, len(a.records)), true
	case "shows": // b1 shows 3 e1: to a consumer
		return c.shows(t, b, args), true
	case "prefers": // b1 prefers rack 3
		var places []Place
		for i, rack := range c.racks {
			if n := kafka.NodeID(i + 1); !slices.Contains(c.fenced, n) {
				places = append(places, Place{n, rack})
			}
		}
		return fmt.Sprintf("  read from %d\n", b.m.PreferredReader(args[0], int64(number(t, args[1])), places)), true
	case "stops":
		text = c.do(t, b, b.m.Stop(nil), nil)
	case "deletes": // b1 deletes 3: DeleteRecords
		to, code := b.m.CheckDelete(int64(number(t, args[0])))
		if code != kafka.ErrNone {
			return fmt.Sprintf("  %s\n", code), true
		}
		b.startAt(to)
		text = c.do(t, b, b.m.LogStartMoved(to, nil), nil) + fmt.Sprintf("  deleted to %d, low watermark %d\n", to, b.m.LowWatermark())
	case "fences": // b1 fences b3: b1 knows from the metadata that b3 is gone
		c.fenced = append(c.fenced, nodes(t, args[0])...)
		text = c.learns(t, b, c.lives())
	default:
		return "", false
	}
	return text + c.show(b), true
}

// shows is what a consumer gets that asks from an offset on, perhaps in an epoch.
func (c *cluster) shows(t *testing.T, b *broker, args []string) string {
	from, epoch := int64(number(t, args[0])), kafka.NoLeaderEpoch
	if len(args) > 1 {
		epoch = int32(number(t, strings.TrimPrefix(args[1], "e")))
	}
	code := b.m.CheckRead(epoch)
	if code == kafka.ErrNone {
		code = b.m.CheckOffset(from)
	}
	text := fmt.Sprintf("  %s", code)
	for o := from; code == kafka.ErrNone && o < b.m.VisibleTo(kafka.ConsumerReplica, kafka.ReadUncommitted); o++ {
		text += " " + b.log[o-b.start].name
	}
	return text + "\n"
}

// tells is: controller tells b1 replicas=1,2,3 isr=1 (a change within the epoch) | controller tells b1 (what is so already)
func (c *cluster) tells(t *testing.T, words []string) string {
	require.Equal(t, "tells", words[0])
	b := c.brokers[number(t, words[1])-1]
	a := Assignment{PartitionEpoch: c.partEp, Brokers: c.lives()}
	if len(words) > 2 {
		c.partEp++
		c.replicas = nodes(t, strings.TrimPrefix(words[2], "replicas="))
		a.PartitionEpoch, a.ISR = c.partEp, nodes(t, strings.TrimPrefix(words[3], "isr="))
	} else {
		a.ISR = b.committed.ISR
	}
	a.Replicas = c.replicas
	return c.do(t, b, b.m.Assigned(c.now, a, nil), nil) + c.show(b)
}

// startAt deletes what lies below.
func (b *broker) startAt(start kafka.Offset) {
	b.log, b.start = b.log[start-b.start:], start
	b.epochs.TruncateFromStart(start)
}

// nodes reads "1,2".
func nodes(t require.TestingT, list string) (all []kafka.NodeID) {
	for _, n := range strings.Split(list, ",") {
		all = append(all, kafka.NodeID(number(t, n)))
	}
	return all
}
