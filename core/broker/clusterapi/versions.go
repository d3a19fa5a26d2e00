package clusterapi

import (
	"regexp"

	"trialog/core/broker/serve"
	"trialog/core/kafka"
	"trialog/core/wire"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// softwareName is what a client may call itself and its version (KIP-511).
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

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
	if req.Version >= 3 && !(softwareName.MatchString(req.ClientSoftwareName) && softwareName.MatchString(req.ClientSoftwareVersion)) {
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
