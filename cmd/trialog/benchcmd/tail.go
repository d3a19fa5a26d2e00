package benchcmd

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/cmd/trialog/benchcmd/raw"
	"trialog/core/kafka"
	"trialog/core/record"
)

// paced is work at a fixed rate: one record a request, acknowledged by all, and a consumer that waits for each.
type paced struct {
	perSecond   int
	recordBytes int
}

// tail measures the way of records from the moment that they were due to that of their arrival at the consumer, so a
// broker that holds the producer up does not make fewer of them late.
func (w *paced) tail(on *target, topic string, duration time.Duration, progress func(int64)) (result, error) {
	batch, _ := makeBatch(1, w.recordBytes, false)
	l := load{topic: topic, batch: batch, records: 1, acks: -1, depth: 5}
	total := int64(duration.Seconds() * float64(w.perSecond))
	began := time.Now().Add(10 * time.Millisecond)
	due := func(offset int64) time.Time {
		return began.Add(time.Duration(offset) * time.Second / time.Duration(w.perSecond))
	}

	var r result
	return measured(on, &r, func() (latencies []time.Duration, err error) {
		var consuming sync.WaitGroup
		var consumeErr error
		consuming.Go(func() { latencies, consumeErr = follow(on.addr, topic, total, due) })
		_, err = pipeline(on.addr, l.depth, func(buf []byte, number int32) []byte {
			if int64(number) > total {
				return nil
			}
			raw.Sleep(time.Until(due(int64(number) - 1)))
			r.requests, r.records, r.bytes = r.requests+1, r.records+1, r.bytes+int64(len(batch))
			progress(r.bytes)
			return l.request(buf, number)
		}, receiveProduced())
		if err == nil {
			consuming.Wait()
			err = consumeErr
		}
		return latencies, err
	})
}

// follow reads partition 0 from its beginning until it has so many records, and says how late each came.
func follow(addr, topic string, total int64, due func(offset int64) time.Time) ([]time.Duration, error) {
	nc, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	const bytes = 1 << 20
	var (
		buf, frame []byte
		latencies  []time.Duration
	)
	for number := int32(1); int64(len(latencies)) < total; number++ {
		nc.SetDeadline(time.Now().Add(ioTimeout))
		buf = fetchRequest(buf[:0], topic, int64(len(latencies)), bytes, number)
		if _, err := nc.Write(buf); err != nil {
			return nil, err
		}
		if frame, err = raw.ReadFrame(nc, frame); err != nil {
			return nil, err
		}
		now := time.Now()
		next, err := fetchedTo(frame)
		if err != nil {
			return nil, fmt.Errorf("bench: fetch of %s: %w", topic, err)
		}
		for offset := int64(len(latencies)); offset < min(next, total); offset++ {
			latencies = append(latencies, now.Sub(due(offset)))
		}
	}
	slices.Sort(latencies)
	return latencies, nil
}

// fetchedTo is the offset behind the last whole batch of a response; 0 if there is none.
func fetchedTo(frame []byte) (int64, error) {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = fetchVersion
	if err := resp.ReadFrom(frame[4:]); err != nil {
		return 0, err
	}
	next := int64(0)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if code := kafka.ErrorCode(p.ErrorCode); code != kafka.ErrNone {
				return 0, code
			}
			it := record.NewBatches(p.RecordBatches)
			for it.Next() {
				h := it.Header()
				next = h.NextOffset()
			}
		}
	}
	return next, nil
}
