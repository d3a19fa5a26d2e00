package broker

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"trialog/core/event"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Data, topics and settings survive clean stops and crashes.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	cluster := in.ClusterID()
	c := in.dial()
	id := c.create("t", 2, "max.message.bytes", "5000")
	var want []string
	write := func(n int) {
		for range n {
			v := fmt.Sprint("v", len(want))
			require.EqualValues(t, len(want), c.produce(-1, "t", 1, batch(v)).BaseOffset)
			want = append(want, fmt.Sprintf("%d=%s", len(want), v))
		}
	}
	for round, end := range []func(*instance){(*instance).end, (*instance).crash, (*instance).end, (*instance).crash} {
		write(5)
		end(in)
		in = start(t, dir)
		require.Equal(t, cluster, in.ClusterID())
		require.Equal(t, round%2 == 0, in.dirs.Clean())
		c = in.dial()
		require.Equal(t, want, c.readAll("t", 1))
		require.EqualValues(t, 10, c.produce(-1, "t", 0, batch(strings.Repeat("x", 5001))).ErrorCode, "settings survive")
		topic := ask[*kmsg.MetadataResponse](c, metadata(12, "t")).Topics[0]
		require.EqualValues(t, id, topic.TopicID)
	}
}

// The events of a process: start first, for each partition recover before leader
// before append before HW, flush before stop, stop last.
func TestEventOrder(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 1)
	c.produce(-1, "t", 0, batch("a"))
	in.end()
	in = start(t, dir, "trialog.rules.off=producers.detect-duplicates")
	c = in.dial()
	c.produce(-1, "t", 0, batch("b"))
	in.end()
	var got []string
	for _, e := range in.eventsOf(event.Kinds()...) {
		switch {
		case e.Kind == event.Start, e.Kind == event.Stop, e.Kind == event.RulesOff:
			got = append(got, strings.TrimSpace(e.Kind.String()+" "+e.Text))
		case e.Topic == "t" && e.Kind != event.HW && e.Kind != event.Flush:
			got = append(got, fmt.Sprintf("%s %d", e.Kind, e.Next))
		case e.Topic == "t" && e.Kind == event.HW:
			got = append(got, fmt.Sprintf("hw %d", e.Offset))
		}
	}
	require.Equal(t, []string{
		"start test", "rules-off producers.detect-duplicates",
		"recover 1", "leader 1", "hw 1", "append 2", "hw 2", "stop",
	}, got)
	require.NotEmpty(t, in.eventsOf(event.Metadata))
	for _, e := range in.eventsOf(event.Leader) {
		require.EqualValues(t, 1, e.Node)
	}
}

func TestSecondBroker(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	second, err := New(loadConfig(t, dir), Options{})
	require.NoError(t, err)
	err = second.Start()
	require.ErrorContains(t, err, "is in use by another broker (.lock is held)")
	require.NotContains(t, err.Error(), "\n")
	require.Zero(t, in.dial().listOffset("t", 0, -1).Timestamp+1, "the first still serves")
	in.end()
	start(t, dir)
}

func TestRefusedStarts(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	addr := in.Addr().String()
	in.end()
	refused := func(want string, overrides ...string) {
		t.Helper()
		b, err := New(loadConfig(t, dir, overrides...), Options{})
		if err == nil {
			err = b.Start()
		}
		require.ErrorContains(t, err, want)
	}
	refused("belongs to node.id=1, the configuration says node.id=2", "node.id=2")
	refused("belongs to cluster", "trialog.cluster.id=aaaaaaaaaaaaaaaaaaaaaa")
	refused(`no rule "broker.nonsense" (known: broker.ack-after-append,`, "trialog.rules.off=broker.nonsense")
	refused(`no rule "nonsense.ack-after-append"`, "trialog.rules.off=nonsense.ack-after-append")
	again := start(t, dir, "listeners=PLAINTEXT://"+addr)
	other, err := New(loadConfig(t, t.TempDir(), "listeners=PLAINTEXT://"+addr), Options{})
	require.NoError(t, err)
	require.ErrorContains(t, other.Start(), "address already in use")
	again.end()
}

// Every rule has a name of its own, which switches off that rule and no other; all names together switch off everything.
func TestRuleNames(t *testing.T) {
	sound, err := ParseRules(nil)
	require.NoError(t, err)
	seen := map[RuleSet]string{sound: "no rule"}
	var all []string
	for _, d := range RuleDocs() {
		set, err := ParseRules([]string{d.FullName()})
		require.NoError(t, err)
		require.Empty(t, seen[set], d.FullName())
		seen[set] = d.FullName()
		all = append(all, d.FullName())
	}
	require.Contains(t, all, "seglog.fsync-directory")
	set, err := ParseRules(all)
	require.NoError(t, err)
	require.Zero(t, set)
}

// Rule controller.producer-ids-durable: the block's record is fsynced before an
// id is handed out.
func TestProducerIDsDurable(t *testing.T) {
	for _, off := range []bool{false, true} {
		overrides := []string{}
		if off {
			overrides = append(overrides, "trialog.rules.off=controller.producer-ids-durable")
		}
		in := start(t, t.TempDir(), overrides...)
		require.Zero(t, ask[*kmsg.InitProducerIDResponse](in.dial(), kmsg.NewPtrInitProducerIDRequest()).ErrorCode)
		log := in.dirs.Metadata()
		require.Equal(t, off, log.FlushedTo() < log.EndOffset())
	}
}

// A removal that a crash interrupted is finished at the next start; a partition
// that nobody claims is left alone, with a warning.
func TestStrays(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("gone", 1)
	c.create("kept", 1)
	c.produce(-1, "gone", 0, batch("x"))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(dir, "gone-0"))))
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames = 5, []string{"gone"}
	require.Zero(t, ask[*kmsg.DeleteTopicsResponse](c, req).Topics[0].ErrorCode)
	in.end()
	require.NoError(t, os.Rename(filepath.Join(dir, "copy"), filepath.Join(dir, "gone-0")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "nobodys-0"), 0o755))
	in = start(t, dir)
	require.NoDirExists(t, filepath.Join(dir, "gone-0"))
	require.DirExists(t, filepath.Join(dir, "nobodys-0"))
	require.Contains(t, in.log.String(), "it is left alone\" partition=nobodys-0")
	require.NotContains(t, in.log.String(), "kept")
	in.dial().create("nobodys", 1)
}

// Metadata that was lost says nothing of topics, not even that they were deleted:
// a new topic of the same name does not remove the records of the old one, and
// the log says what recovery cut off.
func TestLostMetadata(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 1)
	c.produce(-1, "t", 0, batch("precious"))
	in.crash()
	path := filepath.Join(dir, "__cluster_metadata-0", "00000000000000000000.log")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	text[70] ^= 1
	require.NoError(t, os.WriteFile(path, text, 0o644))

	in = start(t, dir)
	require.Regexp(t, `recovery of \S+__cluster_metadata-0: cut \d+ bytes, 0 segments: .*at 0: crc`, in.log.String())
	in.dial().create("t", 1)
	in.end()
	stray, err := filepath.Glob(filepath.Join(dir, "t-0.*-stray", "00000000000000000000.log"))
	require.NoError(t, err)
	require.Len(t, stray, 1)
	text, err = os.ReadFile(stray[0])
	require.NoError(t, err)
	require.Contains(t, string(text), "precious")
	start(t, dir)
	require.FileExists(t, stray[0])
}

// What fails a thousand partitions is one line, at a start and when a topic is made.
func TestManyFailuresAreOneLine(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	in.dial().create("t", 5)
	in.end()
	for p := range 5 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("t-%d", p), "partition.metadata"), []byte("junk"), 0o644))
	}
	b, err := New(loadConfig(t, dir), Options{})
	require.NoError(t, err)
	err = b.Start()
	require.ErrorContains(t, err, "opening t-0")
	require.ErrorContains(t, err, "(and 4 more such failures)")
	require.NotContains(t, err.Error(), "\n")
}

// Several log directories share the partitions, and keep them.
func TestLogDirs(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	in := start(t, one, "log.dirs="+one+","+two)
	c := in.dial()
	c.create("t", 4)
	for p := range int32(4) {
		c.produce(-1, "t", p, batch(fmt.Sprint(p)))
	}
	for _, dir := range []string{one, two} {
		found, err := filepath.Glob(filepath.Join(dir, "t-*"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(found), 1)
	}
	in.crash()
	in = start(t, one, "log.dirs="+one+","+two)
	for p := range int32(4) {
		require.Equal(t, []string{fmt.Sprintf("0=%d", p)}, in.dial().readAll("t", p))
	}
}

// Stop answers what it can, flushes, and is final.
func TestStopIsFinal(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 1)
	c.produce(1, "t", 0, batch("x"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in.stop.Do(func() { require.NoError(t, in.Stop(ctx), "the logs are closed even when connections have to be cut") })
	require.NoError(t, in.Stop(context.Background()))
	c.closed()
	require.FileExists(t, filepath.Join(dir, ".kafka_cleanshutdown"))
}

// A clean stop flushes first, so that answers which wait for a flush leave as
// successes.
func TestStopReleasesFlushes(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 1, "flush.ms", "3600000")
	c.send(produceRequest(9, -1, "t", 0, batch("x")))
	eventually(t, "parked", func() bool { return in.watching("t") == 1 })
	go in.end()
	require.Zero(t, c.read().(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	in.end()
	require.Equal(t, []string{"0=x"}, start(t, dir).dial().readAll("t", 0))
}

// A storm of connections that ask half a question and vanish leaves nothing
// behind, and others are served meanwhile (W07).
func TestConnectionStorm(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1)
	goroutines := runtime.NumGoroutine()
	half := formatter.AppendRequest(nil, produceRequest(9, 1, "t", 0, batch("x")), 1)[:50]
	for i := range 300 {
		conn, err := net.Dial("tcp", in.Addr().String())
		require.NoError(t, err)
		if i%3 > 0 {
			_, _ = conn.Write(half)
		}
		if i%3 > 1 {
			_ = conn.(*net.TCPConn).SetLinger(0) // RST
		}
		_ = conn.Close()
		if i%50 == 0 {
			require.Zero(t, c.produce(1, "t", 0, batch("x")).ErrorCode)
		}
	}
	eventually(t, "back to one connection", func() bool { return in.server.Connections() == 1 })
	eventually(t, "goroutines are back", func() bool { return runtime.NumGoroutine() <= goroutines+5 })
	eventually(t, "memory is back", func() bool { return in.server.HeldBytes() == 0 })
}

// The first line of the log says which safety rules are off, in one line either way, and alarms only when one is.
func TestRulesAreAnnounced(t *testing.T) {
	for off, want := range map[string]string{
		"": `level=INFO msg="safety rules" off=none`, "producers.detect-duplicates": `level=WARN msg="safety rules" off=producers.detect-duplicates`,
	} {
		in := start(t, t.TempDir(), "trialog.rules.off="+off)
		require.Equal(t, 1, strings.Count(in.log.String(), "safety rules"))
		require.Contains(t, in.log.String(), want)
		require.Len(t, in.eventsOf(event.RulesOff), 1)
	}
}
