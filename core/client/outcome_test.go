package client

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"trialog/core/kafka"
)

// What the table must not get wrong: these have, or may have, appended.
func TestIndefiniteErrors(t *testing.T) {
	for _, code := range []kafka.ErrorCode{
		kafka.ErrNotLeaderOrFollower, kafka.ErrNotEnoughReplicasAfterAppend, kafka.ErrRequestTimedOut,
		kafka.ErrOutOfOrderSequenceNumber, kafka.ErrUnknownProducerID, kafka.ErrDuplicateSequenceNumber,
		kafka.ErrKafkaStorageError, kafka.ErrUnknownServerError, kafka.ErrNetworkException,
	} {
		assert.False(t, Definite(code), code)
		assert.Equal(t, Unknown, OutcomeOf(answered("produce", "t-0", code, nil)), code)
	}
	assert.False(t, Definite(12345), "a code that Kafka has not named yet")
}

func TestOutcomeOfErrors(t *testing.T) {
	message := "why"
	cause := errors.New("cause")
	for _, c := range []struct {
		err     error
		outcome Outcome
		name    string
		text    string
	}{
		{nil, OK, "", ""},
		{answered("produce", "t-0", kafka.ErrInvalidRecord, &message), Failed, "INVALID_RECORD", "client: produce t-0: INVALID_RECORD: why (failed)"},
		{unsent("fetch", "t-0", NameDialFailed, cause), Failed, NameDialFailed, "client: fetch t-0: DIAL_FAILED: cause (failed)"},
		{lost("produce", "t-0", NameTimedOut, cause), Unknown, NameTimedOut, "client: produce t-0: TIMED_OUT: cause (unknown)"},
		{fmt.Errorf("wrapped: %w", lost("produce", "t-0", NameTimedOut, cause)), Unknown, NameTimedOut, "wrapped: client: produce t-0: TIMED_OUT: cause (unknown)"},
		{cause, Unknown, NameConnectionLost, "cause"},
	} {
		assert.Equal(t, c.outcome, OutcomeOf(c.err))
		assert.Equal(t, c.name, NameOf(c.err))
		if c.err != nil {
			assert.EqualError(t, c.err, c.text)
		}
	}
}
