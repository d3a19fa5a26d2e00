package franz

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// trialog is the program under test: TRIALOG_BIN, or built once from the module around this one.
var trialog = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("TRIALOG_BIN"); bin != "" {
		return filepath.Abs(bin)
	}
	out := filepath.Join(os.TempDir(), fmt.Sprintf("trialog-clients-%d", os.Getpid()))
	cmd := exec.Command("go", "build", "-o", out, "./cmd/trialog")
	cmd.Dir = filepath.Join("..", "..", "..")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/trialog: %w\n%s", err, text)
	}
	return out, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("TRIALOG_BIN") == "" {
		if bin, err := trialog(); err == nil {
			os.Remove(bin)
		}
	}
	os.Exit(code)
}

// broker is one real process that may be killed and started again on the same port and directory.
type broker struct {
	t    *testing.T
	bin  string
	addr string
	dir  string
	args []string
	cmd  *exec.Cmd
}

func startBroker(t *testing.T, overrides ...string) *broker {
	bin, err := trialog()
	require.NoError(t, err)
	b := &broker{t: t, bin: bin, addr: freeAddr(t), dir: t.TempDir(), args: overrides}
	b.start()
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(b.log())
			t.Logf("the broker's log ends with:\n%s", text[max(0, len(text)-4000):])
		}
		b.kill()
	})
	return b
}

// freeAddr finds a port below those that outgoing connections are given: a client that dials a dead broker's port must
// not meet itself.
func freeAddr(t *testing.T) string {
	for port := 20000 + os.Getpid()%9000; port < 32000; port++ {
		if ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			ln.Close()
			return ln.Addr().String()
		}
	}
	require.Fail(t, "no free port")
	return ""
}

func (b *broker) log() string { return filepath.Join(b.dir, "broker.log") }

// start returns when the broker serves clients.
func (b *broker) start() {
	args := []string{"broker", "--json", "--override", "node.id=1", "--override", "listeners=PLAINTEXT://" + b.addr,
		"--override", "log.dirs=" + filepath.Join(b.dir, "data"), "--override", "num.partitions=4"}
	for _, o := range b.args {
		args = append(args, "--override", o)
	}
	b.cmd = exec.Command(b.bin, args...)
	log, err := os.OpenFile(b.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(b.t, err)
	defer log.Close()
	b.cmd.Stderr = log
	out, err := b.cmd.StdoutPipe()
	require.NoError(b.t, err)
	require.NoError(b.t, b.cmd.Start())
	var up struct{ Listening string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(b.t, err, "the broker did not start")
	require.NoError(b.t, json.Unmarshal(line, &up))
	go io.Copy(io.Discard, out)
}

// kill is kill -9.
func (b *broker) kill() {
	b.cmd.Process.Kill()
	b.cmd.Wait()
}

func (b *broker) client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.addr)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// createTopic makes a topic that the test is sure to have for itself.
func (b *broker) createTopic(ctx context.Context, t *testing.T, name string, partitions int32) *kadm.Client {
	adm := kadm.NewClient(b.client(t))
	got, err := adm.CreateTopic(ctx, partitions, 1, map[string]*string{"internal.segment.bytes": kadm.StringPtr("1048576")}, name)
	require.NoError(t, err)
	require.Equal(t, name, got.Topic)
	return adm
}

// readAll reads every partition from its start to the end that it has now.
func (b *broker) readAll(ctx context.Context, t *testing.T, adm *kadm.Client, topic string, opts ...kgo.Opt) map[int32][]*kgo.Record {
	ends, err := adm.ListEndOffsets(ctx, topic)
	require.NoError(t, err)
	require.NoError(t, ends.Error())
	from := map[int32]kgo.Offset{}
	left := 0
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			from[o.Partition] = kgo.NewOffset().AtStart()
			left++
		}
	})
	c := b.client(t, append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))...)
	all := map[int32][]*kgo.Record{}
	for left > 0 {
		fetches := c.PollFetches(ctx)
		require.NoError(t, ctx.Err(), "%d partitions are not at their end", left)
		require.Empty(t, fetches.Errors())
		fetches.EachRecord(func(r *kgo.Record) {
			all[r.Partition] = append(all[r.Partition], r)
			if end, _ := ends.Lookup(topic, r.Partition); r.Offset == end.Offset-1 {
				left--
			}
		})
	}
	return all
}
