package clusterapi

import (
	"sync"

	"trialog/core/broker/serve"
	"trialog/core/controller"
	"trialog/core/kafka"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ProducerIDs hands out producer ids from blocks that the controller gave to this
// broker process (KIP-730). What is left of a block when the process ends is
// never handed out.
type ProducerIDs struct {
	Broker      kafka.NodeID
	BrokerEpoch int64
	Submit      func(controller.Request) (controller.Response, error)

	mu   sync.Mutex
	next kafka.ProducerID
	end  kafka.ProducerID
}

// take returns an id that nobody else has or will have.
func (p *ProducerIDs) take() (kafka.ProducerID, kafka.ErrorCode, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == p.end {
		answer, err := p.Submit(&controller.AllocateProducerIDs{Broker: p.Broker, BrokerEpoch: p.BrokerEpoch})
		if err != nil {
			return kafka.NoProducerID, kafka.ErrKafkaStorageError, err
		}
		block := answer.(*controller.AllocateProducerIDsResponse)
		if block.Code != kafka.ErrNone {
			return kafka.NoProducerID, block.Code, nil
		}
		p.next, p.end = block.First, block.First+kafka.ProducerID(block.Count)
	}
	p.next++
	return p.next - 1, kafka.ErrNone, nil
}

// InitProducerID gives an idempotent producer a fresh id with epoch 0, whatever
// id and epoch it had. A transactional id is refused: there are no transactions.
func (p *ProducerIDs) InitProducerID(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.InitProducerIDRequest)
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = kafka.NoProducerID, kafka.NoProducerEpoch
	if req.TransactionalID != nil {
		resp.ErrorCode = int16(kafka.ErrInvalidRequest)
		return rq.Reply(resp)
	}
	id, code, err := p.take()
	if err != nil {
		rq.Log.Error("no block of producer ids", "err", err)
	}
	resp.ErrorCode = int16(code)
	if code == kafka.ErrNone {
		resp.ProducerID, resp.ProducerEpoch = id, 0
	}
	return rq.Reply(resp)
}
