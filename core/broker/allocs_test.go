package broker

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Neither path allocates per record: a request with 2000 records costs no more
// allocations than one with a single record (counted, not timed).
func TestAllocationsDoNotGrowWithRecords(t *testing.T) {
	in := start(t, t.TempDir())
	setup := in.dial()
	few, many := []string{"x"}, make([]string, 2000)
	for topic, values := range map[string][]string{"few": few, "many": many} {
		setup.create(topic, 1)
		for range 4 {
			require.Zero(t, setup.produce(1, topic, 0, batch(values...)).ErrorCode)
		}
	}
	for name, frames := range map[string][2][]byte{
		"produce": {
			formatter.AppendRequest(nil, produceRequest(9, 1, "few", 0, batch(few...)), 1),
			formatter.AppendRequest(nil, produceRequest(9, 1, "many", 0, batch(many...)), 1),
		},
		"fetch": {
			formatter.AppendRequest(nil, fetchRequest("few", 0, 0), 1),
			formatter.AppendRequest(nil, fetchRequest("many", 0, 0), 1),
		},
	} {
		one, two := allocsPerRequest(t, in, frames[0]), allocsPerRequest(t, in, frames[1])
		t.Logf("%s: %.1f allocations with 1 record, %.1f with 2000", name, one, two)
		require.LessOrEqual(t, two, one+5, name)
		if !racing {
			require.Less(t, two, map[string]float64{"produce": 2, "fetch": 6}[name], name)
		}
	}
}

// allocsPerRequest sends one frame many times and counts the process's
// allocations; the client side makes none.
func allocsPerRequest(t *testing.T, in *instance, frame []byte) float64 {
	t.Helper()
	conn := in.dial().conn
	sink := make([]byte, 4<<20)
	const warm, counted = 20, 200
	var before, after runtime.MemStats
	for i := range warm + counted {
		if i == warm {
			runtime.ReadMemStats(&before)
		}
		roundTrip(t, conn, frame, sink)
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / counted
}

func roundTrip(t *testing.T, conn net.Conn, frame, sink []byte) {
	if _, err := conn.Write(frame); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, sink[:4]); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, sink[:binary.BigEndian.Uint32(sink)]); err != nil {
		t.Fatal(err)
	}
}
