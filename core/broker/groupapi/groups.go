package groupapi

import (
	"trialog/core/broker/serve"
	"trialog/core/kafka"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kinds of coordinator, with Kafka's numbers.
const (
	kindGroup       int8 = 0
	kindTransaction int8 = 1
)

// noTransactions goes with a code that clients take for fatal: one that they retry
// would keep a transactional producer in its start for ever.
const noTransactions = "transactions are not supported by this broker"

// FindCoordinator answers that no coordinator is available yet. Versions before 4
// ask for one key, later ones for several (KIP-699).
func FindCoordinator(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.FindCoordinatorRequest)
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	code, message := coordinator(req.CoordinatorType)
	if req.Version < 4 {
		resp.ErrorCode, resp.ErrorMessage = int16(code), kmsg.StringPtr(message)
		resp.NodeID, resp.Port = kafka.NoNode, -1
		return rq.Reply(resp)
	}
	if err := rq.ChargeEntries(len(req.CoordinatorKeys)); err != nil {
		return nil, err
	}
	for _, key := range req.CoordinatorKeys {
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.ErrorCode, c.ErrorMessage = key, int16(code), kmsg.StringPtr(message)
		c.NodeID, c.Port = kafka.NoNode, -1
		resp.Coordinators = append(resp.Coordinators, c)
	}
	return rq.Reply(resp)
}

func coordinator(kind int8) (kafka.ErrorCode, string) {
	switch kind {
	case kindGroup:
		return kafka.ErrCoordinatorNotAvailable, "The coordinator is not available."
	case kindTransaction:
		return kafka.ErrInvalidRequest, noTransactions
	}
	return kafka.ErrInvalidRequest, "no such kind of coordinator in this version"
}

// ListGroups answers that there are none, whatever states or types are asked for.
func ListGroups(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	return rq.Reply(decoded.(*kmsg.ListGroupsRequest).ResponseKind())
}
