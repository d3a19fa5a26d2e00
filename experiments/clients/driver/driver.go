// Package driver asks foreign Kafka clients to do the same two things: to produce the records of a job, and to read a
// topic back without a consumer group. Clients in Go run in the process of the test (Franz, Sarama, Segmentio); those in
// other languages are programs that are asked over standard input and output (Start), one JSON line for each job and one
// for each answer, after a line with their Hello. Kcat is neither, and is run once for each partition.
//
// What the records are is written down once here and once in each language (../java, ../python, ../node). Record i of a
// job goes to partition i modulo Partitions and has
//
//	key        "k" and i
//	value      i, a colon, and "abcdefghij" i modulo 13 times; null when i modulo 1000 is 999
//	header     "topic", the name of the topic
//	timestamp  Start and i, in ms
//
// The sum of a partition is the CRC-32 (IEEE) of "key=value;header\n" of its records in the order of the log, with ~ for
// null: it is equal only if every record is there, once, in order, with everything but its timestamp. Those are summed up
// apart, because kcat cannot set them.
package driver

import (
	"context"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
)

// Codecs are those of the protocol, by the names that jobs and answers use.
var Codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Hello is what a client says of itself.
type Hello struct {
	Client     string   `json:"client"`
	Version    string   `json:"version"`
	Codecs     []string `json:"codecs"`     // those that it can write and read on this runtime
	Idempotent bool     `json:"idempotent"` // its producer numbers what it sends
	Reads      bool     `json:"reads"`      // it can read without a group
	Stamps     bool     `json:"stamps"`     // a program can set the timestamp of a record
}

// Job is one thing to do: Op is "produce" or "consume".
type Job struct {
	Op         string `json:"op"`
	Bootstrap  string `json:"bootstrap"`
	Topic      string `json:"topic"`
	Codec      string `json:"codec"` // to produce with
	Partitions int    `json:"partitions"`
	Records    int    `json:"records"`
	Start      int64  `json:"start"` // timestamp of record 0, in ms since 1970
}

// Answer is how a job went: of a produce what was acknowledged, of a consume what was read from the first offset to the
// end that the client found at the beginning.
type Answer struct {
	Error      string      `json:"error,omitempty"`
	Partitions []Partition `json:"partitions"`
}

// Partition is what happened to one of them. A produce fills Count, and Last where the client tells offsets.
type Partition struct {
	Count  int    `json:"count"`
	First  int64  `json:"first"` // offset of the first record; -1 if there is none, or if it is not told
	Last   int64  `json:"last"`  // the same of the last
	Sum    uint32 `json:"sum"`
	Stamps int64  `json:"stamps"` // sum of (timestamp - Start)
	Gaps   int    `json:"gaps"`   // records whose offset is not the one before and 1
}

// Driver is one client, ready for jobs one after another.
type Driver interface {
	Hello() Hello
	Do(ctx context.Context, job Job) (Answer, error)
	Close() error
}

func key(i int) string { return fmt.Sprint("k", i) }

// value returns false for a null.
func value(i int) (string, bool) {
	if i%1000 == 999 {
		return "", false
	}
	return fmt.Sprint(i, ":", strings.Repeat("abcdefghij", i%13)), true
}

// valueBytes is the value as Go's clients take it: nil is a null.
func valueBytes(i int) []byte {
	if v, ok := value(i); ok {
		return []byte(v)
	}
	return nil
}

func stamp(job Job, i int) time.Time { return time.UnixMilli(job.Start + int64(i)) }

// Tally counts the records of one partition in the order in which they are read, or acknowledged.
type Tally struct {
	Partition
	start int64
}

// NewTally is a partition of which nothing is known yet.
func NewTally(job Job) *Tally {
	return &Tally{Partition: Partition{First: -1, Last: -1}, start: job.Start}
}

// Add takes the next record. Value is nil for a null.
func (t *Tally) Add(offset, timestamp int64, key, value []byte, header string) {
	if t.Count > 0 && offset != t.Last+1 {
		t.Gaps++
	}
	t.Acked(offset)
	v := string(value)
	if value == nil {
		v = "~"
	}
	t.Sum = crc32.Update(t.Sum, crc32.IEEETable, fmt.Appendf(nil, "%s=%s;%s\n", key, v, header))
	t.Stamps += timestamp - t.start
}

// Acked takes an acknowledgement, in whatever order they come.
func (t *Tally) Acked(offset int64) {
	if t.First < 0 || offset < t.First {
		t.First = offset
	}
	t.Last = max(t.Last, offset)
	t.Count++
}

// Want is the answer to a consume of everything that the job has produced.
func Want(job Job) Answer {
	tallies := tallies(job)
	for i := range job.Records {
		t := tallies[i%job.Partitions]
		t.Add(int64(t.Count), job.Start+int64(i), []byte(key(i)), valueBytes(i), job.Topic)
	}
	return answer(tallies)
}

func tallies(job Job) []*Tally {
	all := make([]*Tally, job.Partitions)
	for p := range all {
		all[p] = NewTally(job)
	}
	return all
}

func answer(tallies []*Tally) Answer {
	a := Answer{}
	for _, t := range tallies {
		a.Partitions = append(a.Partitions, t.Partition)
	}
	return a
}
