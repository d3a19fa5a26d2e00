package broker

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trialog/core/kafka"
	"trialog/core/record"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Frames that are no requests cost their sender the connection, and nobody else
// anything (W01, W02, W04, W10).
func TestHostileFrames(t *testing.T) {
	in := start(t, t.TempDir())
	other := in.dial()
	other.create("t", 1)
	header := func(key, version int16, rest ...byte) []byte {
		b := binary.BigEndian.AppendUint16(nil, uint16(key))
		b = binary.BigEndian.AppendUint16(b, uint16(version))
		b = append(b, 0, 0, 0, 1)
		return append(b, rest...)
	}
	sized := func(body []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	noClient := []byte{0xff, 0xff}
	for _, tc := range []struct {
		name  string
		bytes []byte
		log   string
	}{
		{"negative size", []byte{0xff, 0xff, 0xff, 0xff}, "frame of negative size -1"},
		{"zero size", []byte{0, 0, 0, 0}, "frame of 0 bytes has no header"},
		{"the largest size", []byte{0x7f, 0xff, 0xff, 0xff}, "frame of 2147483647 bytes"},
		{"a TLS hello", []byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03}, "frame of 369295618 bytes"},
		{"oversized", []byte{0x06, 0x40, 0, 1}, "frame of 104857601 bytes is over socket.request.max.bytes=104857600"},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), "frame of 1195725856 bytes"},
		{"no header", sized([]byte{0, 3, 0, 1}), "frame of 4 bytes has no header"},
		{"unknown key", sized(header(999, 0, noClient...)), "unknown api key 999"},
		{"unknown version", sized(header(0, 99, noClient...)), "Produce v99 is not served"},
		{"Produce v2", sized(header(0, 2, noClient...)), "Produce v2 is not served (3 to 11 are)"},
		{"client id cut", sized(header(3, 1, 0, 9, 'x')), "header of Metadata v1 cut short"},
		{"count bomb", sized(header(3, 0, 0xff, 0xff, 0x03, 0x3c, 0x0c, 0x00, 0)), "Metadata v0"},
		{"empty body", sized(header(1, 11, noClient...)), "Fetch v11"},
		{"Produce cut", sized(header(0, 9, append(noClient, 0, 0, 0xff, 0xff)...)), "Produce v9: bad body"},
		{"tag beyond frame", sized(header(3, 9, 0xff, 0xff, 1, 5, 100, 1)), "header of Metadata v9 cut short"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := in.dial()
			c.write(tc.bytes)
			c.closed()
			eventually(t, "log line "+tc.log, func() bool { return strings.Contains(in.log.String(), tc.log) })
			require.Zero(t, other.produce(-1, "t", 0, batch("still served")).ErrorCode)
		})
	}
	eventually(t, "only the other connection is left", func() bool { return in.server.Connections() == 1 })
	eventually(t, "memory is back", func() bool { return in.server.HeldBytes() == 0 })
}

// A peer that vanishes in the middle of a frame leaves nothing behind.
func TestTruncatedFrames(t *testing.T) {
	in := start(t, t.TempDir())
	whole := formatter.AppendRequest(nil, produceRequest(9, 1, "t", 0, batch("x")), 1)
	for cut := 1; cut < len(whole); cut += 7 {
		c := in.dial()
		c.write(whole[:cut])
		require.NoError(t, c.conn.Close())
	}
	eventually(t, "connections are gone", func() bool { return in.server.Connections() == 0 })
	eventually(t, "memory is back", func() bool { return in.server.HeldBytes() == 0 })
}

// What was asked before a bad frame is answered before the connection closes.
func TestAnswersBeforeNonsense(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1)
	fetch := fetchRequest("t", 0, 0)
	fetch.MaxWaitMillis = 1 << 30
	c.send(fetch)
	c.send(kmsg.NewPtrApiVersionsRequest())
	c.write([]byte{0xff, 0xff, 0xff, 0xff})
	require.Empty(t, c.read().(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches, "the fetch leaves with what there is")
	require.NotEmpty(t, c.read().(*kmsg.ApiVersionsResponse).ApiKeys)
	c.closed()
}

// Batches that no log may hold are refused one by one with Kafka's codes; the
// log's end stays where it is (W06).
func TestHostileBatches(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1, "max.message.bytes", "1000")
	change := func(at int, with ...byte) []byte {
		b := batch("a", "b", "c")
		copy(b[at:], with)
		return b
	}
	recrc := func(b []byte) []byte { record.SetChecksum(b); return b }
	for _, tc := range []struct {
		name  string
		batch []byte
		want  kafka.ErrorCode
	}{
		{"null", nil, kafka.ErrInvalidRecord},
		{"empty", []byte{}, kafka.ErrInvalidRecord},
		{"header cut", batch("a")[:60], kafka.ErrCorruptMessage},
		{"batch cut", batch("a")[:62], kafka.ErrCorruptMessage},
		{"wrong CRC", change(17, 1, 2, 3, 4), kafka.ErrCorruptMessage},
		{"bit flip in a record", change(65, 0x55), kafka.ErrCorruptMessage},
		{"magic 9", change(16, 9), kafka.ErrInvalidRecord},
		{"magic 1", change(16, 1), kafka.ErrInvalidRecord},
		{"length -1", change(8, 0xff, 0xff, 0xff, 0xff), kafka.ErrCorruptMessage},
		{"count 5 of 3", recrc(change(57, 0, 0, 0, 5)), kafka.ErrInvalidRecord},
		{"count 0", recrc(change(57, 0, 0, 0, 0)), kafka.ErrInvalidRecord},
		{"last offset delta", recrc(change(23, 0, 0, 0, 9)), kafka.ErrInvalidRecord},
		{"control batch", recrc(change(21, 0, 0x20)), kafka.ErrInvalidRecord},
		{"transactional batch", recrc(batchOf(func(b *record.Builder) { b.SetProducer(7, 0, 0); b.SetAttributes(record.Transactional) }, "x")), kafka.ErrInvalidTxnState},
		{"log append time", recrc(change(21, 0, 0x08)), kafka.ErrInvalidTimestamp},
		{"producer without sequence", recrc(change(43, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0xff, 0xff, 0xff, 0xff)), kafka.ErrInvalidRecord},
		{"two batches", append(batch("a"), batch("b")...), kafka.ErrInvalidRecord},
		{"too large", batch(strings.Repeat("x", 1001)), kafka.ErrMessageTooLarge},
		{"far future", batchOf(func(b *record.Builder) { b.Append(1<<50, nil, nil) }, "x"), kafka.ErrInvalidTimestamp},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := c.produce(-1, "t", 0, tc.batch)
			require.Equal(t, tc.want, kafka.ErrorCode(got.ErrorCode))
			require.EqualValues(t, -1, got.BaseOffset)
			require.EqualValues(t, 0, c.listOffset("t", 0, -1).Offset)
		})
	}
	require.Zero(t, c.produce(-1, "t", 0, batch("good")).ErrorCode)
	require.Equal(t, []string{"0=good"}, c.readAll("t", 0))
}

// One refused partition does not harm the others of its request.
func TestBadBatchAmongGood(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 3)
	req := produceRequest(11, -1, "t", 0, batch("zero"))
	bad := batch("one")
	bad[17] ^= 1
	for i, records := range [][]byte{bad, batch("two")} {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = int32(i+1), records
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, rp)
	}
	unknown := kmsg.NewProduceRequestTopic()
	unknown.Topic = "no-such-topic"
	unknown.Partitions = req.Topics[0].Partitions[2:3]
	req.Topics = append(req.Topics, unknown)
	resp := ask[*kmsg.ProduceResponse](c, req)
	codes := []int16{}
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	require.Equal(t, []int16{0, 2, 0, 3}, codes)
	require.Contains(t, *resp.Topics[0].Partitions[1].ErrorMessage, "crc")
	require.Equal(t, []string{"0=two"}, c.readAll("t", 2))
}

// Names that would leave the log directory are refused and leave no trace (W11).
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	for _, name := range []string{"", ".", "..", "a/b", "../x", "a b", "a\x00b", strings.Repeat("x", 250), "ключ"} {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version = 7
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, 1, 1
		req.Topics = append(req.Topics, rt)
		got := ask[*kmsg.CreateTopicsResponse](c, req).Topics[0]
		require.Equal(t, kafka.ErrInvalidTopic, kafka.ErrorCode(got.ErrorCode), "create %q", name)

		meta := kmsg.NewPtrMetadataRequest()
		meta.Version, meta.AllowAutoTopicCreation = 9, true
		mt := kmsg.NewMetadataRequestTopic()
		mt.Topic = kmsg.StringPtr(name)
		meta.Topics = append(meta.Topics, mt)
		found := ask[*kmsg.MetadataResponse](c, meta).Topics[0]
		require.Equal(t, kafka.ErrInvalidTopic, kafka.ErrorCode(found.ErrorCode), "metadata %q", name)
		require.EqualValues(t, 3, c.produce(1, name, 0, batch("x")).ErrorCode, "produce %q", name)
		require.EqualValues(t, 3, c.fetch(name, 0, 0).ErrorCode, "fetch %q", name)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			require.Equal(t, "__cluster_metadata-0", e.Name())
		}
	}
	_, err = os.Stat(filepath.Join(filepath.Dir(dir), "x-0"))
	require.ErrorIs(t, err, os.ErrNotExist)
	c.create(strings.Repeat("x", 249), 1)
}

// The metadata log is not a topic.
func TestMetadataLogIsNotServed(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	require.EqualValues(t, 3, c.fetch("__cluster_metadata", 0, 0).ErrorCode)
	require.EqualValues(t, 3, c.produce(1, "__cluster_metadata", 0, batch("x")).ErrorCode)
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	require.Empty(t, ask[*kmsg.MetadataResponse](c, req).Topics)
}
