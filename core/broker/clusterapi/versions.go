package clusterapi

import (
	"trialog/core/broker/serve"
	"trialog/core/kafka"
	"trialog/core/wire"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// softwareName tells whether a client may call itself or its version so (KIP-511): letters, digits, dots and hyphens,
// the latter two neither first nor last.
func softwareName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case (c == '.' || c == '-') && 0 < i && i < len(s)-1:
		default:
			return false
		}
	}
	return s != ""
}

// APIVersions answers which versions are served. A version that is not gets
// UNSUPPORTED_VERSION in the v0 form, with the range of this one key, and the
// connection stays: the client then asks again (KIP-511).
func APIVersions(rq *serve.Request) (serve.Answer, error) {
	resp := kmsg.NewPtrApiVersionsResponse()
	api, _ := wire.Lookup(wire.KeyAPIVersions)
	if !api.Serves(rq.Header.Version) {
		resp.ErrorCode = int16(kafka.ErrUnsupportedVersion)
		resp.ApiKeys = append(resp.ApiKeys, keyOf(api))
		return rq.Reply(resp)
	}
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.ApiVersionsRequest)
	resp.Version = req.Version
	if req.Version >= 3 && !(softwareName(req.ClientSoftwareName) && softwareName(req.ClientSoftwareVersion)) {
		resp.ErrorCode = int16(kafka.ErrInvalidRequest)
		return rq.Reply(resp)
	}
	for _, api := range wire.APIs() {
		resp.ApiKeys = append(resp.ApiKeys, keyOf(api))
	}
	return rq.Reply(resp)
}

func keyOf(api wire.API) kmsg.ApiVersionsResponseApiKey {
	out := kmsg.NewApiVersionsResponseApiKey()
	out.ApiKey, out.MinVersion, out.MaxVersion = api.Key, api.Min, api.Max
	return out
}
