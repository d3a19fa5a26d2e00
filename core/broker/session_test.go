package broker

import (
	"fmt"
	"testing"

	"trialog/core/kafka"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetcher is the client's side of a fetch session.
type fetcher struct {
	*client
	version   int16
	ids       map[string]kafka.TopicID
	id, epoch int32
	maxBytes  int32
}

// request makes the next request: topic and offset pairs for partitions 0 of topics.
func (f *fetcher) request(want map[string]int64, forget ...string) *kmsg.FetchRequest {
	req := newFetch(f.version, f.maxBytes)
	req.SessionID, req.SessionEpoch = f.id, f.epoch
	for topic, offset := range want {
		add(req, topic, fetchPartition(0, offset, 1<<20))
		req.Topics[len(req.Topics)-1].TopicID = f.ids[topic]
	}
	for _, topic := range forget {
		ft := kmsg.NewFetchRequestForgottenTopic()
		ft.Topic, ft.TopicID, ft.Partitions = topic, f.ids[topic], []int32{0}
		req.ForgottenTopics = append(req.ForgottenTopics, ft)
	}
	return req
}

// fetch asks and returns what each topic's partition 0 says, by name: error code or record values.
func (f *fetcher) fetch(want map[string]int64, forget ...string) (kafka.ErrorCode, map[string]string) {
	f.t.Helper()
	resp := ask[*kmsg.FetchResponse](f.client, f.request(want, forget...))
	if resp.ErrorCode == 0 {
		f.id, f.epoch = resp.SessionID, f.epoch+1
	}
	return kafka.ErrorCode(resp.ErrorCode), f.said(resp)
}

func (f *fetcher) said(resp *kmsg.FetchResponse) map[string]string {
	out := map[string]string{}
	for _, topic := range resp.Topics {
		name := topic.Topic
		for n, id := range f.ids {
			if f.version >= 13 && id == topic.TopicID {
				name = n
			}
		}
		for _, p := range topic.Partitions {
			if out[name] = fmt.Sprint(values(f.t, p.RecordBatches)); p.ErrorCode != 0 {
				out[name] = kafka.ErrorCode(p.ErrorCode).String()
			}
		}
	}
	return out
}

// F10: full, incremental and closing requests of every version that has sessions, by name and by id.
func TestFetchSessions(t *testing.T) {
	in := start(t, t.TempDir())
	admin := in.dial()
	for version := int16(4); version <= 17; version++ {
		t.Run(fmt.Sprint("v", version), func(t *testing.T) {
			f := &fetcher{client: in.dial(), version: version, ids: map[string]kafka.TopicID{}, maxBytes: 1 << 20}
			a, b := fmt.Sprint("a", version), fmt.Sprint("b", version)
			for _, topic := range []string{a, b} {
				f.ids[topic] = admin.create(topic, 1)
				admin.produce(-1, topic, 0, batch("x"))
			}
			code, got := f.fetch(map[string]int64{a: 0, b: 1})
			require.Zero(t, code)
			require.Equal(t, map[string]string{a: "[0=x]", b: "[]"}, got, "a full answer has every partition")
			if version < 7 {
				require.Zero(t, f.id)
				return
			}
			require.Positive(t, f.id)
			_, got = f.fetch(nil)
			require.Equal(t, map[string]string{a: "[0=x]"}, got, "nothing changed: the same offsets again, and only who has data")
			_, got = f.fetch(map[string]int64{a: 1})
			require.Empty(t, got)
			admin.produce(-1, b, 0, batch("y"))
			_, got = f.fetch(nil)
			require.Equal(t, map[string]string{b: "[1=y]"}, got)
			_, got = f.fetch(map[string]int64{b: 9})
			require.Equal(t, map[string]string{b: "OFFSET_OUT_OF_RANGE"}, got)
			_, got = f.fetch(nil, b)
			require.Empty(t, got, "forgotten")

			before := *f
			f.epoch += 3
			code, got = f.fetch(nil)
			require.Equal(t, kafka.ErrInvalidFetchSessionEpoch, code)
			require.Empty(t, got)
			*f = before
			code, _ = f.fetch(nil)
			require.Zero(t, code, "a wrong epoch harmed nobody")

			other := *f
			other.client, other.epoch = in.dial(), 1
			code, _ = other.fetch(nil)
			require.Equal(t, kafka.ErrInvalidFetchSessionEpoch, code, "who guesses an id needs the epoch too")
			for _, id := range []int32{f.id ^ 0x55555555, -1, 1<<31 - 1} {
				other.id = id
				code, _ = other.fetch(map[string]int64{a: 0})
				require.Equal(t, kafka.ErrFetchSessionIDNotFound, code)
			}
			switched := *f
			if switched.version = 12; version == 12 {
				switched.version = 13
			}
			if version >= 12 {
				code, _ = switched.fetch(nil)
				require.Equal(t, kafka.ErrFetchSessionTopicIDError, code, "names and ids in one session")
			}

			f.epoch = -1
			code, got = f.fetch(nil)
			require.Zero(t, code)
			require.Empty(t, got)
			require.Zero(t, f.id, "closed")
			f.id, f.epoch = before.id, before.epoch+1
			code, _ = f.fetch(nil)
			require.Equal(t, kafka.ErrFetchSessionIDNotFound, code)
		})
	}
	sessions, held := in.sessions.Len()
	require.Equal(t, [2]int{0, 0}, [2]int{sessions, held})
}

// A topic that is deleted under a session is reported, by name and by id.
func TestSessionOfDeletedTopic(t *testing.T) {
	in := start(t, t.TempDir())
	admin := in.dial()
	for version, want := range map[int16]kafka.ErrorCode{12: kafka.ErrUnknownTopicOrPartition, 13: kafka.ErrUnknownTopicID} {
		f := &fetcher{client: in.dial(), version: version, ids: map[string]kafka.TopicID{"t": admin.create("t", 1)}, maxBytes: 1 << 20}
		f.fetch(map[string]int64{"t": 0})
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TopicNames = 5, []string{"t"}
		require.Zero(t, ask[*kmsg.DeleteTopicsResponse](admin, req).Topics[0].ErrorCode)
		_, got := f.fetch(nil)
		require.Equal(t, want.String(), got["t"])
	}
}

// F10: no partition starves behind one that always fills the answer.
func TestSessionServesEveryPartition(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	const n = 20
	c.create("t", n)
	for p := range int32(n) {
		require.Zero(t, c.produce(-1, "t", p, batch("x")).ErrorCode)
	}
	req := newFetch(12, 1) // room for the first batch alone
	var all []kmsg.FetchRequestTopicPartition
	for p := range int32(n) {
		all = append(all, fetchPartition(p, 0, 1<<20))
	}
	add(req, "t", all...)
	req.SessionEpoch = 0
	resp := ask[*kmsg.FetchResponse](c, req)
	seen := map[int32]bool{}
	for round := int32(1); round < 2*n && len(seen) < n; round++ {
		next := newFetch(12, 1)
		next.SessionID, next.SessionEpoch = resp.SessionID, round
		r := ask[*kmsg.FetchResponse](c, next)
		require.Zero(t, r.ErrorCode)
		for _, topic := range r.Topics {
			for _, p := range topic.Partitions {
				if len(p.RecordBatches) > 0 { // and it is never fetched on from there
					seen[p.Partition] = true
				}
			}
		}
	}
	require.Len(t, seen, n)
}

// Requests of one session that are sent ahead are handled one after the other, as if each had waited for the answer to
// the one before.
func TestPipelinedSession(t *testing.T) {
	in := start(t, t.TempDir())
	admin := in.dial()
	admin.create("a", 1)
	admin.create("b", 1)
	f := &fetcher{client: in.dial(), version: 12, maxBytes: 1 << 20}
	f.fetch(map[string]int64{"a": 0})
	first := f.request(nil)
	first.MaxWaitMillis = 1 << 30
	f.send(first)
	f.epoch++
	f.send(f.request(map[string]int64{"b": 0}))
	f.epoch++
	f.send(f.request(nil, "a"))
	eventually(t, "parked", func() bool { return in.watching("a") == 1 })
	admin.produce(-1, "a", 0, batch("x"))
	require.Equal(t, map[string]string{"a": "[0=x]"}, f.said(f.read().(*kmsg.FetchResponse)))
	require.Equal(t, map[string]string{"a": "[0=x]", "b": "[]"}, f.said(f.read().(*kmsg.FetchResponse)))
	last := f.read().(*kmsg.FetchResponse)
	require.Zero(t, last.ErrorCode)
	require.Empty(t, last.Topics)
	require.NoError(t, f.conn.Close())
	eventually(t, "the connection is gone", func() bool { return in.server.Connections() == 1 })
	require.False(t, in.sessions.Find(f.id).Open())
}

// The cache is bounded; who finds no room fetches without a session.
func TestSessionSlots(t *testing.T) {
	in := start(t, t.TempDir(), "max.incremental.fetch.session.cache.slots=2")
	admin := in.dial()
	admin.create("t", 1)
	for i := range 3 {
		f := &fetcher{client: in.dial(), version: 12, maxBytes: 1 << 20}
		code, got := f.fetch(map[string]int64{"t": 0})
		require.Zero(t, code)
		require.Equal(t, map[string]string{"t": "[]"}, got)
		require.Equal(t, i < 2, f.id != 0)
	}
	sessions, _ := in.sessions.Len()
	require.Equal(t, 2, sessions)
	empty := newFetch(12, 1<<20)
	empty.MaxWaitMillis, empty.SessionEpoch = 1<<30, 0
	resp := ask[*kmsg.FetchResponse](admin, empty)
	require.Empty(t, resp.Topics, "no partitions: answered at once")
	require.Zero(t, resp.SessionID)
}
