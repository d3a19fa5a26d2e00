package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DecodeFactor bounds the memory of a decoded request as a multiple of its
// frame: kmsg refuses arrays longer than the bytes that are left, and the widest
// element (64 bytes in memory) takes at least three on the wire.
const DecodeFactor = 24

// Decode parses a request body with kmsg. The version must be served. The result
// does not alias body, except fields of type []byte. Errors wrap ErrMalformed.
func Decode(key, version int16, body []byte) (kmsg.Request, error) {
	api, ok := Lookup(key)
	if !ok {
		return nil, malformed("unknown api key %d", key)
	}
	req := api.request()
	req.SetVersion(version)
	if err := readFrom(req, body); err != nil {
		return nil, malformed("%s v%d: %v", APIName(key), version, err)
	}
	return req, nil
}

// readFrom turns a panic of the decoder into an error: a peer must not be able
// to end the process. kmsg has one error for every other fault, and it speaks of a
// response.
func readFrom(req kmsg.Request, body []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decoder panicked: %v", p)
		}
	}()
	if req.ReadFrom(body) != nil {
		return fmt.Errorf("bad body of %d bytes", len(body))
	}
	return nil
}

// AppendResponse appends the whole frame of a response.
func AppendResponse(dst []byte, correlationID int32, resp kmsg.Response) []byte {
	start := len(dst)
	dst = BeginResponse(dst, resp.Key(), resp.GetVersion(), correlationID)
	dst = resp.AppendTo(dst)
	EndFrame(dst, start, 0)
	return dst
}
