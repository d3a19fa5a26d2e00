package serve

import (
	"fmt"
	"log/slog"

	"trialog/core/broker/meter"
	"trialog/core/kafka"
	"trialog/core/wire"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Session is who asks. It is what an authorizer will look at.
type Session struct {
	Principal string // "User:ANONYMOUS" without authentication
	Listener  string // the listener's name
	Host      string // the peer's address, without port
	ClientID  string // as the last request said
}

// Resource is the kind of thing that a request touches (KIP-11).
type Resource uint8

// Resources.
const (
	ResourceNone Resource = iota
	ResourceTopic
	ResourceCluster
	ResourceGroup
)

// Operation is what a request does to its resource (KIP-11).
type Operation uint8

// Operations.
const (
	OperationNone Operation = iota
	OperationRead
	OperationWrite
	OperationCreate
	OperationDelete
	OperationDescribe
	OperationAlter
	OperationDescribeConfigs
	OperationAlterConfigs
	OperationIdempotentWrite
)

// Handler answers one request. It runs on the connection's reader goroutine.
//
// A nil answer with a nil error is no answer at all (acks=0). An error closes the
// connection once earlier answers are out.
type Handler func(rq *Request) (Answer, error)

// Row is one API key: its versions, what an authorizer must be asked, and who
// answers.
type Row struct {
	wire.API
	Resource  Resource
	Operation Operation
	Handle    Handler
}

// Request is one request being handled. It is the connection's and reused: a
// handler keeps nothing of it, except by TakeFrame.
type Request struct {
	Session *Session
	Header  wire.RequestHeader
	Body    []byte // aliases the frame; nil for an ApiVersions version that is not served
	Now     kafka.Now
	Log     *slog.Logger

	timing meter.Timing
	due    int64 // charged, and not yet taken from the request memory
	frame  *wire.Frame
	pool   *wire.Pool
	gone   <-chan struct{}
}

// Decode parses the body with kmsg.
func (rq *Request) Decode() (kmsg.Request, error) {
	return wire.Decode(rq.Header.Key, rq.Header.Version, rq.Body)
}

// TakeFrame makes the caller the owner of the frame that Body aliases: it
// releases it once when the bytes are no longer needed. Until then the frame
// counts against the request memory.
func (rq *Request) TakeFrame() wire.Frame {
	if rq.frame == nil {
		return wire.Frame{} // nothing to own
	}
	f := *rq.frame
	rq.frame = nil
	return f
}

// EntryBytes is the memory that one entry of an answer takes, as it is built and
// encoded, when it says no more than what was asked for and a sentence.
const EntryBytes = 512

// chargeStep is what a request may take without counting it: most answers are
// smaller and never ask for request memory.
const chargeStep = 32 << 10

// Charge adds bytes to what the request counts for in the request memory, until
// its frame is released or its answer has left. Handlers charge what an answer
// takes before they build it, entry by entry or at once. It may wait. An error,
// which wraps wire.ErrBudget, says that the memory was not to be had: the handler
// gives up.
func (rq *Request) Charge(bytes int64) error {
	if rq.due += bytes; rq.due < chargeStep || rq.frame == nil {
		return nil
	}
	if !rq.frame.Charge(rq.due, rq.gone) {
		return rq.noMemory()
	}
	rq.due = 0
	return nil
}

// ChargeEntries is Charge for so many entries.
func (rq *Request) ChargeEntries(n int) error { return rq.Charge(int64(n) * EntryBytes) }

func (rq *Request) noMemory() error {
	return fmt.Errorf("broker: answer to %s: %w", wire.APIName(rq.Header.Key), wire.ErrBudget)
}

// Gone is closed when the request's connection is of no more use; nil in tests.
func (rq *Request) Gone() <-chan struct{} { return rq.gone }

// Pool is where buffers of answers come from.
func (rq *Request) Pool() *wire.Pool { return rq.pool }
