package wire

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzRequest reads any bytes as a stream of frames: none of them panics, what is accepted reads back as it was written,
// and all memory is given back.
func FuzzRequest(f *testing.F) {
	for _, api := range APIs() {
		for _, version := range []int16{api.ServeMin, api.Max} {
			req := kmsg.RequestForKey(api.Key)
			fuzzer(int64(api.Key)).Fuzz(req)
			req.SetVersion(version)
			f.Add(kmsg.NewRequestFormatter(kmsg.FormatterClientID("c")).AppendRequest(nil, req, 7))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		budget := NewBudget(8 << 20)
		fr := NewFrameReader(bytes.NewReader(stream), 1<<20, new(Pool), budget, nil)
		var produce ProduceRequest
		for {
			var frame Frame
			if fr.WaitFrame() != nil || fr.Next(&frame) != nil {
				break
			}
			h, body, err := ParseRequestHeader(frame.Buf.B)
			if err == nil && body != nil {
				if req, err := Decode(h.Key, h.Version, body); err == nil {
					again, err := Decode(h.Key, h.Version, req.AppendTo(nil))
					require.NoError(t, err)
					require.Equal(t, req.AppendTo(nil), again.AppendTo(nil))
				}
				if h.Key == KeyProduce && produce.Parse(h.Version, body) == nil {
					AppendProduceResponse(nil, &produce)
				}
			}
			frame.Release()
		}
		require.Zero(t, budget.Used())
	})
}

// FuzzFetchLayout compares the layout of a Fetch response with kmsg's, its shape drawn from the input.
func FuzzFetchLayout(f *testing.F) {
	f.Add(int16(4), []byte{})
	f.Add(int16(11), []byte{1, 2, 3, 0, 0, 9, 200, 13, 255, 1})
	f.Add(int16(17), bytes.Repeat([]byte{3, 250, 0, 17}, 20))
	f.Fuzz(func(t *testing.T, version int16, shape []byte) {
		version = 4 + (version%14+14)%14
		next := func() int {
			if len(shape) == 0 {
				return 0
			}
			b := shape[0]
			shape = shape[1:]
			return int(b)
		}
		want := kmsg.NewPtrFetchResponse()
		want.Version = version
		if version >= 7 {
			want.ErrorCode, want.SessionID = int16(next()), int32(next())<<20
		}
		for range next() % 8 {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic = string(bytes.Repeat([]byte{'t'}, next()))
			binary.BigEndian.PutUint64(topic.TopicID[:], uint64(next()))
			for range next() % 8 {
				p := kmsg.NewFetchResponseTopicPartition()
				p.Partition, p.ErrorCode, p.HighWatermark = int32(next()), int16(next()), int64(next())-1
				p.LastStableOffset, p.LogStartOffset = int64(next()), int64(next())-1
				p.RecordBatches = make([]byte, next()*next())
				if version >= 12 && next()%2 == 1 {
					p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = int32(next()), int64(next())
				}
				topic.Partitions = append(topic.Partitions, p)
			}
			want.Topics = append(want.Topics, topic)
		}
		var layout FetchResponse
		records := layFetch(&layout, want, version)
		var got []byte
		at := 0
		for i, cut := range layout.Cuts {
			got = append(append(got, layout.Buf[at:cut.At]...), records[i]...)
			at = cut.At
		}
		require.Equal(t, AppendResponse(nil, 77, want), append(got, layout.Buf[at:]...), "v%d", version)
	})
}
