package client

import (
	"errors"

	"trialog/core/client/retry"
	"trialog/core/kafka"
)

// Outcome is what is known of an operation when it ends.
type Outcome = retry.Outcome

// Outcomes.
const (
	OK      = retry.OK
	Failed  = retry.Failed
	Unknown = retry.Unknown
)

// Definite reports whether one attempt that a broker answered with code certainly had no effect (see the table of retry).
func Definite(code kafka.ErrorCode) bool { return retry.Definite(code) }

// Names of failures without an answer of a broker, as [Error.Name] gives them and the history writes them.
const (
	NameDialFailed     = "DIAL_FAILED"     // no connection was made, so nothing was sent: definite
	NameNotSent        = "NOT_SENT"        // the client gave up before it wrote the first byte: definite
	NameConnectionLost = "CONNECTION_LOST" // the connection broke after the first byte was written
	NameTimedOut       = "TIMED_OUT"       // no answer in time
)

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
