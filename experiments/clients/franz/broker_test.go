package franz

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"trialog/experiments/clients/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// broker is the process under test, with franz-go at hand.
type broker struct{ *harness.Broker }

func startBroker(t *testing.T, overrides ...string) broker {
	return broker{harness.Start(t, overrides...)}
}

func (b broker) client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addr)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// createTopic makes a topic that the test is sure to have for itself.
func (b broker) createTopic(ctx context.Context, t *testing.T, name string, partitions int32) *kadm.Client {
	adm := kadm.NewClient(b.client(t))
	got, err := adm.CreateTopic(ctx, partitions, 1, map[string]*string{"internal.segment.bytes": kadm.StringPtr("1048576")}, name)
	require.NoError(t, err)
	require.Equal(t, name, got.Topic)
	return adm
}

// readAll reads every partition from its start to the end that it has now.
func (b broker) readAll(ctx context.Context, t *testing.T, adm *kadm.Client, topic string, opts ...kgo.Opt) map[int32][]*kgo.Record {
	ends, err := adm.ListEndOffsets(ctx, topic)
	require.NoError(t, err)
	require.NoError(t, ends.Error())
	from := map[int32]kgo.Offset{}
	left := 0
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			from[o.Partition] = kgo.NewOffset().AtStart()
			left++
		}
	})
	c := b.client(t, append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))...)
	all := map[int32][]*kgo.Record{}
	for left > 0 {
		fetches := c.PollFetches(ctx)
		require.NoError(t, ctx.Err(), "%d partitions are not at their end", left)
		require.Empty(t, fetches.Errors())
		fetches.EachRecord(func(r *kgo.Record) {
			all[r.Partition] = append(all[r.Partition], r)
			if end, _ := ends.Lookup(topic, r.Partition); r.Offset == end.Offset-1 {
				left--
			}
		})
	}
	return all
}
