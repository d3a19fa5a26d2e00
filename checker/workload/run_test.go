package workload

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/checker/history"
	"trialog/core/broker"
	"trialog/core/config"
)

// server is a real broker in this process.
type server struct {
	t    *testing.T
	addr string
	dir  string
	b    *broker.Broker
}

func newServer(t *testing.T) *server {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{t: t, addr: ln.Addr().String(), dir: t.TempDir()}
	ln.Close()
	s.start()
	t.Cleanup(func() { s.b.Stop(context.Background()) })
	return s
}

func (s *server) start() {
	cfg, err := config.LoadBroker(nil, []string{
		"node.id=1", "listeners=PLAINTEXT://" + s.addr, "log.dirs=" + s.dir, "internal.segment.bytes=16384",
	})
	require.NoError(s.t, err)
	s.b, err = broker.New(cfg, broker.Options{})
	require.NoError(s.t, err)
	require.NoError(s.t, s.b.Start())
}

// recording is a history in memory; it calls after for every line.
type recording struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines int
	after func(line int)
}

func (r *recording) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.Write(b)
	r.lines++
	if r.after != nil {
		r.after(r.lines)
	}
	return len(b), nil
}

// operations checks the whole history and pairs it.
func (r *recording) operations(t *testing.T) []history.Operation {
	ops, err := history.Read(bytes.NewReader(r.text.Bytes()))
	require.NoError(t, err)
	all, err := history.Pair(ops)
	require.NoError(t, err)
	return all
}

// quick is a configuration whose clock hardly matters.
func quick(name, role, addr string) Config {
	c := Defaults()
	c.Name, c.Role, c.Bootstrap = name, role, []string{addr}
	c.PauseMin, c.PauseMax, c.FetchWait = 0, 2*time.Millisecond, time.Millisecond
	c.Work, c.FinalAt, c.FinalWithin = time.Minute, 2*time.Minute, time.Minute
	return c
}

func ticks() func() int64 {
	start := time.Now()
	return func() int64 { return int64(time.Since(start)) }
}

func sends(ops []history.Operation) (all [][]any) {
	for _, op := range ops {
		if op.Invoke.F == history.Produce {
			all = append(all, []any{op.Invoke.Partition, op.Invoke.Values})
		}
	}
	return all
}

// The same seed does the same, whatever the broker answers: here one broker dies and comes back in the middle.
func TestDrawsDoNotDependOnAnswers(t *testing.T) {
	var calm, rough recording
	cfg := quick("c1", Producer, newServer(t).addr)
	cfg.Count, cfg.Seed = 60, 7
	_, err := Run(context.Background(), cfg, &calm, ticks())
	require.NoError(t, err)

	s := newServer(t)
	down := make(chan struct{})
	rough.after = func(line int) {
		if line == 40 {
			close(down)
		}
	}
	up := make(chan struct{})
	go func() {
		<-down
		s.b.Abandon()
		s.start()
		close(up)
	}()
	cfg.Bootstrap = []string{s.addr}
	_, err = Run(context.Background(), cfg, &rough, ticks())
	require.NoError(t, err)
	<-up

	first, second := calm.operations(t), rough.operations(t)
	assert.Equal(t, sends(first), sends(second))
	assert.Len(t, sends(first), 60)
	for _, op := range first {
		if op.Invoke.F == history.Produce {
			assert.Equal(t, history.OK, op.Outcome)
		}
	}
	cfg.Seed = 8
	var other recording
	_, err = Run(context.Background(), cfg, &other, ticks())
	require.NoError(t, err)
	assert.NotEqual(t, sends(first), sends(other.operations(t)))
}

// Producers write, a reader begins its final read-back after them: it finds every acknowledged value at its offset.
func TestFinalReadBackFindsEverything(t *testing.T) {
	s := newServer(t)
	var written recording
	cfg := quick("c1", Producer, s.addr)
	cfg.Count, cfg.Idempotent, cfg.InFlight = 80, true, 3
	summary, err := Run(context.Background(), cfg, &written, ticks())
	require.NoError(t, err)
	assert.Contains(t, summary, " ok, ")

	var read recording
	cfg = quick("c2", Reader, s.addr)
	cfg.Count, cfg.Work, cfg.FinalAt = 40, 30*time.Second, 30*time.Second
	cfg.Start = 30 * time.Second // the time of the work is over: the final read-back comes at once
	_, err = Run(context.Background(), cfg, &read, ticks())
	require.NoError(t, err)

	at := map[string]history.Rec{}
	var earliest, latest int
	for _, op := range read.operations(t) {
		assert.True(t, op.Invoke.Final || op.Invoke.F == history.Metadata)
		switch {
		case op.Invoke.F == history.ListOffsets && op.Invoke.Offset == history.Latest:
			latest++
		case op.Invoke.F == history.ListOffsets:
			earliest++
		}
		if op.Complete != nil {
			for _, r := range op.Complete.Records {
				assert.NotContains(t, at, r.Value)
				at[r.Value] = r
			}
		}
	}
	assert.Equal(t, []int{3, 3}, []int{earliest, latest}, "one question of each kind for each partition")
	var values, inits int
	sequence := map[int32]int32{}
	for _, op := range written.operations(t) {
		switch op.Invoke.F {
		case history.InitProducerID:
			inits++
		case history.Produce:
			require.Equal(t, history.OK, op.Outcome)
			assert.Equal(t, sequence[op.Invoke.Partition], op.Invoke.Seq)
			sequence[op.Invoke.Partition] += int32(len(op.Invoke.Values))
			for i, v := range op.Invoke.Values {
				values++
				assert.Equal(t, op.Offset()+int64(i), at[v].Offset, v)
			}
		}
	}
	assert.Equal(t, 1, inits)
	assert.Len(t, at, values)
}

func TestReaderWorksAndRestarts(t *testing.T) {
	s := newServer(t)
	var written, read recording
	cfg := quick("c1", Producer, s.addr)
	cfg.Count = 20
	_, err := Run(context.Background(), cfg, &written, ticks())
	require.NoError(t, err)
	cfg = quick("c2", Reader, s.addr)
	cfg.Count, cfg.Seed, cfg.FinalAt = 120, 3, time.Minute
	cfg.Start = cfg.Work - time.Minute/2
	ctx, cancel := context.WithCancel(context.Background())
	read.after = func(line int) {
		if line == 2*121 { // the metadata and 120 operations
			cancel()
		}
	}
	_, err = Run(ctx, cfg, &read, ticks())
	assert.ErrorIs(t, err, ErrNotDrained, "it was stopped before the final read-back")
	kinds := map[history.F]int{}
	again := false
	next := map[int32]int64{}
	for _, op := range read.operations(t) {
		kinds[op.Invoke.F]++
		if op.Invoke.F == history.Fetch {
			again = again || op.Invoke.Offset < next[op.Invoke.Partition]
			next[op.Invoke.Partition] = op.Invoke.Offset
		}
	}
	assert.Equal(t, 1, kinds[history.Metadata])
	assert.Equal(t, 120, kinds[history.Fetch]+kinds[history.ListOffsets])
	assert.NotZero(t, kinds[history.ListOffsets])
	assert.True(t, again, "it began again somewhere")
}

func TestNobodyAnswers(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	ln.Close()
	var h recording
	cfg := quick("c1", Reader, addr)
	cfg.Work, cfg.FinalAt, cfg.FinalWithin = 0, 0, time.Millisecond
	cfg.DeliveryTimeout = time.Millisecond
	_, err = Run(context.Background(), cfg, &h, ticks())
	assert.ErrorIs(t, err, ErrNotDrained)
	for _, op := range h.operations(t) {
		assert.Equal(t, history.Fail, op.Outcome)
		assert.Equal(t, history.ErrDial, op.Complete.Error)
	}
	cfg.Role = Producer
	_, err = Run(context.Background(), cfg, &h, ticks())
	assert.NoError(t, err, "a producer that found nobody has done what it could")
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// A history with a hole must not be judged.
func TestTheHistoryCannotBeWritten(t *testing.T) {
	cfg := quick("c1", Producer, newServer(t).addr)
	cfg.Count = 3
	_, err := Run(context.Background(), cfg, fullDisk{}, ticks())
	assert.ErrorIs(t, err, ErrNotDrained)
	assert.ErrorContains(t, err, "no space left on device")
}

func TestConfigIsChecked(t *testing.T) {
	for _, spoil := range []func(*Config){
		func(c *Config) { c.Name = "" }, func(c *Config) { c.Name = "a|b" }, func(c *Config) { c.Role = "x" },
		func(c *Config) { c.Topic = "" }, func(c *Config) { c.Partitions = 0 }, func(c *Config) { c.Start = -1 },
		func(c *Config) { c.Start = c.Work + 1 }, func(c *Config) { c.FinalAt = 1 }, func(c *Config) { c.FinalWithin = 0 },
		func(c *Config) { c.Count = -1 }, func(c *Config) { c.PauseMin = c.PauseMax + 1 }, func(c *Config) { c.BatchMax = 0 },
		func(c *Config) { c.ValueMin = c.ValueMax + 1 }, func(c *Config) { c.InFlight = 0 },
		func(c *Config) { c.FetchWait = 0 }, func(c *Config) { c.RequestTimeout = 0 }, func(c *Config) { c.DeliveryTimeout = 0 }, func(c *Config) { c.Bootstrap = nil },
		func(c *Config) { c.Idempotent, c.Acks = true, 1 },
	} {
		cfg := quick("c1", Producer, "127.0.0.1:1")
		spoil(&cfg)
		_, err := Run(context.Background(), cfg, fullDisk{}, ticks())
		assert.Error(t, err)
		assert.NotErrorIs(t, err, ErrNotDrained)
	}
}
