package raw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/cmd/trialog/cli"
	"trialog/core/record"
)

// Command makes `trialog bench raw`, the process that `bench compare` measures as the limit: no broker, but the least that any server of the
// same bytes does. A Produce request is received, the checksum of its batch computed, the batch written to a file, and the
// answer is a constant; a Fetch request is answered with bytes of that file by sendfile. It understands the requests of
// this client and nothing else, and has neither offsets nor topics. A connection that produces
// begins a file of its own; DeleteTopics removes the last one and ends the connection.
func Command() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:    "raw",
		Short:  "serve the least that any server could do with the same bytes",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return cli.Exit(cli.Failed, err)
			}
			go Serve(l, dir)
			cli.PrintJSON(c.OutOrStdout(), map[string]string{"listening": l.Addr().String()})
			io.Copy(io.Discard, c.InOrStdin())
			return nil
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "where the file lies")
	return c
}

type server struct {
	dir string

	mu    sync.Mutex
	file  string // what was produced last
	made  int
	batch batches // what it consists of
}

// batches is how the bytes of a file follow from offsets: all batches are alike.
type batches struct{ records, bytes int64 }

// Remove asks the limit at an address to remove the file that was produced last, and waits until it has.
func Remove(addr string) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	req := kmsg.NewPtrDeleteTopicsRequest()
	if _, err := nc.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, nc)
	return err
}

// Serve serves the connections of a listener until it is closed. Its file lies in dir.
func Serve(l net.Listener, dir string) {
	s := &server{dir: dir}
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			c := conn{server: s, nc: nc.(*net.TCPConn)}
			if err := c.serve(); err != nil && !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "bench raw:", err)
			}
			c.close()
		}()
	}
}

// remove removes the file.
func (s *server) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return os.Remove(s.file)
}

// begin makes a file, which takes the place of the one before.
func (s *server) begin() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	s.file = filepath.Join(s.dir, fmt.Sprintf("raw-%d", s.made))
	return os.Create(s.file)
}

func (s *server) open() (*os.File, batches, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.Open(s.file)
	return f, s.batch, err
}

func (s *server) holds(b batches) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batch = b
}

// conn is one connection: it produces, or it fetches.
type conn struct {
	server *server
	nc     *net.TCPConn
	file   *os.File
	batch  batches
	at     int64  // where the next batch is written
	answer []byte // but for what differs from request to request
}

func (c *conn) close() {
	c.nc.Close()
	if c.file != nil {
		c.file.Close()
	}
}

// sendBuffer is Kafka's default and the broker's: the limit is that of the same socket.
const sendBuffer = 102400

func (c *conn) serve() error {
	c.nc.SetWriteBuffer(sendBuffer)
	var frame []byte
	for {
		var err error
		if frame, err = ReadFrame(c.nc, frame); err != nil {
			return err
		}
		if len(frame) < 10 {
			return fmt.Errorf("a frame of %d bytes", len(frame))
		}
		if kmsg.Key(binary.BigEndian.Uint16(frame)) == kmsg.DeleteTopics {
			return c.server.remove()
		}
		body := frame[10+binary.BigEndian.Uint16(frame[8:]):] // behind key, version, correlation id and client id
		if key := kmsg.Key(binary.BigEndian.Uint16(frame)); key == kmsg.Produce {
			err = c.produce(frame[4:8], body[8:]) // behind transactional id, acks and timeout
		} else {
			err = c.fetch(frame[4:8], body[25:]) // behind replica, wait, bytes, isolation and session
		}
		if err != nil {
			return err
		}
	}
}

// topicOf is the name of the one topic of a request, and what follows its one partition's number.
func topicOf(topics []byte) (string, []byte) {
	name := topics[6:][:binary.BigEndian.Uint16(topics[4:])]
	return string(name), topics[6+len(name)+8:]
}

func (c *conn) produce(correlation, topics []byte) error {
	if c.file == nil {
		name, rest := topicOf(topics)
		h, err := record.ParseHeader(rest[4:])
		if err != nil {
			return err
		}
		if c.file, err = c.server.begin(); err != nil {
			return err
		}
		c.batch = batches{int64(h.Count), int64(h.Size())}
		c.server.holds(c.batch)
		c.answer = produced(name)
	}
	batch := topics[len(topics)-int(c.batch.bytes):]
	if record.Checksum(batch) != binary.BigEndian.Uint32(batch[17:]) {
		return errors.New("a batch with a wrong checksum")
	}
	binary.BigEndian.PutUint64(batch, uint64(c.at/c.batch.bytes*c.batch.records)) // its offset
	if _, err := c.file.WriteAt(batch, c.at); err != nil {
		return err
	}
	c.at += c.batch.bytes
	copy(c.answer[4:], correlation)
	_, err := c.nc.Write(c.answer)
	return err
}

func (c *conn) fetch(correlation, topics []byte) (err error) {
	if c.file == nil {
		name, _ := topicOf(topics)
		if c.file, c.batch, err = c.server.open(); err != nil {
			return err
		}
		c.answer = fetched(name)
	}
	rest := topics[len(topics)-(8+8+4+4+2):] // offset, log start offset, bytes, forgotten topics, rack
	offset, size := int64(binary.BigEndian.Uint64(rest)), int64(binary.BigEndian.Uint32(rest[16:]))
	copy(c.answer[4:], correlation)
	binary.BigEndian.PutUint32(c.answer, uint32(int64(len(c.answer)-4)+size))
	binary.BigEndian.PutUint32(c.answer[len(c.answer)-4:], uint32(size))
	return sendFile(c.nc, c.answer, c.file, offset/c.batch.records*c.batch.bytes, size)
}

// produced is a response to Produce that takes everything.
func produced(topic string) []byte {
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = ProduceVersion
	t := kmsg.NewProduceResponseTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceResponseTopicPartition{kmsg.NewProduceResponseTopicPartition()}
	resp.Topics = append(resp.Topics, t)
	return frameOf(resp)
}

// fetched is a response to Fetch without its records; their length is at its end.
func fetched(topic string) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = FetchVersion
	t := kmsg.NewFetchResponseTopic()
	t.Topic, t.Partitions = topic, []kmsg.FetchResponseTopicPartition{kmsg.NewFetchResponseTopicPartition()}
	resp.Topics = append(resp.Topics, t)
	return frameOf(resp)
}

func frameOf(resp kmsg.Response) []byte {
	frame := resp.AppendTo(make([]byte, 8)) // size and correlation id
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}
