package table

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"trialog/experiments/clients/driver"
	"trialog/experiments/clients/harness"
)

const (
	records    = 100_000
	partitions = 3
)

var rewrite = flag.Bool("rewrite", false, "write testdata/table.txt instead of comparing with it")

func TestMain(m *testing.M) { harness.Main(m) }

// starters are the clients in the order of the table. Each reads what it has written, and what the one before it has
// written; franz-go reads everything.
var starters = []struct {
	name  string
	start func(root string) (driver.Driver, error)
}{
	{"franz-go", driver.Franz},
	{"sarama", driver.Sarama},
	{"kafka-go", driver.Segmentio},
	{"kcat", driver.Kcat},
	{"confluent-kafka", driver.Python("confluent.py")},
	{"kafka-python", driver.Python("kafkapython.py")},
	{"kafka-python-2", driver.OldPython("kafkapython.py", "kafka-python-2")},
	{"aiokafka", driver.Python("aio.py")},
	{"kafkajs", driver.Node("kafkajs.js")},
	{"platformatic", driver.Node("platformatic.js")},
	{"java", driver.Java},
	{"java-2", driver.OldJava("java-2")},
}

// table is one broker and what its clients have done so far.
type table struct {
	broker *harness.Broker
	admin  *kadm.Client
	start  int64 // timestamp of every topic's first record, in ms
	hellos map[string]driver.Hello
	failed map[string]bool // client/codec
}

// Every client produces 100,000 records over three partitions in each codec that it has, with acks=all and idempotence
// where it has that, and reads them back without a group.
func TestClients(t *testing.T) {
	b := harness.Start(t)
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	tab := &table{broker: b, admin: kadm.NewClient(c), start: time.Now().UnixMilli(), hellos: map[string]driver.Hello{}, failed: map[string]bool{}}
	for i, s := range starters {
		t.Run(s.name, func(t *testing.T) {
			d, err := s.start(harness.Root)
			require.NoError(t, err)
			defer func() { assert.NoError(t, d.Close()) }()
			hello := d.Hello()
			tab.hellos[s.name] = hello
			require.Equal(t, s.name, hello.Client)
			for _, codec := range hello.Codecs {
				t.Run(codec, func(t *testing.T) {
					t.Cleanup(func() { tab.failed[s.name+"/"+codec] = t.Failed() })
					tab.writesAndReads(t, d, codec)
				})
			}
			if before := starters[(i+len(starters)-1)%len(starters)]; hello.Reads && i > 0 {
				t.Run("reads-"+before.name, func(t *testing.T) { tab.readsAnother(t, d, before.name) })
			}
		})
	}
	if t.Failed() || len(tab.hellos) != len(starters) {
		return // what is not whole is not compared
	}
	compare(t, tab.String())
}

func (tab *table) job(op, client, codec string) driver.Job {
	return driver.Job{Op: op, Bootstrap: tab.broker.Addr, Topic: client + "-" + codec, Codec: codec,
		Partitions: partitions, Records: records, Start: tab.start}
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// writesAndReads is one cell of the table.
func (tab *table) writesAndReads(t *testing.T, d driver.Driver, codec string) {
	ctx := bounded(t)
	job := tab.job("produce", d.Hello().Client, codec)
	_, err := tab.admin.CreateTopic(ctx, partitions, 1, nil, job.Topic)
	require.NoError(t, err)
	acked, err := d.Do(ctx, job)
	require.NoError(t, err)
	want := driver.Want(job)
	for p, got := range acked.Partitions {
		require.Equal(t, want.Partitions[p].Count, got.Count, "acknowledged in partition %d", p)
		if got.Last >= 0 {
			require.Equal(t, want.Partitions[p].Last, got.Last, "last offset acknowledged in partition %d", p)
		}
	}
	tab.audit(ctx, t, d.Hello(), job)
	if d.Hello().Reads {
		tab.reads(ctx, t, d, job, d.Hello().Stamps)
	}
}

// audit reads the topic by franz-go, which shows more of a batch than others: its codec and producer.
func (tab *table) audit(ctx context.Context, t *testing.T, by driver.Hello, job driver.Job) {
	var tallies []*driver.Tally
	for range job.Partitions {
		tallies = append(tallies, driver.NewTally(job))
	}
	compressed, numbered := 0, 0
	require.NoError(t, driver.FranzRead(ctx, job, func(r *kgo.Record) {
		require.Len(t, r.Headers, 1)
		tallies[r.Partition].Add(r.Offset, r.Timestamp.UnixMilli(), r.Key, r.Value, string(r.Headers[0].Value))
		if driver.Codecs[r.Attrs.CompressionType()] == job.Codec {
			compressed++
		}
		if r.ProducerID >= 0 {
			numbered++
		}
	}))
	for p, want := range driver.Want(job).Partitions {
		got := tallies[p].Partition
		if !by.Stamps {
			got.Stamps = want.Stamps
		}
		require.Equal(t, want, got, "partition %d", p)
	}
	// Clients send a batch as it is when it does not get smaller: one of a single record at the end, say.
	assert.Greater(t, compressed, job.Records*9/10, "records in %s", job.Codec)
	if by.Idempotent {
		assert.Equal(t, job.Records, numbered, "records with a producer id")
	} else {
		assert.Zero(t, numbered, "records with a producer id")
	}
}

func (tab *table) reads(ctx context.Context, t *testing.T, d driver.Driver, job driver.Job, stamps bool) {
	job.Op = "consume"
	got, err := d.Do(ctx, job)
	require.NoError(t, err)
	want := driver.Want(job)
	if !stamps {
		for p := range got.Partitions {
			got.Partitions[p].Stamps = want.Partitions[p].Stamps
		}
	}
	require.Equal(t, want, got)
}

// readsAnother reads what the other has written in codecs that both have. When the other has not been started, since a
// single client is tried, franz-go writes in its place.
func (tab *table) readsAnother(t *testing.T, d driver.Driver, other string) {
	hello, ok := tab.hellos[other]
	if !ok {
		f, err := driver.Franz(harness.Root)
		require.NoError(t, err)
		if hello = f.Hello(); d.Hello().Client != hello.Client {
			other = hello.Client
			for _, codec := range hello.Codecs {
				tab.writesAndReads(t, f, codec)
			}
		}
	}
	for _, codec := range hello.Codecs {
		if slices.Contains(d.Hello().Codecs, codec) {
			tab.reads(bounded(t), t, d, tab.job("consume", other, codec), hello.Stamps && d.Hello().Stamps)
		}
	}
}

// String is the table as testdata keeps it.
func (tab *table) String() string {
	var s strings.Builder
	line := func(cells ...string) {
		fmt.Fprintf(&s, "%-16s %-9s", cells[0], cells[1])
		for _, c := range cells[2:] {
			fmt.Fprintf(&s, " %-12s", c)
		}
		s.WriteString("\n")
	}
	line(slices.Concat([]string{"client", "version"}, driver.Codecs, []string{"idempotent", "reads too"})...)
	for i, x := range starters {
		h := tab.hellos[x.name]
		cells := []string{h.Client, h.Version}
		for _, codec := range driver.Codecs {
			if slices.Contains(h.Codecs, codec) {
				cells = append(cells, "ok")
			} else {
				cells = append(cells, "not offered")
			}
		}
		cells = append(cells, map[bool]string{true: "yes", false: "not offered"}[h.Idempotent])
		switch {
		case !h.Reads:
			cells = append(cells, "not offered")
		case i > 0:
			cells = append(cells, starters[i-1].name)
		default:
			cells = append(cells, "all")
		}
		line(cells...)
	}
	text := strings.Split(s.String(), "\n")
	for i := range text {
		text[i] = strings.TrimRight(text[i], " ")
	}
	return strings.Join(text, "\n")
}

func compare(t *testing.T, got string) {
	path := filepath.Join("testdata", "table.txt")
	if *rewrite {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
