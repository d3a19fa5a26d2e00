//go:build linux

package broker

import (
	"os/signal"
	"syscall"
	"testing"

	"trialog/core/kafka"
	"trialog/core/transcript/alone"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// limitFiles makes every write beyond so many bytes of a file fail, as on a full
// disk, until the returned function is called. The limit is the whole process's, so a test that sets it runs alone.
func limitFiles(t *testing.T, bytes uint64) (lift func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: old.Max}))
	lifted := false
	lift = func() {
		if !lifted {
			lifted = true
			require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
		}
	}
	t.Cleanup(lift)
	return lift
}

// A log that cannot be written answers KAFKA_STORAGE_ERROR, then and later; it was in the last directory, so the broker
// says that it must end; after a restart nothing acked is missing and nothing torn is left.
func TestR27L17FullDisk(t *testing.T) {
	if alone.Run(t) {
		return
	}
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 2)
	require.Equal(t, kafka.ErrNone, code(c.produce(-1, "t", 1, batch("another partition"))))
	lift := limitFiles(t, 3<<20)
	block := string(make([]byte, 900<<10))
	good := int64(0)
	for range 10 {
		got := c.produce(-1, "t", 0, batch(block))
		if code(got) == kafka.ErrKafkaStorageError {
			require.Contains(t, *got.ErrorMessage, "file too large")
			break
		}
		require.Equal(t, kafka.ErrNone, code(got))
		good++
	}
	require.EqualValues(t, 3, good, "the fourth does not fit")
	require.Equal(t, kafka.ErrKafkaStorageError, code(c.produce(1, "t", 0, batch("later"))))
	require.EqualValues(t, kafka.ErrNotLeaderOrFollower, ask[*kmsg.ProduceResponse](c, produceRequest(3, 1, "t", 0, batch("x"))).Topics[0].Partitions[0].ErrorCode)
	require.ErrorContains(t, in.mustEnd(), "log directory "+dir+" failed, there is no other")
	require.EqualValues(t, kafka.ErrKafkaStorageError, c.listOffset("t", 0, -1).ErrorCode)
	require.EqualValues(t, kafka.ErrKafkaStorageError, c.fetch("t", 0, 0).ErrorCode)
	require.EqualValues(t, kafka.ErrKafkaStorageError, c.fetch("t", 1, 0).ErrorCode, "so is all in the directory")
	c.send(produceRequest(9, 0, "t", 0, batch("no answer")))
	c.closed()
	in.crash()
	lift()

	in = start(t, dir)
	c = in.dial()
	require.Len(t, c.readAll("t", 0), int(good))
	require.EqualValues(t, good, c.produce(-1, "t", 0, batch("writable again")).BaseOffset)
}

// A stop that cannot write says so, and the next start recovers.
func TestStopOnFullDisk(t *testing.T) {
	if alone.Run(t) {
		return
	}
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 1)
	require.Equal(t, kafka.ErrNone, code(c.produce(-1, "t", 0, batch("x"))))
	lift := limitFiles(t, 1)
	in.stop.Do(func() { require.ErrorContains(t, in.Stop(t.Context()), "not a clean stop") })
	lift()
	in = start(t, dir)
	require.False(t, in.dirs.Clean())
	require.Equal(t, []string{"0=x"}, in.dial().readAll("t", 0))
}

// When the metadata cannot be written, nothing is promised: topics are refused, and the broker says that it must end.
func TestMetadataOnFullDisk(t *testing.T) {
	if alone.Run(t) {
		return
	}
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 1)
	lift := limitFiles(t, 1)
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = "u", 1, 1
	req.Topics = append(req.Topics, rt)
	got := ask[*kmsg.CreateTopicsResponse](c, req).Topics[0]
	require.Equal(t, kafka.ErrKafkaStorageError, kafka.ErrorCode(got.ErrorCode))
	ids := kmsg.NewPtrInitProducerIDRequest()
	require.EqualValues(t, kafka.ErrKafkaStorageError, ask[*kmsg.InitProducerIDResponse](c, ids).ErrorCode)
	meta := kmsg.NewPtrMetadataRequest()
	meta.Version = 9
	require.Len(t, ask[*kmsg.MetadataResponse](c, meta).Topics, 1)
	require.Error(t, in.mustEnd())
	in.crash()
	lift()
	in = start(t, dir)
	in.dial().create("u", 1)
}
