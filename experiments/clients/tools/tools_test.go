package tools

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/experiments/clients/driver"
	"trialog/experiments/clients/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// Kafka's tools cannot tell the broker from Kafka.
func TestToolsSayTheSame(t *testing.T) {
	log4j, err := filepath.Abs(filepath.Join(harness.Root, "java", "log4j2.properties"))
	require.NoError(t, err)
	classpath := driver.JavaClasspath(harness.Root)
	b := harness.Start(t)
	k := harness.StartKafka(t, classpath, log4j)
	kafka := place{name: "Kafka", addr: k.Addr, dir: k.Dir}
	trialog := place{name: "Trialog", addr: b.Addr, dir: b.Dir}
	r := startRunner(t, classpath, log4j)
	commands, err := readCommands(t.TempDir())
	require.NoError(t, err)
	for _, c := range commands {
		t.Run(c.String(), func(t *testing.T) {
			want := r.run(t, c, kafka)
			t.Logf("%s %s: exit code %d\n%s%s", c.tool, strings.Join(c.args, " "), want.Code, want.Out, want.Err)
			got := r.run(t, c, trialog)
			assert.Equal(t, want.Code, got.Code, "exit code")
			assert.Equal(t, want.Out, got.Out, "standard output")
			assert.Equal(t, want.Err, got.Err, "standard error")
		})
	}
}

// place is a broker that tools are pointed at.
type place struct{ name, addr, dir string }

// said is what a tool printed and how it ended.
type said struct {
	Code int    `json:"code"`
	Out  string `json:"out"`
	Err  string `json:"err"`
}

// runner is the JVM that runs the tools.
type runner struct {
	in  io.Writer
	out *bufio.Reader
}

func startRunner(t *testing.T, classpath, log4j string) *runner {
	cmd := exec.Command("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dlog4j2.configurationFile="+log4j, "-cp", classpath, "Tools")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		assert.NoError(t, cmd.Wait())
	})
	return &runner{in: in, out: bufio.NewReader(out)}
}

func (r *runner) run(t *testing.T, c command, at place) said {
	require.Contains(t, mains, c.tool)
	args := append([]string{}, c.args...)
	if c.tool == "kafka-cluster" {
		args = append(args, "--bootstrap-server", at.addr)
	} else {
		args = append([]string{"--bootstrap-server", at.addr}, args...)
	}
	line, err := json.Marshal(map[string]any{"tool": mains[c.tool], "args": args, "stdin": c.stdin})
	require.NoError(t, err)
	_, err = r.in.Write(append(line, '\n'))
	require.NoError(t, err)
	line, err = r.out.ReadBytes('\n')
	require.NoError(t, err, "the tools' process has ended")
	var s said
	require.NoError(t, json.Unmarshal(line, &s))
	s.Out, s.Err = mask(s.Out, at), mask(s.Err, at)
	return s
}

// masks are what differs between any two brokers: ids, addresses, times, speeds; and the words in which one refuses, while
// the kind of refusal must be the same.
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`TopicId: \S{22}`), "TopicId: ID"},
	{regexp.MustCompile(`Cluster ID: \S{22}`), "Cluster ID: ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d,\d+`), "TIME"},
	{regexp.MustCompile(`(?m)^\d+(\s+\d+\s+-1\s+\d+\s+)\d{13}`), "PRODUCER${1}TIME"},
	{regexp.MustCompile(`(Create|LogAppend)Time:\d+`), "${1}Time:TIME"},
	{regexp.MustCompile(`(?m)^\s+at .*\n`), ""},
	{regexp.MustCompile(`(org\.apache\.kafka\.common\.errors\.\w+):.*`), "$1: WORDS"},
	{regexp.MustCompile(`(Error while executing \w+ command :).*`), "$1 WORDS"},
	{regexp.MustCompile(`[0-9.]+ (records/sec|MB/sec|ms)`), "N $1"},
	{regexp.MustCompile(`\([0-9.]+ MB/sec\)`), "(N MB/sec)"},
}

func mask(text string, at place) string {
	text = strings.ReplaceAll(text, at.addr, "ADDRESS")
	text = strings.ReplaceAll(text, strings.Split(at.addr, ":")[1], "PORT")
	text = strings.ReplaceAll(text, filepath.Join(at.dir, "data"), "DATA")
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.with)
	}
	return text
}
