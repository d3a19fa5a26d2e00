package benchcmd

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/cmd/trialog/benchcmd/raw"
	"trialog/core/kafka"
	"trialog/core/record"
)

// fetch reads a topic whose partition 0 holds so many batches of the load, uncompressed, from the beginning to the end
// and again, perFetch batches with each request.
func fetch(on *target, l load, batches, perFetch int64, until bound, progress func(bytes int64)) (result, error) {
	var r result
	began, asked, answered := time.Now(), walk{l, batches, perFetch, 0}, walk{l, batches, perFetch, 0}
	size := int(perFetch) * len(l.batch)
	next := func(buf []byte, number int32) []byte {
		if time.Since(began) >= until.time || r.bytes >= until.bytes {
			return nil
		}
		r.requests++
		r.records += perFetch * l.records
		r.bytes += int64(size)
		progress(r.bytes)
		return fetchRequest(buf, l.topic, asked.next(), int32(size), number)
	}
	head := make([]byte, fetchedHead(l.topic))
	receive := func(nc net.Conn) error {
		if err := receiveFetched(nc, head, l.topic, answered.next(), size); err != nil {
			return fmt.Errorf("bench: fetch of %s: %w", l.topic, err)
		}
		return nil
	}
	return measured(on, &r, func() ([]time.Duration, error) { return pipeline(on.addr, l.depth, next, receive) })
}

// walk is the offsets that are fetched, in order.
type walk struct {
	load              load
	batches, perFetch int64
	at                int64 // batches before the next fetch
}

func (w *walk) next() int64 {
	if w.at+w.perFetch > w.batches {
		w.at = 0
	}
	offset := w.at * w.load.records
	w.at += w.perFetch
	return offset
}

func fetchRequest(buf []byte, topic string, offset int64, bytes, number int32) []byte {
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.FetchOffset, partition.PartitionMaxBytes = offset, bytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{partition}
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = fetchVersion, 500, 1, bytes
	req.SessionEpoch = -1
	req.Topics = []kmsg.FetchRequestTopic{t}
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("trialog-bench")).AppendRequest(buf, req, number)
}

// Where the fields of a response to fetchRequest lie that has one partition and no aborted transactions. Places behind the
// topic's name count from its end.
const (
	fetchedError     = 12 // behind size, correlation id and throttle time
	fetchedTopics    = fetchedError + 2 + 4
	fetchedName      = fetchedTopics + 4
	fetchedPartition = 4 // behind the number of partitions; then error, high watermark, stable and start offset
	fetchedAborted   = fetchedPartition + 4 + 2 + 3*8
	fetchedRecords   = fetchedAborted + 4 + 4 // behind the preferred replica
	fetchedEnd       = fetchedRecords + 4
)

// fetchedHead is how much of a response is looked at: all but the records, and the head of the first batch.
func fetchedHead(topic string) int {
	return fetchedName + 2 + len(topic) + fetchedEnd + record.HeaderSize
}

// receiveFetched reads a response that must hold size bytes of records from the start of the batch at an offset. Head is
// room for what is looked at. The rest is counted and thrown away, where the system can without being copied: the client
// shares the processors with what it measures.
func receiveFetched(nc net.Conn, head []byte, topic string, offset int64, size int) error {
	if _, err := io.ReadFull(nc, head[:4]); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(head))
	clear(head[4:]) // a refusal is shorter
	if _, err := io.ReadFull(nc, head[4:max(4, min(len(head), 4+n))]); err != nil {
		return err
	}
	partition := head[fetchedName+2+len(topic):]
	if err := checkFetched(head, partition, topic); err != nil {
		return err
	}
	records := int(binary.BigEndian.Uint32(partition[fetchedRecords:]))
	if records != size {
		return fmt.Errorf("%d bytes of records, not %d", records, size)
	}
	if 4+n != len(head)-record.HeaderSize+records {
		return fmt.Errorf("a response of %d bytes with %d of records", n, records)
	}
	h, err := record.ParseHeader(partition[fetchedEnd:])
	if err != nil {
		return err
	}
	if h.BaseOffset != offset {
		return fmt.Errorf("a batch at offset %d, not %d", h.BaseOffset, offset)
	}
	return raw.Discard(nc, records-record.HeaderSize)
}

// checkFetched checks what leads to the records.
func checkFetched(head, partition []byte, topic string) error {
	for _, code := range [][]byte{head[fetchedError:], partition[fetchedPartition+4:]} {
		if code := kafka.ErrorCode(binary.BigEndian.Uint16(code)); code != kafka.ErrNone {
			return code
		}
	}
	aborted := int32(binary.BigEndian.Uint32(partition[fetchedAborted:]))
	if binary.BigEndian.Uint32(head[fetchedTopics:]) != 1 || string(head[fetchedName+2:][:len(topic)]) != topic ||
		binary.BigEndian.Uint32(partition) != 1 || binary.BigEndian.Uint32(partition[fetchedPartition:]) != 0 || aborted > 0 {
		return fmt.Errorf("a response of another shape: % x", head)
	}
	return nil
}
