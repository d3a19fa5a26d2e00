package serve

import (
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"trialog/core/wire"

	"github.com/stretchr/testify/require"
)

// Large answers that are owed behind one that waits share the request memory; who asks for more loses the connection.
func TestLargeAnswersShareMemory(t *testing.T) {
	b := newBench(t, func(l *Limits) { l.RequestBytes = 1 << 20 })
	var greedy atomic.Bool
	b.rows[wire.KeyMetadata].Handle = func(rq *Request) (Answer, error) {
		if greedy.Load() {
			if err := rq.Charge(32 << 20); err != nil {
				return nil, err
			}
			return nil, rq.Charge(33 << 20) // together more than one may have
		}
		if err := rq.Charge(40 << 20); err != nil {
			return nil, err
		}
		return rq.ReplyFrame(func(b []byte) []byte { return append(b, make([]byte, 8<<20)...) })
	}
	c, other := b.dial(t), b.dial(t)
	send(t, c, wire.KeyFetch, 1)
	<-b.gates
	send(t, c, wire.KeyMetadata, 2)
	eventually(t, "what was built is given back, what is sent is held", func() bool { h := b.HeldBytes(); return h >= 8<<20 && h < 40<<20 })
	require.GreaterOrEqual(t, b.HighestBytes(), int64(40<<20))
	greedy.Store(true)
	require.NoError(t, c.Close())
	eventually(t, "its memory is back", func() bool { return b.HeldBytes() == 0 })
	send(t, other, wire.KeyMetadata, 3)
	_, err := other.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	eventually(t, "it is said", func() bool { return strings.Contains(b.log.String(), "answer to Metadata: "+wire.ErrBudget.Error()) })
	require.Less(t, b.HighestBytes(), int64(64<<20))
}

// A peer has some time for each piece of a large answer; afterwards the connection has no bound.
func TestSendStall(t *testing.T) {
	ours, theirs := net.Pipe()
	sink := NewSink(ours, new(wire.Pool), nil)
	sink.stallMax = 1 // ns
	a := &frameAnswer{bytes: make([]byte, chargeStep), pool: new(wire.Pool)}
	require.ErrorIs(t, a.Send(sink), os.ErrDeadlineExceeded)
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	small := &frameAnswer{bytes: make([]byte, 10), pool: new(wire.Pool)}
	require.NoError(t, small.Send(sink))
}

// A large answer does not lie in memory until a fetch ahead of it has waited: an impatient one leaves at once. A small one
// may lie there.
func TestLargeAnswersHurry(t *testing.T) {
	b := newBench(t, nil)
	b.modify = func(g *gate) { g.impatient = true }
	var room atomic.Int64
	room.Store(10)
	b.rows[wire.KeyMetadata].Handle = func(rq *Request) (Answer, error) {
		return rq.ReplyFrame(func(dst []byte) []byte {
			dst = append(dst, make([]byte, room.Load())...)[:0] // it is the memory that counts
			dst = wire.BeginResponse(dst, wire.KeyMetadata, 1, rq.Header.CorrelationID)
			wire.EndFrame(dst, 0, 0)
			return dst
		})
	}
	c := b.dial(t)
	send(t, c, wire.KeyFetch, 1)
	send(t, c, wire.KeyFetch, 2)
	first, second := <-b.gates, <-b.gates
	send(t, c, wire.KeyMetadata, 3)
	send(t, c, wire.KeyFetch, 4)
	third := <-b.gates // the one before it was handled
	require.Empty(t, first.resolved)
	room.Store(chargeStep)
	send(t, c, wire.KeyMetadata, 5)
	for id := range int32(5) {
		require.Equal(t, id+1, receive(t, c))
	}
	for _, g := range []*gate{first, second, third} {
		require.Equal(t, Ending, <-g.resolved)
	}
	send(t, c, wire.KeyFetch, 6)
	last := <-b.gates
	eventually(t, "it waits", func() bool { return last.poke(false) })
	require.Empty(t, last.resolved, "once they have left nobody hurries")
	eventually(t, "their memory is back", func() bool { return b.HeldBytes() < chargeStep })
}
