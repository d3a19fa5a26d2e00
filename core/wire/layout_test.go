package wire

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Produce requests walked in place hold what kmsg decodes, in every version.
func TestProduceParseLikeKmsg(t *testing.T) {
	var got ProduceRequest
	for version := int16(3); version <= 11; version++ {
		f := fuzzer(int64(version))
		for range 100 {
			want := kmsg.NewPtrProduceRequest()
			f.Fuzz(want)
			want.Version = version
			body := want.AppendTo(nil)
			require.NoError(t, got.Parse(version, body))
			require.Equal(t, want.Acks, got.Acks)
			require.Equal(t, want.TimeoutMillis, got.TimeoutMs)
			require.Equal(t, want.TransactionID == nil, got.TransactionalID == nil)
			require.Len(t, got.Topics, len(want.Topics))
			for i, topic := range want.Topics {
				requireTopic(t, &topic, got.Topics[i], got.Partitions)
			}
		}
	}
}

func requireTopic(t *testing.T, want *kmsg.ProduceRequestTopic, got ProduceTopic, all []ProducePartition) {
	t.Helper()
	require.Equal(t, want.Topic, string(got.Name))
	require.Equal(t, len(want.Partitions), got.Count)
	for j, p := range want.Partitions {
		g := all[got.First+j]
		require.Equal(t, p.Partition, g.Index)
		require.Equal(t, string(p.Records), string(g.Records))
	}
}

func TestProduceTooManyEntries(t *testing.T) {
	body := []byte{0xff, 0xff, 0, 1, 0, 0, 0, 1, 0, 0, 0xc3, 0x51}
	body = append(body, make([]byte, 6*(ProduceEntriesMax+1))...)
	require.ErrorIs(t, new(ProduceRequest).Parse(3, body), ErrMalformed)
}

// Responses are those of kmsg byte for byte.
func TestProduceResponseLikeKmsg(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	var req ProduceRequest
	for version := int16(3); version <= 11; version++ {
		for range 50 {
			want, body := produceCase(rng, version)
			require.NoError(t, req.Parse(version, body))
			for i := range req.Topics {
				for j := range req.Topics[i].Count {
					w := want.Topics[i].Partitions[j]
					p := &req.Partitions[req.Topics[i].First+j]
					p.ErrorCode, p.BaseOffset, p.LogAppendTime, p.LogStartOffset = w.ErrorCode, w.BaseOffset, w.LogAppendTime, w.LogStartOffset
					if w.ErrorMessage != nil {
						p.ErrorMessage = *w.ErrorMessage
					}
					for _, e := range w.ErrorRecords {
						p.ErrorRecord = e.RelativeOffset
					}
				}
			}
			require.Equal(t, want.AppendTo(nil), AppendProduceResponse(nil, &req))
		}
	}
}

func produceCase(rng *rand.Rand, version int16) (*kmsg.ProduceResponse, []byte) {
	req, resp := kmsg.NewPtrProduceRequest(), kmsg.NewPtrProduceResponse()
	req.Version, resp.Version = version, version
	for i := range rng.Intn(4) {
		rt, pt := kmsg.NewProduceRequestTopic(), kmsg.NewProduceResponseTopic()
		rt.Topic = fmt.Sprint("topic-", i*i*i)
		pt.Topic = rt.Topic
		for j := range rng.Intn(4) {
			rp, pp := kmsg.NewProduceRequestTopicPartition(), kmsg.NewProduceResponseTopicPartition()
			rp.Partition, pp.Partition = int32(j), int32(j)
			pp.ErrorCode, pp.BaseOffset = int16(rng.Intn(80)), rng.Int63()
			pp.LogAppendTime, pp.LogStartOffset = rng.Int63(), rng.Int63()
			if rng.Intn(2) == 0 && version >= 8 {
				pp.ErrorMessage = kmsg.StringPtr("what is wrong")
				if rng.Intn(2) == 0 {
					bad := kmsg.NewProduceResponseTopicPartitionErrorRecord()
					bad.RelativeOffset, bad.ErrorMessage = int32(rng.Intn(1000)), pp.ErrorMessage
					pp.ErrorRecords = append(pp.ErrorRecords, bad)
				}
			}
			rt.Partitions, pt.Partitions = append(rt.Partitions, rp), append(pt.Partitions, pp)
		}
		req.Topics, resp.Topics = append(req.Topics, rt), append(resp.Topics, pt)
	}
	return resp, req.AppendTo(nil)
}

// The layout around file regions is that of kmsg byte for byte, in every version.
func TestFetchResponseLikeKmsg(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	var layout FetchResponse
	for version := int16(4); version <= 17; version++ {
		for range 200 {
			want := fetchCase(rng, version)
			records := layFetch(&layout, want, version)
			var got []byte
			at := 0
			for i, cut := range layout.Cuts {
				got = append(append(got, layout.Buf[at:cut.At]...), records[i]...)
				require.Len(t, records[i], cut.Len)
				at = cut.At
			}
			got = append(got, layout.Buf[at:]...)
			require.Equal(t, AppendResponse(nil, 77, want), got, "v%d", version)
			require.Equal(t, len(got), layout.Size())
		}
	}
}

func fetchCase(rng *rand.Rand, version int16) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = version
	if version >= 7 {
		resp.ErrorCode, resp.SessionID = int16(rng.Intn(2)*70), rng.Int31()*int32(rng.Intn(2))
	}
	for i := range rng.Intn(4) {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic = fmt.Sprint("t", i)
		rng.Read(topic.TopicID[:])
		for j := range rng.Intn(4) {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition, p.ErrorCode = int32(j), int16(rng.Intn(80))
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = rng.Int63(), rng.Int63(), rng.Int63()-rng.Int63()
			p.AbortedTransactions = nil
			p.RecordBatches = make([]byte, rng.Intn(3)*rng.Intn(200))
			rng.Read(p.RecordBatches)
			if version >= 12 && rng.Intn(4) == 0 {
				p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = int32(rng.Intn(9)), rng.Int63()
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// layFetch lays the response out and returns the record bytes of each cut.
func layFetch(layout *FetchResponse, want *kmsg.FetchResponse, version int16) (records [][]byte) {
	layout.Begin(version, 77, want.ErrorCode, want.SessionID, len(want.Topics))
	for _, topic := range want.Topics {
		layout.Topic(topic.Topic, topic.TopicID, len(topic.Partitions))
		for _, p := range topic.Partitions {
			if len(p.RecordBatches) > 0 {
				records = append(records, p.RecordBatches)
			}
			layout.Partition(&FetchPartition{
				Index: p.Partition, ErrorCode: p.ErrorCode, HighWatermark: p.HighWatermark,
				LastStableOffset: p.LastStableOffset, LogStartOffset: p.LogStartOffset, RecordBytes: len(p.RecordBatches),
				DivergingEpoch: p.DivergingEpoch.Epoch, DivergingEndOffset: p.DivergingEpoch.EndOffset,
			})
		}
	}
	layout.End()
	return records
}

// A warm request costs no allocation, however many records its batches hold.
func TestHotCodecAllocations(t *testing.T) {
	for _, recordBytes := range []int{100, 1 << 20} {
		req := kmsg.NewPtrProduceRequest()
		req.Version = 9
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic = "t"
		for i := range 16 {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition, p.Records = int32(i), make([]byte, recordBytes)
			topic.Partitions = append(topic.Partitions, p)
		}
		req.Topics = append(req.Topics, topic)
		body := req.AppendTo(nil)
		var parsed ProduceRequest
		var out []byte
		var layout FetchResponse
		require.Zero(t, testing.AllocsPerRun(20, func() {
			if parsed.Parse(9, body) != nil {
				t.Fatal("refused")
			}
			out = AppendProduceResponse(out[:0], &parsed)
			layout.Begin(12, 1, 0, 0, 1)
			layout.Topic("t", [16]byte{}, 16)
			for i := range 16 {
				layout.Partition(&FetchPartition{Index: int32(i), RecordBytes: recordBytes, DivergingEpoch: -1})
			}
			layout.End()
		}))
	}
}
