package serve

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/wire"
)

// Over any time, no more connections are accepted than the rate allows, and one second's worth of them at once.
func TestCreation(t *testing.T) {
	const second = int64(1e9)
	for _, rate := range []int{1, 3, 10, 1000} {
		var c creation
		now, accepted := 5*second, 0
		for now < 15*second { // everybody comes at once and asks again as told
			wait := c.take(now, rate)
			if wait == 0 {
				accepted++
				continue
			}
			require.LessOrEqual(t, wait, second)
			now += wait
		}
		require.InDelta(t, 11*rate, accepted, float64(rate)/100+1, "rate %d", rate)
	}
	var c creation
	require.Equal(t, second, c.take(0, 0), "nobody, until the limit changes")
	for range 5 {
		require.Zero(t, c.take(0, 5))
	}
	require.Positive(t, c.take(0, 5))
	require.Zero(t, c.take(0, 1<<31-1), "a higher limit counts at once")
}

// An acceptor that waits for its turn does not hold up the end, and takes up a new limit.
func TestCreationRate(t *testing.T) {
	b := newBench(t, func(l *Limits) { l.CreationRateMax = 2 })
	for i := range int32(2) {
		c := b.dial(t)
		send(t, c, wire.KeyMetadata, i)
		require.Equal(t, i, receive(t, c))
	}
	late := b.dial(t)
	send(t, late, wire.KeyMetadata, 9)
	l := b.limits
	l.CreationRateMax = 1 << 30
	b.SetLimits(l)
	require.EqualValues(t, 9, receive(t, late))
	l.CreationRateMax = 0
	b.SetLimits(l)
	b.dial(t) // it is never accepted, and the test ends all the same
}

// Limits of single addresses replace the common one, upwards and downwards, also while the server runs.
func TestLimitsPerAddress(t *testing.T) {
	b := newBench(t, func(l *Limits) { l.ConnectionsPerIPMax, l.PerIP = 0, map[string]int{"127.0.0.1": 1, "10.0.0.1": 5} })
	one := b.dial(t)
	send(t, one, wire.KeyMetadata, 1)
	require.EqualValues(t, 1, receive(t, one))
	_, err := b.dial(t).Read(make([]byte, 1))
	require.Error(t, err)
	l := b.limits
	l.PerIP = nil
	b.SetLimits(l)
	_, err = b.dial(t).Read(make([]byte, 1))
	require.Error(t, err)
	send(t, one, wire.KeyMetadata, 2)
	require.EqualValues(t, 2, receive(t, one), "who is there stays")
}

// Limits change while connections are accepted: for the race detector.
func TestLimitsChangeWhileAccepting(t *testing.T) {
	b := newBench(t, nil)
	l := b.limits
	done, quit := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
				b.SetLimits(l)
			}
		}
	}()
	for i := range int32(20) {
		c := b.dial(t)
		send(t, c, wire.KeyMetadata, i)
		require.Equal(t, i, receive(t, c))
	}
	close(quit)
	<-done
}

// failing is a listener whose Accept fails some times, as without descriptors.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left > 0 {
		f.left--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

// W07: a listener that cannot accept for a while accepts again afterwards.
func TestAcceptSurvives(t *testing.T) {
	b := newBench(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.Serve(&failing{Listener: l, left: 3}, "FAILING")
	b.addr = l.Addr().String()
	c := b.dial(t)
	send(t, c, wire.KeyMetadata, 5)
	require.EqualValues(t, 5, receive(t, c))
	require.Contains(t, b.log.String(), "too many open files")
}
