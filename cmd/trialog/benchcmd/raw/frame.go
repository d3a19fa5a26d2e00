// Package raw is what the client of `trialog bench` and the limit that it measures have in common: frames without a
// codec, and the server of the limit, which does the least that any server could do with the same bytes.
package raw

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Versions of the requests: the last without tags. Every broker of today serves them.
const (
	ProduceVersion = 8
	FetchVersion   = 11
)

const frameMax = 256 << 20

// ReadFrame reads a request or a response, without its size, into frame's memory if that is large enough. The caller owns
// what it returns.
func ReadFrame(r io.Reader, frame []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n < 4 || n > frameMax {
		return frame, fmt.Errorf("bench: a frame of %d bytes", n)
	}
	if cap(frame) < n {
		frame = make([]byte, n)
	}
	frame = frame[:n]
	_, err := io.ReadFull(r, frame)
	return frame, err
}
