package client

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/kafka"
	"trialog/core/wire"
)

// rawServer answers every frame with what reply makes of its number (from 0) and its correlation id; nil says nothing.
func rawServer(t *testing.T, reply func(n int, corr int32) []byte) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				for n := 0; ; n++ {
					frame := make([]byte, 4)
					if _, err := nc.Read(frame); err != nil {
						return
					}
					body := make([]byte, binary.BigEndian.Uint32(frame))
					if _, err := nc.Read(body); err != nil {
						return
					}
					nc.Write(reply(n, int32(binary.BigEndian.Uint32(body[4:]))))
				}
			}()
		}
	}()
	return ln.Addr().String()
}

// versionsFrame answers ApiVersions 3 with the table of our own broker.
func versionsFrame(corr int32) []byte {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = 3
	for _, row := range wire.APIs() {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = row.Key, row.Min, row.Max
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return wire.AppendResponse(nil, corr, resp)
}

// Responses that do not fit break the connection, and what is in flight ends as unknown.
func TestBadResponsesBreakTheConnection(t *testing.T) {
	frame := func(size uint32, rest ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, size), rest...)
	}
	for _, c := range []struct {
		name  string
		reply func(corr int32) []byte
		why   string
	}{
		{"negative size", func(int32) []byte { return frame(0xffffffff) }, "response of -1 bytes"},
		{"size above the limit", func(int32) []byte { return frame(responseBytesMax + 1) }, "want 4 to"},
		{"size below a header", func(int32) []byte { return frame(3, 0, 0, 0) }, "response of 3 bytes"},
		{"another request's number", func(corr int32) []byte {
			return frame(4, binary.BigEndian.AppendUint32(nil, uint32(corr+1))...)
		}, "not to the oldest of 1 requests"},
		{"no body", func(corr int32) []byte {
			return frame(4, binary.BigEndian.AppendUint32(nil, uint32(corr))...)
		}, "response to InitProducerID 4"},
		{"tags past the end", func(corr int32) []byte {
			return frame(7, append(binary.BigEndian.AppendUint32(nil, uint32(corr)), 1, 0, 200)...)
		}, "header tags reach past the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := rawServer(t, func(n int, corr int32) []byte {
				if n == 0 {
					return versionsFrame(corr)
				}
				return c.reply(corr)
			})
			client, err := New(Config{Bootstrap: []string{addr}})
			require.NoError(t, err)
			defer client.Close()
			_, err = client.InitProducerID(ctx)
			assert.Equal(t, Unknown, OutcomeOf(err))
			assert.Equal(t, NameConnectionLost, NameOf(err))
			assert.ErrorContains(t, err, c.why)
		})
	}
}

func TestVersionsAreNegotiated(t *testing.T) {
	t.Run("an old broker refuses our version of the question", func(t *testing.T) {
		f := newFake(t, 1)
		f.override = func(req kmsg.Request) kmsg.Response {
			r, ok := req.(*kmsg.ApiVersionsRequest)
			if !ok || r.Version == 0 {
				return nil
			}
			resp := kmsg.NewPtrApiVersionsResponse() // version 0, whatever was asked (KIP-511)
			resp.ErrorCode = int16(kafka.ErrUnsupportedVersion)
			k := kmsg.NewApiVersionsResponseApiKey()
			k.ApiKey, k.MaxVersion = 18, 0
			resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{k}
			return resp
		}
		_, err := f.client().InitProducerID(ctx)
		assert.NoError(t, err)
		assert.Equal(t, 2, f.asked[18])
	})
	t.Run("the newest version that both speak", func(t *testing.T) {
		b := brokerVersions{0: {0, 7}, 1: {4, 100}, 22: {5, 6}}
		v, err := b.pick(0)
		assert.NoError(t, err)
		assert.Equal(t, int16(7), v)
		v, err = b.pick(1)
		assert.NoError(t, err)
		assert.Equal(t, int16(17), v)
		_, err = b.pick(22)
		assert.ErrorContains(t, err, "InitProducerID 5 to 6")
		_, err = b.pick(2)
		assert.ErrorContains(t, err, "does not serve ListOffsets")
	})
	t.Run("no common version is a definite failure", func(t *testing.T) {
		f := newFake(t, 1)
		f.table = []wire.API{{Key: 18, Max: 3}, {Key: 3, Max: 12}, {Key: 22, Min: 9, Max: 9}}
		_, err := f.client().InitProducerID(ctx)
		assert.Equal(t, Failed, OutcomeOf(err))
		assert.Equal(t, "UNSUPPORTED_VERSION", NameOf(err))
		assert.Zero(t, f.asked[22])
	})
}

func TestRequestsArePipelined(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	var held [][]byte
	addr := rawServer(t, func(n int, corr int32) []byte {
		if n == 0 {
			return versionsFrame(corr)
		}
		resp := kmsg.NewPtrInitProducerIDResponse()
		resp.Version, resp.ProducerID = 4, int64(n)
		mu.Lock()
		defer mu.Unlock()
		held = append(held, wire.AppendResponse(nil, corr, resp))
		if len(held) < 3 {
			return nil
		}
		close(release)
		return append(append(held[0], held[1]...), held[2]...)
	})
	c, terr := dial(addr, "test", time.Second)
	require.Nil(t, terr)
	defer c.fail(NameConnectionLost, errClosed)
	answers := make(chan int64, 3)
	for range 3 {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version = 4
		terr := c.start(req, 10*time.Second, func(resp kmsg.Response, terr *transportError) {
			assert.Nil(t, terr)
			answers <- resp.(*kmsg.InitProducerIDResponse).ProducerID
		})
		require.Nil(t, terr)
	}
	<-release // the server had all three before it answered one
	for i := range int64(3) {
		assert.Equal(t, i+1, <-answers)
	}
}

// The bound on requests in flight: who finds no place in time was not sent; who waits when the connection breaks, too.
func TestInFlightIsBounded(t *testing.T) {
	addr := rawServer(t, func(n int, corr int32) []byte {
		if n == 0 {
			return versionsFrame(corr)
		}
		return nil
	})
	c, terr := dial(addr, "test", time.Second)
	require.Nil(t, terr)
	req := func() kmsg.Request {
		r := kmsg.NewPtrInitProducerIDRequest()
		r.Version = 4
		return r
	}
	lost := make(chan *transportError, connInFlightMax)
	for range connInFlightMax {
		require.Nil(t, c.start(req(), time.Hour, func(_ kmsg.Response, terr *transportError) { lost <- terr }))
	}
	terr = c.start(req(), time.Millisecond, nil)
	require.NotNil(t, terr)
	assert.False(t, terr.sent)
	assert.ErrorContains(t, terr, "64 requests wait")
	end := make(chan *transportError)
	go func() { end <- c.start(req(), time.Hour, nil) }()
	c.fail(NameConnectionLost, errClosed)
	terr = <-end
	require.NotNil(t, terr)
	assert.False(t, terr.sent)
	for range connInFlightMax {
		assert.True(t, (<-lost).sent)
	}
}

func TestABrokenConnectionIsReplaced(t *testing.T) {
	f := newFake(t, 1)
	c := f.client()
	_, err := c.InitProducerID(ctx)
	require.NoError(t, err)
	f.cut()
	require.Eventually(t, func() bool { // the break is noticed without a request
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.slots[connKey{f.addr(), forAdmin}].conn.broken()
	}, 10*time.Second, time.Millisecond)
	_, err = c.InitProducerID(ctx)
	assert.NoError(t, err)
	c.Close()
	c.Close()
	_, err = c.InitProducerID(ctx)
	assert.ErrorIs(t, err, errClosed)
	assert.Equal(t, Failed, OutcomeOf(err))
}

func TestConfigIsChecked(t *testing.T) {
	for _, bad := range []Config{
		{}, {Bootstrap: []string{"localhost"}}, {Bootstrap: []string{"a:1"}, DialTimeout: -1}, {Bootstrap: []string{"a:"}},
	} {
		_, err := New(bad)
		assert.Error(t, err, "%+v", bad)
	}
	cfg, err := Config{Bootstrap: []string{"a:1"}}.withDefaults()
	require.NoError(t, err)
	var pauses []time.Duration
	for failed := 1; failed <= 6; failed++ {
		pauses = append(pauses, cfg.backoff(failed)/time.Millisecond)
	}
	assert.Equal(t, []time.Duration{100, 200, 400, 800, 1000, 1000}, pauses)
}
