package wire

import "encoding/binary"

// HeaderMin is the least size of a frame: key, version, correlation id.
const HeaderMin = 8

// RequestHeader is header v1 or v2 of a request.
type RequestHeader struct {
	Key           int16
	Version       int16
	CorrelationID int32

	// ClientID aliases the frame; nil when the client sent null.
	ClientID []byte
}

// ParseRequestHeader splits a frame (without its size) into header and body;
// both alias the frame. Errors wrap ErrMalformed: unknown key, version that is
// not served, header cut short. One case is let through although its version is
// not served: ApiVersions of any version, whose body must then not be parsed
// (KIP-511); body is nil.
func ParseRequestHeader(frame []byte) (h RequestHeader, body []byte, err error) {
	if len(frame) < HeaderMin {
		return h, nil, malformed("header of %d bytes", len(frame))
	}
	h.Key = int16(binary.BigEndian.Uint16(frame))
	h.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(frame[4:]))
	api, err := checkServed(h.Key, h.Version)
	if err != nil {
		return h, nil, err
	}
	if !api.Serves(h.Version) {
		return h, nil, nil
	}
	c := cursor{src: frame[HeaderMin:]}
	h.ClientID, _ = c.nullable(false, false)
	if api.IsFlexible(h.Version) {
		c.skipTags()
	}
	if c.bad {
		return h, nil, malformed("header of %s v%d cut short", api.Name, h.Version)
	}
	return h, c.src, nil
}

// checkServed finds the row of a request. It is the first thing done with a
// frame, before its body is read (W04).
func checkServed(key, version int16) (API, error) {
	api, ok := Lookup(key)
	if !ok {
		return api, malformed("unknown api key %d", key)
	}
	if !api.Serves(version) && key != KeyAPIVersions {
		return api, malformed("%s v%d is not served (%d to %d are)", api.Name, version, api.ServeMin, api.Max)
	}
	return api, nil
}

// BeginResponse appends room for the size and the response header that belongs
// to the request. EndFrame completes the frame.
func BeginResponse(dst []byte, key, version int16, correlationID int32) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if api, ok := Lookup(key); ok && key != KeyAPIVersions && api.IsFlexible(version) {
		dst = append(dst, 0)
	}
	return dst
}

// EndFrame writes the size of the frame that begins at start: what follows it in
// dst plus extra bytes that will be sent after dst.
func EndFrame(dst []byte, start int, extra int) {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4+extra))
}
