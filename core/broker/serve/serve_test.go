package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trialog/core/kafka"
	"trialog/core/wire"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const safety = 20 * time.Second

var origin = time.Now()

func now() kafka.Now {
	t := time.Now()
	return kafka.Now{WallMs: t.UnixMilli(), MonoNs: int64(t.Sub(origin))}
}

// gate is a Pending that the test opens.
type gate struct {
	Answer
	mu        sync.Mutex
	open      bool
	waker     *Waker
	armed     int
	disarmed  int
	deadline  int64
	impatient bool
	resolved  chan Reason
	dropped   *atomic.Int32
}

func newGate(rq *Request, dropped *atomic.Int32) *gate {
	return &gate{Answer: echo(rq), deadline: math.MaxInt64 / 2, resolved: make(chan Reason, 1), dropped: dropped}
}

func (g *gate) Arm(w *Waker) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed++
	g.waker = w
	return g.open
}

func (g *gate) Disarm() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.disarmed++
	g.waker = nil
}

func (g *gate) Deadline() int64    { return g.deadline }
func (g *gate) Resolve(why Reason) { g.resolved <- why }
func (g *gate) Impatient() bool    { return g.impatient }
func (g *gate) Drop()              { g.dropped.Add(1); g.Answer.Drop() }
func (g *gate) poke(open bool) bool { // wakes the waiter, if there is one
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open
	if g.waker == nil {
		return false
	}
	g.waker.Wake()
	return true
}

// echo answers with the correlation id alone.
func echo(rq *Request) Answer {
	a, err := rq.ReplyFrame(func(b []byte) []byte {
		start := len(b)
		b = wire.BeginResponse(b, wire.KeyMetadata, 1, rq.Header.CorrelationID)
		wire.EndFrame(b, start, 0)
		return b
	})
	if err != nil {
		panic(err) // small answers ask for no memory
	}
	return a
}

// bench is a server whose Metadata answers at once and whose Fetch waits for the
// test. CreateTopics refuses.
type bench struct {
	*Server
	addr    string
	gates   chan *gate
	dropped atomic.Int32
	handled atomic.Int32
	modify  func(*gate)
	log     *lockedLog
}

type lockedLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newBench(t *testing.T, change func(*Limits)) *bench {
	b := &bench{gates: make(chan *gate, 100), modify: func(*gate) {}, log: new(lockedLog)}
	limits := Limits{FrameMax: 1 << 20, RequestBytes: 64 << 20, RequestsMax: 10, ConnectionsMax: 100, ConnectionsPerIPMax: 100, CreationRateMax: 1 << 30}
	if change != nil {
		change(&limits)
	}
	row := func(key int16, h Handler) Row {
		api, _ := wire.Lookup(key)
		return Row{API: api, Handle: func(rq *Request) (Answer, error) { b.handled.Add(1); return h(rq) }}
	}
	b.Server = NewServer([]Row{
		row(wire.KeyMetadata, func(rq *Request) (Answer, error) { return echo(rq), nil }),
		row(wire.KeyProduce, func(rq *Request) (Answer, error) { return nil, nil }),
		row(wire.KeyCreateTopics, func(rq *Request) (Answer, error) { return nil, errors.New("refused by the handler") }),
		row(wire.KeyFetch, func(rq *Request) (Answer, error) {
			g := newGate(rq, &b.dropped)
			b.modify(g)
			b.gates <- g
			return g, nil
		}),
	}, limits, slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})), now, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.addr = l.Addr().String()
	b.Serve(l, "PLAINTEXT")
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = b.Stop(ctx)
	})
	return b
}

func (b *bench) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", b.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(safety)))
	return c
}

func send(t *testing.T, c net.Conn, key int16, correlation int32) {
	t.Helper()
	req := kmsg.RequestForKey(key)
	req.SetVersion(4)
	_, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, correlation))
	require.NoError(t, err)
}

func receive(t *testing.T, c net.Conn) int32 {
	t.Helper()
	var b [8]byte
	_, err := io.ReadFull(c, b[:])
	require.NoError(t, err)
	require.EqualValues(t, 4, binary.BigEndian.Uint32(b[:]))
	return int32(binary.BigEndian.Uint32(b[4:]))
}

// silent asserts that nothing has been sent, by asking something on another
// connection, which takes as long.
func (b *bench) silent(t *testing.T, c net.Conn) {
	t.Helper()
	other := b.dial(t)
	send(t, other, wire.KeyMetadata, 1)
	receive(t, other)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(safety)))
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, safety, time.Millisecond, what)
}

// W09: responses come in request order although later ones are ready first;
// correlation ids are echoed exactly; another connection is not held up.
func TestOrder(t *testing.T) {
	b := newBench(t, nil)
	c := b.dial(t)
	ids := []int32{7, -1, math.MaxInt32, math.MinInt32, 0}
	send(t, c, wire.KeyFetch, ids[0])
	send(t, c, wire.KeyMetadata, ids[1])
	send(t, c, wire.KeyFetch, ids[2])
	send(t, c, wire.KeyProduce, 99) // no answer
	send(t, c, wire.KeyMetadata, ids[3])
	first, second := <-b.gates, <-b.gates
	eventually(t, "all five are handled", func() bool { return b.handled.Load() == 5 })
	second.poke(true)
	b.silent(t, c)
	first.poke(true)
	for _, want := range ids[:4] {
		require.Equal(t, want, receive(t, c))
	}
	require.Equal(t, Ready, <-first.resolved)
	send(t, c, wire.KeyMetadata, ids[4])
	require.Equal(t, ids[4], receive(t, c))
	require.Zero(t, second.armed-second.disarmed, "every Arm is followed by a Disarm")
	require.Equal(t, 1, second.armed, "an answer is armed only at the head of its connection")
}

// A wake-up that was not enough is followed by another wait.
func TestSpuriousWakeUp(t *testing.T) {
	b := newBench(t, nil)
	c := b.dial(t)
	send(t, c, wire.KeyFetch, 1)
	g := <-b.gates
	eventually(t, "armed, woken, armed again", func() bool { g.poke(false); g.mu.Lock(); defer g.mu.Unlock(); return g.armed >= 3 })
	eventually(t, "armed", func() bool { return g.poke(true) })
	require.EqualValues(t, 1, receive(t, c))
}

func TestDeadline(t *testing.T) {
	b := newBench(t, nil)
	b.modify = func(g *gate) { g.deadline = now().MonoNs }
	c := b.dial(t)
	send(t, c, wire.KeyFetch, 1)
	require.Equal(t, Expired, <-(<-b.gates).resolved)
	require.EqualValues(t, 1, receive(t, c))
}

// F09e: a peer that goes away takes its waits with it.
func TestPeerGone(t *testing.T) {
	b := newBench(t, nil)
	c := b.dial(t)
	for i := range 3 {
		send(t, c, wire.KeyFetch, int32(i))
	}
	head := <-b.gates
	<-b.gates
	<-b.gates
	eventually(t, "the head is armed", func() bool { head.mu.Lock(); defer head.mu.Unlock(); return head.waker != nil })
	require.NoError(t, c.Close())
	eventually(t, "the connection is forgotten", func() bool { return b.Connections() == 0 })
	require.EqualValues(t, 3, b.dropped.Load())
	require.Equal(t, head.armed, head.disarmed)
	require.Zero(t, b.HeldBytes())
}

// Requests behind a waiting one are bounded: then the reader stops reading.
func TestPipelineBound(t *testing.T) {
	b := newBench(t, nil)
	c := b.dial(t)
	send(t, c, wire.KeyFetch, 0)
	for i := range int32(3 * pipelineMax) {
		send(t, c, wire.KeyMetadata, i+1)
	}
	g := <-b.gates
	eventually(t, "the queue is full", func() bool { return b.handled.Load() >= pipelineMax })
	b.silent(t, c)
	require.LessOrEqual(t, b.handled.Load(), int32(pipelineMax+4))
	g.poke(true)
	for i := range int32(3*pipelineMax + 1) {
		require.Equal(t, i, receive(t, c))
	}
}

// An error of a handler closes the connection after the answers to what was asked
// before; an impatient answer does not hold that up.
func TestHandlerError(t *testing.T) {
	b := newBench(t, nil)
	b.modify = func(g *gate) { g.impatient = true }
	c := b.dial(t)
	send(t, c, wire.KeyFetch, 1)
	send(t, c, wire.KeyMetadata, 2)
	send(t, c, wire.KeyCreateTopics, 3)
	require.EqualValues(t, 1, receive(t, c))
	require.EqualValues(t, 2, receive(t, c))
	require.Equal(t, Ending, <-(<-b.gates).resolved)
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	eventually(t, "a log line", func() bool { return strings.Contains(b.log.String(), "refused by the handler") })
}

// Stop answers what was asked: impatient answers at once, others when they are
// ready. Nothing new is accepted.
func TestStop(t *testing.T) {
	b := newBench(t, nil)
	patient, hasty, idle := b.dial(t), b.dial(t), b.dial(t)
	send(t, patient, wire.KeyFetch, 1)
	g := <-b.gates
	b.modify = func(g *gate) { g.impatient = true }
	send(t, hasty, wire.KeyFetch, 2)
	<-b.gates
	eventually(t, "armed", func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.waker != nil })
	stopped := make(chan error)
	go func() { stopped <- b.Stop(context.Background()) }()
	require.EqualValues(t, 2, receive(t, hasty))
	_, err := idle.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	select {
	case <-stopped:
		t.Fatal("stopped before the patient answer left")
	default:
	}
	require.True(t, g.poke(true))
	require.EqualValues(t, 1, receive(t, patient))
	require.NoError(t, <-stopped)
	_, err = net.Dial("tcp", b.addr)
	require.Error(t, err)
}

// When the context ends, waiting connections are cut.
func TestStopCuts(t *testing.T) {
	b := newBench(t, nil)
	c := b.dial(t)
	send(t, c, wire.KeyFetch, 1)
	<-b.gates
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, b.Stop(ctx), context.Canceled)
	require.EqualValues(t, 1, b.dropped.Load())
	require.Zero(t, b.Connections())
}

func TestConnectionLimits(t *testing.T) {
	for name, change := range map[string]func(*Limits){
		"all":    func(l *Limits) { l.ConnectionsMax = 2 },
		"per IP": func(l *Limits) { l.ConnectionsPerIPMax = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, change)
			one, two, three := b.dial(t), b.dial(t), b.dial(t)
			_, err := three.Read(make([]byte, 1))
			require.Error(t, err, "the third is closed at once")
			for i, c := range []net.Conn{one, two} {
				send(t, c, wire.KeyMetadata, int32(i))
				require.EqualValues(t, i, receive(t, c))
			}
			require.NoError(t, one.Close())
			eventually(t, "a place is free", func() bool { return b.Connections() == 1 })
			four := b.dial(t)
			send(t, four, wire.KeyMetadata, 4)
			require.EqualValues(t, 4, receive(t, four))
		})
	}
}

// Idle connections are cut after so many sweeps; those that wait for an answer, or
// that did something, are not (W08, KAFKA-12427).
func TestIdleSweep(t *testing.T) {
	b := newBench(t, func(l *Limits) { l.IdleMax = time.Hour })
	idle, waiting, busy := b.dial(t), b.dial(t), b.dial(t)
	send(t, waiting, wire.KeyFetch, 1)
	g := <-b.gates
	eventually(t, "armed", func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.waker != nil })
	eventually(t, "accepted", func() bool { return b.Connections() == 3 })
	for i := range int32(sweepsPerIdle + 2) {
		send(t, busy, wire.KeyMetadata, i)
		require.Equal(t, i, receive(t, busy))
		b.sweep()
	}
	_, err := idle.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	g.poke(true)
	require.EqualValues(t, 1, receive(t, waiting))
}

// A peer that does not read blocks itself alone, and is cut when it stays so.
func TestSlowReader(t *testing.T) {
	b := newBench(t, func(l *Limits) { l.IdleMax = time.Hour; l.SendBuffer = 4 << 10 })
	b.rows[wire.KeyMetadata].Handle = func(rq *Request) (Answer, error) {
		return rq.ReplyFrame(func(b []byte) []byte { return append(b, make([]byte, 8<<20)...) })
	}
	slow, other := b.dial(t), b.dial(t)
	for i := range int32(4) {
		send(t, slow, wire.KeyMetadata, i)
	}
	send(t, other, wire.KeyFetch, 1)
	(<-b.gates).poke(true)
	require.EqualValues(t, 1, receive(t, other))
	eventually(t, "its answer counts", func() bool { return b.HeldBytes() >= 8<<20 })
	eventually(t, "the slow one is cut", func() bool {
		b.sweep()
		return b.Connections() <= 1
	})
	eventually(t, "its memory is back", func() bool { return b.HeldBytes() == 0 })
}

// A flood of log lines is cut to a few, and the cut is told.
func TestLogLimit(t *testing.T) {
	var at int64
	var out lockedLog
	log := slog.New(&limitHandler{
		Handler: slog.NewTextHandler(&out, nil), state: new(limitState),
		now: func() kafka.Now { return kafka.Now{MonoNs: at} },
	})
	at = limitPeriodNs
	for range 100 {
		log.Warn("nonsense")
	}
	require.Equal(t, limitLines, strings.Count(out.String(), "nonsense"))
	at += limitPeriodNs
	log.With("a", 1).WithGroup("g").Warn("later")
	require.Contains(t, out.String(), "omitted_before=80")
}

// region is a Region over memory; file is set when it may be sent directly.
type region struct {
	*strings.Reader
	file *os.File
	size int
}

func (r region) Send(off int64, send func(f *os.File, pos int64, n int) (int, error)) (int, error) {
	return send(r.file, off, r.size-int(off))
}

// The sink sends memory and regions in order, whatever their sizes, through
// staging and directly.
func TestSink(t *testing.T) {
	for _, size := range []int{0, 1, 1000, directMin - 1, directMin, stageMax, 3*stageMax + 17} {
		testSink(t, size, false)
		testSink(t, size, true)
	}
}

// testSink sends through the one way or the other; staged is how every byte goes in the simulator.
func testSink(t *testing.T, size int, staged bool) {
	t.Helper()
	body := strings.Repeat("0123456789abcdef", size/16+1)[:size]
	file, err := os.CreateTemp(t.TempDir(), "region")
	require.NoError(t, err)
	_, err = file.WriteString(body)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	server, err := l.Accept()
	require.NoError(t, err)
	go func() {
		defer server.Close()
		sink := NewSink(server, new(wire.Pool), nil)
		if staged {
			sink.direct = direct{}
		}
		for range 2 {
			sink.Begin(size*2 + 6)
			_ = sink.Write([]byte("<a>"))
			_ = sink.CopyRegion(region{strings.NewReader(body), file, size}, size)
			_ = sink.Write([]byte("<b"))
			_ = sink.CopyRegion(region{strings.NewReader(body), file, size}, size)
			_ = sink.Write([]byte(">"))
			_ = sink.End()
		}
		_ = sink.WriteAll([]byte("end"))
	}()
	got, err := io.ReadAll(client)
	require.NoError(t, err)
	once := "<a>" + body + "<b" + body + ">"
	require.True(t, once+once+"end" == string(got), "regions of %d bytes, staged %t", size, staged)
}

// A region that ends early ends the response with an error: the frame's size is
// out already.
func TestSinkShortRegion(t *testing.T) {
	for _, size := range []int{100, directMin} {
		file, err := os.CreateTemp(t.TempDir(), "region")
		require.NoError(t, err)
		client, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		conn, err := net.Dial("tcp", client.Addr().String())
		require.NoError(t, err)
		sink := NewSink(conn, new(wire.Pool), nil)
		sink.Begin(size)
		require.Error(t, sink.CopyRegion(region{strings.NewReader(""), file, size}, size))
		sink.Abort()
	}
}
