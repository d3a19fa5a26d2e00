package partition

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"trialog/core/broker/serve"
	"trialog/core/config"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/replica"
	"trialog/core/seglog"

	"github.com/stretchr/testify/require"
)

const safety = 20 * time.Second

// under is a partition under test with the events that it wrote.
type under struct {
	*Partition
	mu     sync.Mutex
	events []event.Event
	onEmit func(event.Event)
}

func (u *under) emit(e event.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.events = append(u.events, e)
	if u.onEmit != nil {
		u.onEmit(e)
	}
}

// lines are the events of some kinds, one word each.
func (u *under) lines(kinds ...event.Kind) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []string
	for _, e := range u.events {
		switch {
		case !slices.Contains(kinds, e.Kind):
		case e.Kind == event.Append:
			out = append(out, fmt.Sprintf("append %d..%d", e.Base, e.Next))
		case e.Kind == event.HW:
			out = append(out, fmt.Sprintf("hw %d", e.Offset))
		default:
			out = append(out, fmt.Sprintf("%s %d", e.Kind, e.Next))
		}
	}
	return out
}

func open(t *testing.T, rules replica.Rules, change func(*config.Topic)) *under {
	t.Helper()
	cfg, err := config.LoadBroker(nil, []string{"node.id=1", "log.dirs=" + t.TempDir()})
	require.NoError(t, err)
	settings := cfg.Topic(nil)
	if change != nil {
		change(&settings)
	}
	u := &under{}
	tp := kafka.TopicPartition{Topic: "t", Partition: 0}
	log, err := seglog.Open(t.TempDir()+"/t-0", seglog.Config{
		Node: 1, Partition: tp, Settings: settings, Rules: seglog.AllRules(), ProducerRules: producers.AllRules(), Emit: u.emit,
	}, seglog.Start{})
	require.NoError(t, err)
	origin := time.Now()
	env := &Env{
		Node: 1, Emit: u.emit, Log: slog.New(slog.DiscardHandler), Rules: rules,
		Now: func() kafka.Now {
			return kafka.Now{WallMs: time.Now().UnixMilli(), MonoNs: int64(time.Since(origin))}
		},
	}
	u.Partition = New(env, log, settings)
	require.NoError(t, u.Lead(replica.Leadership{Epoch: 3, Replicas: []kafka.NodeID{1}, ISR: []kafka.NodeID{1}}))
	t.Cleanup(func() {
		u.Close()
		_ = log.Close()
	})
	return u
}

func batch(values ...string) []byte {
	var b record.Builder
	b.Reset(nil)
	for _, v := range values {
		b.Append(1, nil, []byte(v))
	}
	return b.Finish()
}

func flushEvery(n int64) func(*config.Topic) { return func(s *config.Topic) { s.FlushMessages = n } }

func wait(t *testing.T, w *serve.Waker) {
	t.Helper()
	select {
	case <-w.C():
	case <-time.After(safety):
		t.Fatal("not woken")
	}
}

// With default flushing an append is acked and visible at once; the events come
// in their order.
func TestAppend(t *testing.T) {
	u := open(t, replica.AllRules(), nil)
	for i := range int64(3) {
		got, err := u.Append(batch("a", "b"), u.env.Now())
		require.NoError(t, err)
		require.Equal(t, Appended{Base: 2 * i, Next: 2*i + 2, Timestamp: 1}, got)
		for _, k := range []Kind{Acked, HW, Visible} {
			require.Equal(t, got.Next, u.Progress(k))
		}
	}
	require.EqualValues(t, 6, u.HighWatermark())
	require.EqualValues(t, 6, u.LastStable())
	require.Equal(t, []string{"leader 0", "hw 0", "append 0..2", "hw 2", "append 2..4", "hw 4", "append 4..6", "hw 6"},
		u.lines(event.Leader, event.Append, event.HW))
	require.Equal(t, kafka.ErrFencedLeaderEpoch, u.CheckEpoch(2))
	require.Equal(t, kafka.ErrNone, u.CheckEpoch(3))
	require.Equal(t, kafka.ErrNone, u.CheckEpoch(-1))
	require.Equal(t, kafka.ErrUnknownLeaderEpoch, u.CheckEpoch(4))
}

// With flush.messages=1 an append is acked and visible after its fsync; many
// appenders share fsyncs; the HW event comes after the flush event.
func TestGroupCommit(t *testing.T) {
	u := open(t, replica.AllRules(), flushEvery(1))
	const appenders = 64
	var done sync.WaitGroup
	for range appenders {
		done.Add(1)
		go func() {
			defer done.Done()
			got, err := u.Append(batch("x"), u.env.Now())
			if err != nil {
				t.Error(err)
				return
			}
			waker := serve.NewWaker()
			for u.Progress(HW) < got.Next {
				var w Watch
				u.Watch(&w, HW, got.Next, waker)
				if u.Progress(HW) < got.Next {
					wait(t, waker)
				}
				w.Stop()
			}
			if u.Log().FlushedTo() < got.Next {
				t.Errorf("acked at %d, flushed to %d", got.Next, u.Log().FlushedTo())
			}
		}()
	}
	done.Wait()
	require.EqualValues(t, appenders, u.HighWatermark())
	require.Zero(t, u.Watching())
	flushed := int64(0)
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range u.events {
		switch e.Kind {
		case event.Flush:
			flushed = e.Next
		case event.HW:
			require.LessOrEqual(t, e.Offset, flushed, "the HW passed what is durable")
		}
	}
}

// Rule replica.visible-after-flush: with it off, consumers see what is not
// durable; acks still wait.
func TestVisibleAfterFlush(t *testing.T) {
	for _, safe := range []bool{true, false} {
		rules := replica.AllRules()
		if !safe {
			require.True(t, rules.Off("visible-after-flush"))
		}
		u := open(t, rules, flushEvery(1))
		seen := make(chan [2]int64, 1)
		u.onEmit = func(e event.Event) { // the flusher's fsync is over, nothing was published yet
			if e.Kind == event.Flush && e.Next == 1 {
				seen <- [2]int64{u.Progress(Visible), u.Progress(Acked)}
			}
		}
		_, err := u.Append(batch("x"), u.env.Now())
		require.NoError(t, err)
		want := [2]int64{1, 0}
		if safe {
			want = [2]int64{0, 0}
		}
		require.Equal(t, want, <-seen)
	}
}

// flush.ms lets a record wait, and no longer.
func TestFlushMs(t *testing.T) {
	u := open(t, replica.AllRules(), func(s *config.Topic) { s.FlushMs = 1 })
	waker := serve.NewWaker()
	var w Watch
	got, err := u.Append(batch("x"), u.env.Now())
	require.NoError(t, err)
	u.Watch(&w, Acked, got.Next, waker)
	if u.Progress(Acked) < got.Next {
		wait(t, waker)
	}
	w.Stop()
	require.EqualValues(t, 1, u.Log().FlushedTo())
}

// Watches are woken by progress and by changes of state, and only then.
func TestWatch(t *testing.T) {
	u := open(t, replica.AllRules(), nil)
	near, far := serve.NewWaker(), serve.NewWaker()
	var wn, wf, wz Watch
	u.Watch(&wn, Visible, 1, near)
	u.Watch(&wf, HW, 10, far)
	_, err := u.Append(batch("x"), u.env.Now())
	require.NoError(t, err)
	wait(t, near)
	require.Empty(t, far.C())
	require.Equal(t, 1, u.Watching())
	wn.Stop()
	wn.Stop()
	wz.Stop()
	u.Close()
	wait(t, far)
	require.Equal(t, Gone, u.State())
	wf.Stop()
	_, err = u.Append(batch("x"), u.env.Now())
	require.ErrorIs(t, err, ErrNotOnline)
}

// A log that fails takes no more appends; who waits is woken (R27).
func TestFailure(t *testing.T) {
	u := open(t, replica.AllRules(), nil)
	_, err := u.Append(batch("x"), u.env.Now())
	require.NoError(t, err)
	waker := serve.NewWaker()
	var w Watch
	u.Watch(&w, HW, 5, waker)
	require.NoError(t, u.Log().Close())
	_, err = u.Append(batch("y"), u.env.Now())
	require.Error(t, err)
	wait(t, waker)
	require.Equal(t, Failed, u.State())
	_, err = u.Append(batch("z"), u.env.Now())
	require.ErrorIs(t, err, ErrNotOnline)
	require.EqualValues(t, 1, u.HighWatermark())
}

// Rule broker.ack-after-append off: the answer has a predicted offset, the batch
// comes later, or, in a crash, never.
func TestAppendLate(t *testing.T) {
	u := open(t, replica.AllRules(), nil)
	for i := range int64(3) {
		got, err := u.AppendLate(batch("a", "b"), u.env.Now())
		require.NoError(t, err)
		require.Equal(t, Appended{Base: 2 * i, Next: 2*i + 2}, got)
	}
	require.Eventually(t, func() bool { return u.Log().EndOffset() == 6 }, safety, time.Millisecond)
	got, err := u.AppendLate(batch("lost"), u.env.Now())
	require.NoError(t, err)
	require.EqualValues(t, 6, got.Base)
	u.Cut()
	require.EqualValues(t, 6, u.Log().EndOffset())
}

func TestRetain(t *testing.T) {
	u := open(t, replica.AllRules(), func(s *config.Topic) { s.SegmentBytes, s.RetentionBytes = 200, 200 })
	for range 10 {
		_, err := u.Append(batch("some bytes that fill a segment soon"), u.env.Now())
		require.NoError(t, err)
	}
	require.NoError(t, u.Log().Flush(10)) // segments are deleted when their own flush is over
	n, err := u.Retain(u.env.Now().WallMs)
	require.NoError(t, err)
	require.Positive(t, n)
	require.Positive(t, u.Log().StartOffset())
	require.Contains(t, u.String(), fmt.Sprintf("start=%d", u.Log().StartOffset()))
}

// New settings hold from then on: under a new flush policy nothing that was
// visible is hidden.
func TestSetSettings(t *testing.T) {
	u := open(t, replica.AllRules(), nil)
	_, err := u.Append(batch("x"), u.env.Now())
	require.NoError(t, err)
	s := *u.Settings()
	s.FlushMessages = 1
	u.SetSettings(s)
	require.EqualValues(t, 1, u.HighWatermark())
	require.EqualValues(t, 1, u.Settings().FlushMessages)
	require.Eventually(t, func() bool { return u.Log().FlushedTo() == 1 }, safety, time.Millisecond)
}

func TestTable(t *testing.T) {
	table := NewTable()
	u := open(t, replica.AllRules(), nil)
	one := &Topic{Name: "t", ID: kafka.TopicID{1}, Partitions: []*Partition{nil, u.Partition}}
	table.Put(one)
	require.Same(t, one, table.Topic([]byte("t")))
	require.Same(t, one, table.TopicNamed("t"))
	require.Same(t, one, table.TopicByID(kafka.TopicID{1}))
	require.Same(t, u.Partition, one.Partition(1))
	for _, i := range []int32{-1, 0, 2, 1 << 30} {
		require.Nil(t, one.Partition(i))
	}
	require.Nil(t, table.TopicNamed("u").Partition(0))
	require.Equal(t, []*Partition{u.Partition}, table.All())
	two := &Topic{Name: "t", ID: kafka.TopicID{2}}
	table.Put(two)
	require.Nil(t, table.TopicByID(kafka.TopicID{1}))
	require.Same(t, two, table.Remove(kafka.TopicID{2}))
	require.Nil(t, table.Remove(kafka.TopicID{2}))
	require.Nil(t, table.TopicNamed("t"))
	require.Zero(t, testing.AllocsPerRun(10, func() { table.Topic([]byte("some-topic-name")) }))
}

// Who waits for an acknowledgement when somebody else begins to lead is woken, and nothing is appended until this replica
// leads again.
func TestResign(t *testing.T) {
	u := open(t, replica.AllRules(), flushEvery(100))
	got, err := u.Append(batch("a"), u.env.Now())
	require.NoError(t, err)
	waker := serve.NewWaker()
	var w Watch
	u.Watch(&w, HW, got.Next, waker)
	u.Resign(replica.Following{Epoch: 4, Leader: 2})
	wait(t, waker)
	w.Stop()
	require.Equal(t, Online, u.State())
	require.Equal(t, kafka.ErrNotLeaderOrFollower, u.CheckEpoch(kafka.NoLeaderEpoch))
	got, err = u.Append(batch("b"), u.env.Now())
	require.NoError(t, err)
	require.Equal(t, Appended{Code: kafka.ErrNotLeaderOrFollower}, got)
	require.EqualValues(t, 1, u.Log().EndOffset())

	require.NoError(t, u.Lead(replica.Leadership{Epoch: 5, Replicas: []kafka.NodeID{1}, ISR: []kafka.NodeID{1}}))
	got, err = u.Append(batch("b"), u.env.Now())
	require.NoError(t, err)
	require.Equal(t, Appended{Base: 1, Next: 2, Timestamp: 1}, got)
}
