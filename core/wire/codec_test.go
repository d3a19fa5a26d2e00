package wire

import (
	"encoding/binary"
	"math/rand"
	"testing"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fuzzer fills kmsg structures: short arrays, printable strings, no tags that we
// do not know.
func fuzzer(seed int64) *fuzz.Fuzzer {
	return fuzz.NewWithSeed(seed).NilChance(0.2).NumElements(0, 4).MaxDepth(12).Funcs(
		func(*kmsg.Tags, fuzz.Continue) {},
		func(b *[]byte, c fuzz.Continue) {
			*b = make([]byte, c.Intn(300))
			c.Read(*b)
		},
	)
}

// Random requests survive bytes -> request -> bytes for every key and version.
func TestDecodeRoundTrip(t *testing.T) {
	for _, api := range APIs() {
		for version := api.ServeMin; version <= api.Max; version++ {
			f := fuzzer(int64(api.Key)<<8 | int64(version))
			for range 40 {
				req := kmsg.RequestForKey(api.Key)
				f.Fuzz(req)
				req.SetVersion(version)
				body := req.AppendTo(nil)
				got, err := Decode(api.Key, version, body)
				require.NoError(t, err, "%s v%d", api.Name, version)
				require.Equal(t, body, got.AppendTo(nil), "%s v%d", api.Name, version)
			}
		}
	}
}

// The refusal of a body says what was asked, in words about a request.
func TestDecodeError(t *testing.T) {
	_, err := Decode(KeyMetadata, 9, []byte{1, 2})
	require.EqualError(t, err, "wire: Metadata v9: bad body of 2 bytes: malformed request")
}

// Random bytes, and valid requests with bytes changed, cut or added, are refused
// or accepted; they never panic, and the frame header neither.
func TestDecodeHostile(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var produce ProduceRequest
	for _, api := range APIs() {
		for version := api.ServeMin; version <= api.Max; version++ {
			f := fuzzer(int64(api.Key)<<8 | int64(version))
			for range 150 {
				body := hostileBody(rng, f, api.Key, version)
				frame := binary.BigEndian.AppendUint16(nil, uint16(api.Key))
				frame = binary.BigEndian.AppendUint16(frame, uint16(version))
				frame = append(append(frame, 0, 0, 0, 1, 0xff, 0xff), body...)
				if _, rest, err := ParseRequestHeader(frame); err == nil {
					_, _ = Decode(api.Key, version, rest)
				}
				if api.Key == KeyProduce {
					_ = produce.Parse(version, body)
				}
			}
		}
	}
}

func hostileBody(rng *rand.Rand, f *fuzz.Fuzzer, key, version int16) []byte {
	if rng.Intn(4) == 0 {
		body := make([]byte, rng.Intn(100))
		rng.Read(body)
		return body
	}
	req := kmsg.RequestForKey(key)
	f.Fuzz(req)
	req.SetVersion(version)
	body := req.AppendTo(nil)
	for range rng.Intn(6) {
		if len(body) == 0 {
			break
		}
		switch i := rng.Intn(len(body)); rng.Intn(3) {
		case 0:
			body[i] = byte(rng.Intn(256))
		case 1:
			body[i] = []byte{0xff, 0x7f, 0x80, 0}[rng.Intn(4)]
		case 2:
			body = body[:i]
		}
	}
	return body
}

// The trigger of W02: a count far beyond the bytes that follow.
func TestDecodeCountBombs(t *testing.T) {
	bomb := []byte{0x03, 0x3c, 0x0c, 0x00, 0}
	for _, api := range APIs() {
		if api.Key == KeyAPIVersions || api.Key == KeyInitProducerID || api.Key == KeyDescribeCluster {
			continue // no arrays
		}
		var err error
		switch api.Key {
		case KeyMetadata:
			_, err = Decode(api.Key, 0, bomb)
		case KeyProduce:
			_, err = Decode(api.Key, 3, append([]byte{0xff, 0xff, 0, 1, 0, 0, 0, 1}, bomb...))
			require.Error(t, new(ProduceRequest).Parse(3, append([]byte{0xff, 0xff, 0, 1, 0, 0, 0, 1}, bomb...)))
		case KeyFetch:
			_, err = Decode(api.Key, 4, append(make([]byte, 17), bomb...))
		case KeyListOffsets:
			_, err = Decode(api.Key, 1, append(make([]byte, 4), bomb...))
		case KeyFindCoordinator: // one key before v4, and no tags of it
			_, err = Decode(api.Key, 4, append([]byte{0}, 0xff, 0xff, 0xff, 0xff, 0x0f))
		case KeyListGroups:
			_, err = Decode(api.Key, 4, []byte{0xff, 0xff, 0xff, 0xff, 0x0f})
		case KeyDescribeProducers, KeyDescribeTopicPartitions: // flexible from the first version on
			_, err = Decode(api.Key, 0, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1})
		default:
			_, err = Decode(api.Key, api.ServeMin, bomb)
		}
		require.ErrorIs(t, err, ErrMalformed, api.Name)
	}
}

type panicking struct{ kmsg.MetadataRequest }

func (*panicking) ReadFrom([]byte) error { panic("index out of range") }

func TestDecoderPanicIsAnError(t *testing.T) {
	require.ErrorContains(t, readFrom(new(panicking), nil), "decoder panicked: index out of range")
}

func TestHeaders(t *testing.T) {
	for _, api := range APIs() {
		for version := api.ServeMin; version <= api.Max; version++ {
			req := kmsg.RequestForKey(api.Key)
			req.SetVersion(version)
			require.Equal(t, req.IsFlexible(), api.IsFlexible(version), "%s v%d", api.Name, version)
			require.LessOrEqual(t, api.Max, req.MaxVersion())
			frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("me")).AppendRequest(nil, req, -5)
			h, body, err := ParseRequestHeader(frame[4:])
			require.NoError(t, err)
			require.Equal(t, RequestHeader{Key: api.Key, Version: version, CorrelationID: -5, ClientID: []byte("me")}, h)
			require.Equal(t, req.AppendTo(nil), append([]byte(nil), body...))
		}
	}
}

func TestHeaderTags(t *testing.T) {
	frame := append([]byte{0, 3, 0, 9, 0, 0, 0, 1, 0, 1, 'x'}, 2, 5, 3, 1, 2, 3, 6, 0)
	h, body, err := ParseRequestHeader(append(frame, 0xaa))
	require.NoError(t, err)
	require.Equal(t, "x", string(h.ClientID))
	require.Equal(t, []byte{0xaa}, body)
	for name, tags := range map[string][]byte{
		"size beyond the frame": {1, 5, 100, 1},
		"varint of six bytes":   {0x80, 0x80, 0x80, 0x80, 0x80, 1},
		"more tags than bytes":  {0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0},
		"none":                  {},
	} {
		_, _, err := ParseRequestHeader(append([]byte{0, 3, 0, 9, 0, 0, 0, 1, 0, 1, 'x'}, tags...))
		require.ErrorIs(t, err, ErrMalformed, name)
	}
}

func TestAPIVersionsOfAnyVersion(t *testing.T) {
	h, body, err := ParseRequestHeader([]byte{0, 18, 0, 99, 0x7f, 0xff, 0xff, 0xff, 1, 2})
	require.NoError(t, err)
	require.Nil(t, body)
	require.Equal(t, RequestHeader{Key: 18, Version: 99, CorrelationID: 1<<31 - 1}, h)
}

func TestResponseHeader(t *testing.T) {
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 9}, BeginResponse(nil, KeyAPIVersions, 4, 9), "never flexible (KIP-511)")
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 9}, BeginResponse(nil, KeyMetadata, 8, 9))
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 9, 0}, BeginResponse(nil, KeyMetadata, 9, 9))
	resp := kmsg.NewPtrInitProducerIDResponse()
	b := AppendResponse([]byte("xx"), 3, resp)
	require.Equal(t, uint32(len(b)-6), binary.BigEndian.Uint32(b[2:]))
}
