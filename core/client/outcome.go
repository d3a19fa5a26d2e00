package client

import (
	"errors"
	"fmt"

	"trialog/core/kafka"
)

// Outcome is what is known of an operation when it ends.
type Outcome uint8

const (
	OK      Outcome = iota // it happened
	Failed                 // it did not happen and will not
	Unknown                // it may have happened, or may yet happen
)

func (o Outcome) String() string {
	switch o {
	case OK:
		return "ok"
	case Failed:
		return "failed"
	case Unknown:
		return "unknown"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Names of failures without an answer of a broker, as [Error.Name] gives them and the history writes them.
const (
	NameDialFailed     = "DIAL_FAILED"     // no connection was made, so nothing was sent: definite
	NameNotSent        = "NOT_SENT"        // the client gave up before it wrote the first byte: definite
	NameConnectionLost = "CONNECTION_LOST" // the connection broke after the first byte was written
	NameTimedOut       = "TIMED_OUT"       // no answer in time
)

// definite lists the answers after which one attempt has certainly had no effect and will have none: Kafka checks
// these before it appends. Every other code is indefinite, above all
//
//   - NOT_LEADER_OR_FOLLOWER: the leader may have appended before it stepped down (KAFKA-13574);
//   - NOT_ENOUGH_REPLICAS_AFTER_APPEND and REQUEST_TIMED_OUT: it has appended;
//   - OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID, DUPLICATE_SEQUENCE_NUMBER: they speak about what the broker
//     remembers of the producer, and a broker that forgot may have appended an earlier attempt;
//   - KAFKA_STORAGE_ERROR and UNKNOWN_SERVER_ERROR: part of the work may be done.
//
// NB: checker/history keeps the same table by name, because it knows nothing of the core. A test of checker/workload
// compares the two.
var definite = map[kafka.ErrorCode]bool{
	kafka.ErrOffsetOutOfRange:                   true,
	kafka.ErrCorruptMessage:                     true,
	kafka.ErrUnknownTopicOrPartition:            true,
	kafka.ErrInvalidFetchSize:                   true,
	kafka.ErrLeaderNotAvailable:                 true,
	kafka.ErrMessageTooLarge:                    true,
	kafka.ErrCoordinatorLoadInProgress:          true,
	kafka.ErrCoordinatorNotAvailable:            true,
	kafka.ErrNotCoordinator:                     true,
	kafka.ErrInvalidTopic:                       true,
	kafka.ErrRecordListTooLarge:                 true,
	kafka.ErrNotEnoughReplicas:                  true,
	kafka.ErrInvalidRequiredAcks:                true,
	kafka.ErrTopicAuthorizationFailed:           true,
	kafka.ErrClusterAuthorizationFailed:         true,
	kafka.ErrInvalidTimestamp:                   true,
	kafka.ErrUnsupportedVersion:                 true,
	kafka.ErrTopicAlreadyExists:                 true,
	kafka.ErrInvalidPartitions:                  true,
	kafka.ErrInvalidReplicationFactor:           true,
	kafka.ErrInvalidReplicaAssignment:           true,
	kafka.ErrInvalidConfig:                      true,
	kafka.ErrNotController:                      true,
	kafka.ErrInvalidRequest:                     true,
	kafka.ErrUnsupportedForMessageFormat:        true,
	kafka.ErrPolicyViolation:                    true,
	kafka.ErrInvalidProducerEpoch:               true,
	kafka.ErrProducerFenced:                     true,
	kafka.ErrTransactionalIDAuthorizationFailed: true,
	kafka.ErrFencedLeaderEpoch:                  true,
	kafka.ErrUnknownLeaderEpoch:                 true,
	kafka.ErrUnsupportedCompressionType:         true,
	kafka.ErrOffsetNotAvailable:                 true,
	kafka.ErrThrottlingQuotaExceeded:            true,
	kafka.ErrInvalidRecord:                      true,
	kafka.ErrUnknownTopicID:                     true,
	kafka.ErrInconsistentTopicID:                true,
}

// Definite reports whether one attempt that a broker answered with code certainly had no effect.
// NONE is not a failure and not in the table.
func Definite(code kafka.ErrorCode) bool { return definite[code] }

// Error is the end of an operation that did not succeed.
type Error struct {
	Op      string          // "produce", "fetch", "create-topic", ...
	Target  string          // what it was about: "t-0", "b1:9092"
	Outcome Outcome         // of the whole operation: never OK
	Code    kafka.ErrorCode // the last answer; NONE if there was none
	Err     error           // the cause, if no broker answered; or the broker's own message
	name    string          // of a failure without an answer
}

// Error says operation, target, cause and outcome in one line.
func (e *Error) Error() string {
	s := "client: " + e.Op + " " + e.Target + ": " + e.Name()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s + " (" + e.Outcome.String() + ")"
}

// neverLeft reports an attempt that ended before its first byte, and without a broker's word.
func (e *Error) neverLeft() bool { return e.Outcome == Failed && e.Code == kafka.ErrNone }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Name is Kafka's name of the error code, or one of the Name constants.
func (e *Error) Name() string {
	if e.Code != kafka.ErrNone {
		return e.Code.String()
	}
	return e.name
}

// OutcomeOf is the outcome that err stands for: OK for nil, Unknown for an error that is not of this package.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Outcome
	}
	return Unknown
}

// NameOf is the name under which a history records err: "" for nil, CONNECTION_LOST for an error that is not of this
// package.
func NameOf(err error) string {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Name()
	}
	return NameConnectionLost
}

// answered is the error of a broker's answer. message is the broker's own text, if any.
func answered(op, target string, code kafka.ErrorCode, message *string) *Error {
	e := &Error{Op: op, Target: target, Outcome: Unknown, Code: code}
	if Definite(code) {
		e.Outcome = Failed
	}
	if message != nil && *message != "" {
		e.Err = errors.New(*message)
	}
	return e
}

// unsent is the error of an attempt that never left.
func unsent(op, target, name string, cause error) *Error {
	return &Error{Op: op, Target: target, Outcome: Failed, Err: cause, name: name}
}

// lost is the error of an attempt that may have left and was not answered.
func lost(op, target, name string, cause error) *Error {
	return &Error{Op: op, Target: target, Outcome: Unknown, Err: cause, name: name}
}
