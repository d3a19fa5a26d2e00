package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/cmd/trialog/cli"
	"trialog/core/client"
)

// The same signal twice at once, as `timeout` sends it, does not end a clean stop; a second one later does.
func TestAwaitStop(t *testing.T) {
	stopped, stop := make(chan error, 1), make(chan string, 1)
	stop <- "terminated"
	time.AfterFunc(20*time.Millisecond, func() { stopped <- nil })
	require.NoError(t, awaitStop(stopped, stop))
	stopped <- errors.New("disk")
	require.EqualError(t, awaitStop(stopped, stop), "disk")
	time.AfterFunc(sameSignal+20*time.Millisecond, func() { stop <- "interrupt" })
	require.EqualError(t, awaitStop(stopped, stop), "broker: ended by a second signal (interrupt) before it had stopped")
}

// A broker whose last log directory fails ends by itself, at once and with a message that says why.
func TestLastDirectoryFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	cfg, err := loadConfig("", []string{
		"node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + dir, "internal.segment.bytes=2000",
	})
	require.NoError(t, err)
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- new(brokerOptions).serve(w, new(bytes.Buffer), cfg, make(chan string))
		w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	words := strings.Fields(line)
	c, err := client.New(client.Config{Bootstrap: words[len(words)-1:]})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.CreateTopic(t.Context(), client.NewTopic{Name: "t", Partitions: 1}))
	p, err := c.NewProducer(client.ProducerConfig{Acks: -1})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	for {
		select {
		case err = <-ended:
			require.ErrorContains(t, err, "broker: log directory "+dir+" failed, there is no other")
			code, _ := cli.CodeOf(err)
			require.Equal(t, cli.Failed, code)
			return
		default:
			_ = p.Produce(t.Context(), client.Batch{Topic: "t", Records: []client.Record{{Value: make([]byte, 900)}}})
		}
	}
}
