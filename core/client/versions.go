package client

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/kafka"
)

// versionRange is what one side speaks of one request.
type versionRange struct{ min, max int16 }

// spoken lists the requests this client sends and the versions it knows. What it does not use of newer versions is not
// in the range: topic ids in Produce (13), the sessions and tags of Fetch beyond 17.
var spoken = map[kmsg.Key]versionRange{
	kmsg.Produce:        {3, 11},
	kmsg.Fetch:          {4, 17},
	kmsg.ListOffsets:    {1, 9},
	kmsg.Metadata:       {4, 12},
	kmsg.ApiVersions:    {0, 3},
	kmsg.CreateTopics:   {2, 7},
	kmsg.DeleteTopics:   {1, 6},
	kmsg.InitProducerID: {0, 4},

	kmsg.DeleteRecords:           {0, 2},
	kmsg.DescribeConfigs:         {1, 4},
	kmsg.CreatePartitions:        {0, 3},
	kmsg.IncrementalAlterConfigs: {0, 1},
}

// brokerVersions is what a broker said it serves, by key.
type brokerVersions map[int16]versionRange

// pick is the newest version of key that both sides speak.
func (b brokerVersions) pick(key int16) (int16, error) {
	ours, theirs := spoken[kmsg.Key(key)], b[key]
	if _, served := b[key]; !served {
		return 0, fmt.Errorf("the broker does not serve %s", kmsg.NameForKey(key))
	}
	v := min(ours.max, theirs.max)
	if v < ours.min || v < theirs.min {
		return 0, fmt.Errorf("the broker serves %s %d to %d, this client speaks %d to %d",
			kmsg.NameForKey(key), theirs.min, theirs.max, ours.min, ours.max)
	}
	return v, nil
}

// negotiate asks which versions the broker serves (KIP-35). A broker that does not know our version of the question
// answers in version 0 with the range it knows (KIP-511), and is asked once more.
func (c *conn) negotiate() error {
	v := spoken[kmsg.ApiVersions].max
	for range 2 {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version = v
		req.ClientSoftwareName, req.ClientSoftwareVersion = "trialog", "1"
		answer, failed := c.roundTrip(req, c.dialTimeout)
		if failed != nil {
			return failed
		}
		resp := answer.(*kmsg.ApiVersionsResponse)
		code := kafka.ErrorCode(resp.ErrorCode)
		if code == kafka.ErrUnsupportedVersion && v > 0 {
			v = apiVersionsMax(resp, v)
			continue
		}
		if code != kafka.ErrNone {
			return fmt.Errorf("ApiVersions %d: %w", v, code)
		}
		c.versions = make(brokerVersions, len(resp.ApiKeys))
		for _, k := range resp.ApiKeys {
			c.versions[k.ApiKey] = versionRange{k.MinVersion, k.MaxVersion}
		}
		return nil
	}
	return fmt.Errorf("ApiVersions: the broker refuses the version it named itself: %w", kafka.ErrUnsupportedVersion)
}

// apiVersionsMax is the version to ask with after ours was refused: what the broker named, below ours, or 0.
func apiVersionsMax(resp *kmsg.ApiVersionsResponse, refused int16) int16 {
	for _, k := range resp.ApiKeys {
		if k.ApiKey == int16(kmsg.ApiVersions) && k.MaxVersion < refused && k.MaxVersion >= 0 {
			return k.MaxVersion
		}
	}
	return 0
}
