package broker

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"trialog/core/event"
	"trialog/core/kafka"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The periodic tasks run: retention deletes whole old segments and their files,
// checkpoints are written, idle producers are forgotten.
func TestChores(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir, "log.retention.check.interval.ms=5", "log.segment.delete.delay.ms=5",
		"log.flush.offset.checkpoint.interval.ms=5", "producer.id.expiration.ms=1", "producer.id.expiration.check.interval.ms=5")
	c := in.dial()
	c.create("t", 1, "internal.segment.bytes", "500", "retention.bytes", "1000")
	c.create("u", 1)
	require.Zero(t, c.produce(-1, "u", 0, idempotent(7, 0, 0, "x")).ErrorCode)
	for range 20 {
		require.Zero(t, c.produce(-1, "t", 0, batch(strings.Repeat("x", 200))).ErrorCode)
	}
	eventually(t, "retention", func() bool { return c.listOffset("t", 0, -2).Offset > 10 })
	require.EqualValues(t, kafka.ErrOffsetOutOfRange, c.fetch("t", 0, 0).ErrorCode)
	require.EqualValues(t, 20, c.listOffset("t", 0, -1).Offset)
	eventually(t, "old files are gone", func() bool {
		old, err := filepath.Glob(filepath.Join(dir, "t-0", "*00000.log*"))
		return err == nil && len(old) == 0
	})
	eventually(t, "checkpoints", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "replication-offset-checkpoint"))
		return strings.Contains(string(text), "t 0 20\n")
	})
	eventually(t, "a forgotten producer may begin anywhere (P07)", func() bool {
		return kafka.ErrorCode(c.produce(-1, "u", 0, idempotent(7, 0, 50, "y")).ErrorCode) == kafka.ErrNone
	})
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames = 5, []string{"u"}
	require.Zero(t, ask[*kmsg.DeleteTopicsResponse](c, req).Topics[0].ErrorCode)
	eventually(t, "the deleted topic's directory is gone", func() bool {
		left, err := filepath.Glob(filepath.Join(dir, "u-0*"))
		return err == nil && len(left) == 0
	})
}

// F15, L21: responses that began keep their bytes when retention deletes the
// segment under them; those that did not begin say that it is gone.
func TestSegmentDeletedWhileSent(t *testing.T) {
	in := start(t, t.TempDir(), "socket.send.buffer.bytes=65536", "log.retention.check.interval.ms=3600000")
	admin := in.dial()
	admin.create("t", 1, "internal.segment.bytes", "1000000", "retention.bytes", "1000000")
	value := strings.Repeat("0123456789", 90_000)
	for range 8 {
		require.Zero(t, admin.produce(-1, "t", 0, batch(value)).ErrorCode)
	}
	slow := in.dial()
	require.NoError(t, slow.conn.(*net.TCPConn).SetReadBuffer(65536))
	const asked = 12
	for range asked {
		slow.send(fetchRequest("t", 0, 0))
	}
	p := in.table.TopicNamed("t").Partition(0)
	eventually(t, "a response has begun", func() bool { return in.server.Connections() == 2 && len(slow.sent) == asked })
	first := slow.read().(*kmsg.FetchResponse).Topics[0].Partitions[0]
	require.NoError(t, p.Log().Flush(8)) // segments are deleted when their own flush is over
	n, err := p.Retain(in.now().WallMs)
	require.NoError(t, err)
	require.Positive(t, n)
	_, err = p.Log().RemoveDeleted(1 << 62)
	require.NoError(t, err)
	require.Equal(t, []string{"0=" + value}, values(t, first.RecordBatches))
	gone := 0
	for range asked - 1 {
		got := slow.read().(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if kafka.ErrorCode(got.ErrorCode) == kafka.ErrOffsetOutOfRange {
			gone++
			continue
		}
		require.Zero(t, got.ErrorCode)
		require.Equal(t, []string{"0=" + value}, values(t, got.RecordBatches))
	}
	require.Positive(t, gone, "the last ones came too late")
}

// A request over many partitions that waits is charged for them.
func TestWideWaitingProduce(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 70, "flush.messages", "1")
	req := produceRequest(9, -1, "t", 0, batch("x"))
	for p := int32(1); p < 70; p++ {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = p, batch("x")
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, rp)
	}
	for round := range int64(2) {
		for i, p := range ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions {
			require.Zero(t, p.ErrorCode)
			require.EqualValues(t, i, p.Partition)
			require.Equal(t, round, p.BaseOffset)
		}
	}
	eventually(t, "nothing is held", func() bool { return in.server.HeldBytes() == 0 })
}

type brokenWriter struct{ calls int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	w.calls++
	return 0, errors.New("nobody listens")
}

// A sink that fails is reported once and left alone.
func TestBrokenEventSink(t *testing.T) {
	var log lines
	w := new(brokenWriter)
	s := newSink(w, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		s.emit(event.Event{Kind: event.Stop})
	}
	require.Equal(t, 1, w.calls)
	require.Equal(t, 1, strings.Count(log.String(), "nobody listens"))
	require.Nil(t, newSink(nil, nil))
}

func TestEventsFromEnv(t *testing.T) {
	t.Setenv(eventsEnv, "")
	w, err := EventsFromEnv()
	require.NoError(t, err)
	require.Nil(t, w)
	t.Setenv(eventsEnv, "one")
	_, err = EventsFromEnv()
	require.ErrorContains(t, err, `TRIALOG_EVENTS_FD="one" is not a descriptor`)
	// A descriptor of its own: what EventsFromEnv opens is closed when nobody holds it any more.
	r, theirs, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer theirs.Close()
	fd, err := syscall.Dup(int(theirs.Fd()))
	require.NoError(t, err)
	t.Setenv(eventsEnv, strconv.Itoa(fd))
	w, err = EventsFromEnv()
	require.NoError(t, err)
	_, err = io.WriteString(w, "x")
	require.NoError(t, err)
	var got [1]byte
	_, err = io.ReadFull(r, got[:])
	require.NoError(t, err)
	require.Equal(t, "x", string(got[:]))
}

// Clients are never told to dial "all interfaces" or port 0.
func TestAdvertised(t *testing.T) {
	for _, listener := range []string{"PLAINTEXT://:0", "PLAINTEXT://0.0.0.0:0"} {
		in := start(t, t.TempDir(), "listeners="+listener)
		_, port, err := net.SplitHostPort(in.Addr().String())
		require.NoError(t, err)
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		require.NoError(t, err)
		defer conn.Close()
		b := ask[*kmsg.MetadataResponse](&client{t: t, conn: conn}, metadata(9)).Brokers[0]
		require.NotEmpty(t, b.Host)
		require.NotEqual(t, "0.0.0.0", b.Host)
		require.Equal(t, port, fmt.Sprint(b.Port))
	}
	in := start(t, t.TempDir(), "advertised.listeners=PLAINTEXT://broker.example:19092")
	b := ask[*kmsg.MetadataResponse](in.dial(), metadata(9)).Brokers[0]
	require.Equal(t, "broker.example", b.Host)
	require.EqualValues(t, 19092, b.Port)
}
