package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func frameOf(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func metadataFrame(t *testing.T, clientID string, topics ...string) []byte {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 4
	for _, name := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, topic)
	}
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, req, 7)
}

func reader(src io.Reader, max int) (*FrameReader, *Budget) {
	budget := NewBudget(64 << 20)
	return NewFrameReader(src, max, new(Pool), budget, nil), budget
}

// TestFrameHostile is the table of W01 and W04: what is refused, and with which
// words.
func TestFrameHostile(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"negative", []byte{0xff, 0xff, 0xff, 0xff}, "frame of negative size -1"},
		{"most negative", []byte{0x80, 0, 0, 0}, "frame of negative size -2147483648"},
		{"empty frame", []byte{0, 0, 0, 0}, "frame of 0 bytes has no header"},
		{"seven bytes", append([]byte{0, 0, 0, 7}, make([]byte, 7)...), "frame of 7 bytes has no header"},
		{"too large", []byte{0x06, 0x40, 0x00, 0x01}, "over socket.request.max.bytes=104857600"},
		{"largest", []byte{0x7f, 0xff, 0xff, 0xff}, "over socket.request.max.bytes"},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), "frame of 1195725856 bytes"},
		{"TLS hello", []byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, "frame of 369295618 bytes"},
		{"unknown key", frameOf([]byte{0x03, 0xe7, 0, 0, 0, 0, 0, 1}), "unknown api key 999"},
		{"negative key", frameOf([]byte{0xff, 0xff, 0, 0, 0, 0, 0, 1}), "unknown api key -1"},
		{"Produce v99", frameOf([]byte{0, 0, 0, 99, 0, 0, 0, 1}), "Produce v99 is not served (3 to 11 are)"},
		{"Produce v2", frameOf([]byte{0, 0, 0, 2, 0, 0, 0, 1}), "Produce v2 is not served"},
		{"Fetch v0", frameOf([]byte{0, 1, 0, 0, 0, 0, 0, 1}), "Fetch v0 is not served"},
		{"negative version", frameOf([]byte{0, 3, 0xff, 0xff, 0, 0, 0, 1}), "Metadata v-1 is not served"},
		{"large Metadata", append([]byte{0, 0x40, 0, 1, 0, 3, 0, 1}, make([]byte, 100)...), "Metadata frame of 4194305 bytes"},
		{"size cut", []byte{0, 0, 1}, "unexpected EOF"},
		{"header cut", append([]byte{0, 0, 0, 30}, 0, 3, 0), "reading header: unexpected EOF"},
		{"body cut", append([]byte{0, 0, 0, 30}, 0, 3, 0, 1, 0), "frame (5 of 30 bytes): unexpected EOF"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fr, budget := reader(bytes.NewReader(tc.bytes), 100<<20)
			var f Frame
			err := fr.Next(&f)
			require.ErrorContains(t, err, tc.want)
			require.Zero(t, budget.Used(), "a refused frame must hold nothing")
			cut := errors.Is(err, io.ErrUnexpectedEOF)
			require.NotEqual(t, cut, errors.Is(err, ErrMalformed), "either the peer vanished or it lied")
		})
	}
}

// A length prefix must cost nothing: memory is taken as bytes arrive.
func TestFrameLyingLength(t *testing.T) {
	lie := append([]byte{0x06, 0x00, 0x00, 0x00}, 0, 0, 0, 9, 0, 0, 0, 1) // Produce of 96 MiB, of which 8 bytes come
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		fr, budget := reader(bytes.NewReader(lie), 100<<20)
		var f Frame
		require.ErrorIs(t, fr.Next(&f), io.ErrUnexpectedEOF)
		require.Zero(t, budget.Used())
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100*(firstGrant+3*readAhead)))
}

func TestFrameReadsWhatWasSent(t *testing.T) {
	var stream []byte
	var bodies [][]byte
	for _, size := range []int{HeaderMin, 100, readAhead, firstGrant - 1, firstGrant, firstGrant + 1, 1 << 20, 3<<20 + 5} {
		body := make([]byte, size)
		for i := range body {
			body[i] = byte(i * 7)
		}
		copy(body, []byte{0, 0, 0, 9, 0, 0, 0, 1})
		bodies = append(bodies, body)
		stream = append(stream, frameOf(body)...)
	}
	for name, src := range map[string]io.Reader{
		"whole":       bytes.NewReader(stream),
		"byte a time": iotest.OneByteReader(bytes.NewReader(stream)),
		"halves":      iotest.HalfReader(bytes.NewReader(stream)),
	} {
		t.Run(name, func(t *testing.T) {
			fr, budget := reader(src, 100<<20)
			for _, body := range bodies {
				var f Frame
				require.NoError(t, fr.WaitFrame())
				require.NoError(t, fr.Next(&f))
				require.True(t, bytes.Equal(body, f.Buf.B), "frame of %d bytes", len(body))
				require.EqualValues(t, ClassBytes(len(body)), budget.Used())
				f.Release()
				f.Release()
			}
			require.ErrorIs(t, fr.WaitFrame(), io.EOF)
			require.Zero(t, budget.Used())
		})
	}
}

func TestFrameChargesDecodedSize(t *testing.T) {
	frame := metadataFrame(t, "c", "a", "b")
	fr, budget := reader(bytes.NewReader(frame), 1<<20)
	var f Frame
	require.NoError(t, fr.Next(&f))
	require.EqualValues(t, ClassBytes(1)+(len(frame)-4)*DecodeFactor, budget.Used())
	f.Release()
	require.Zero(t, budget.Used())
}

func TestBudget(t *testing.T) {
	const large = smallBytes + 1
	b := NewBudget(10 * large)
	require.True(t, b.Acquire(6*large, time.Minute, nil))
	require.False(t, b.TryAcquire(5*large))
	require.True(t, b.TryAcquire(4*large))
	done := make(chan struct{})
	close(done)
	require.False(t, b.Acquire(large, time.Minute, done))
	require.False(t, b.Acquire(large, time.Millisecond, nil))
	require.EqualValues(t, 10*large, b.Used())

	got := make(chan bool)
	go func() { got <- b.Acquire(50*large, time.Minute, nil) }()
	require.Eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.waiting) == 1 }, time.Minute, time.Millisecond)
	require.True(t, b.TryAcquire(smallBytes), "small requests have a reserve and do not queue")
	require.False(t, b.TryAcquire(smallBytes), "which is bounded")
	b.Release(smallBytes)
	b.Release(6 * large)
	require.False(t, b.TryAcquire(large), "large ones do not overtake")
	b.Release(4 * large)
	require.True(t, <-got, "more than the budget passes when nothing else is held")
	require.False(t, b.TryAcquire(1), "the reserve is bounded too")
	b.Release(50 * large)
	require.Zero(t, b.Used())
	require.Panics(t, func() { b.Release(1) })
}

// Frames that each hold a part and wait for the rest get done one after the other: the first that asked goes over the
// budget, and the next once that one is released. Who holds nothing waits.
func TestBudgetKnot(t *testing.T) {
	const large = smallBytes + 1
	b := NewBudget(3 * large)
	for range 3 {
		require.True(t, b.Acquire(large, time.Minute, nil))
	}
	waiting := func(n int) {
		require.Eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.waiting) == n }, time.Minute, time.Millisecond)
	}
	fresh := make(chan bool, 1)
	go func() { fresh <- b.Acquire(large, time.Minute, nil) }()
	waiting(1)
	ok, over := b.acquireMore(5*large, false, time.Minute, nil)
	require.True(t, ok && over, "the first that holds something")
	ok, over = b.acquireMore(large, over, time.Minute, nil)
	require.True(t, ok && over, "and it goes on")
	second := make(chan bool, 1)
	go func() {
		ok, over := b.acquireMore(2*large, false, time.Minute, nil)
		second <- ok && over
	}()
	waiting(2)
	require.EqualValues(t, 9*large, b.Used())
	b.releaseOver(6 * large) // the budget is full, and one may go over it again
	require.True(t, <-second)
	select {
	case <-fresh:
		t.Fatal("who holds nothing went over the budget")
	default:
	}
	b.releaseOver(3 * large)
	require.True(t, <-fresh)
	b.Release(3 * large)
	require.Zero(t, b.Used())
}

// Who may go over the budget may not do so without end: what one request asks for beside its frame is bounded, and more
// is refused at once.
func TestChargeIsBounded(t *testing.T) {
	for _, memory := range []int64{1 << 20, 2 * chargeMin} {
		most := max(memory, chargeMin)
		budget := NewBudget(memory)
		require.True(t, budget.Acquire(memory/2, time.Minute, nil), "somebody else")
		fr := NewFrameReader(bytes.NewReader(metadataFrame(t, "c", "a")), 1<<20, new(Pool), budget, nil)
		var f Frame
		require.NoError(t, fr.Next(&f))
		own := f.held
		require.False(t, f.Charge(most+1, nil))
		require.True(t, f.Charge(most/2, nil))
		require.True(t, f.Charge(most/2, nil), "one may go over")
		require.True(t, f.over)
		require.False(t, f.Charge(1, nil))
		require.Equal(t, memory/2+own+most, budget.Used())
		require.True(t, f.Keep(5000, nil))
		require.Equal(t, memory/2+5000, budget.Used())
		require.True(t, f.over, "until it is released")
		f.Release()
		f.Release()
		require.False(t, budget.over)
		require.Equal(t, memory/2, budget.Used())
		require.Equal(t, memory/2+own+most, budget.Highest())
		require.Equal(t, memory/2, budget.Highest())
	}
}

// What is kept may be more than the frame had.
func TestKeepCharges(t *testing.T) {
	fr, budget := reader(bytes.NewReader(metadataFrame(t, "c", "a")), 1<<20)
	var f Frame
	require.NoError(t, fr.Next(&f))
	require.True(t, f.Keep(10<<20, nil))
	require.EqualValues(t, 10<<20, budget.Used())
	require.False(t, f.Keep(100<<20, nil))
	require.EqualValues(t, 10<<20, budget.Used())
	f.Release()
	require.Zero(t, budget.Used())
}

// A frame larger than the whole budget arrives, even when it has to share.
func TestFrameOverBudget(t *testing.T) {
	body := make([]byte, 3<<20)
	copy(body, []byte{0, 0, 0, 9, 0, 0, 0, 1})
	budget := NewBudget(1 << 20)
	require.True(t, budget.Acquire(700<<10, time.Minute, nil), "somebody else")
	fr := NewFrameReader(bytes.NewReader(frameOf(body)), 100<<20, new(Pool), budget, nil)
	var f Frame
	require.NoError(t, fr.Next(&f))
	require.EqualValues(t, 700<<10+4<<20, budget.Used())
	f.Release()
	require.EqualValues(t, 700<<10, budget.Used())
	require.False(t, budget.over)
}

// A large frame is read under a bound on how long its sender may stall.
func TestFramePatience(t *testing.T) {
	body := make([]byte, 3<<20)
	copy(body, []byte{0, 0, 0, 9, 0, 0, 0, 1})
	fr, _ := reader(bytes.NewReader(append(frameOf(body[:9:9]), frameOf(body)...)), 100<<20)
	var calls []time.Duration
	fr.Patience = func(d time.Duration) { calls = append(calls, d) }
	var f Frame
	require.NoError(t, fr.Next(&f))
	f.Release()
	require.Empty(t, calls, "small frames cost nothing")
	require.NoError(t, fr.Next(&f))
	f.Release()
	require.Equal(t, stallMax, calls[0])
	require.Zero(t, calls[len(calls)-1], "the bound is lifted")
	require.NotContains(t, calls[:len(calls)-1], time.Duration(0))
}

func TestPoolClasses(t *testing.T) {
	for _, tc := range []struct{ n, class int }{{0, 4 << 10}, {1, 4 << 10}, {4096, 4 << 10}, {4097, 8 << 10}, {1 << 20, 1 << 20}, {1<<20 + 1, 2 << 20}, {128 << 20, 128 << 20}, {128<<20 + 1, 128<<20 + 1}} {
		require.Equal(t, tc.class, ClassBytes(tc.n), "n=%d", tc.n)
	}
	var p Pool
	b := p.Get(5000)
	require.Len(t, b.B, 5000)
	require.Equal(t, 8<<10, cap(b.B))
	p.Put(b)
	p.Put(nil)
}
