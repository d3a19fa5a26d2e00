package kafka

import "strconv"

// ErrorCode is a protocol outcome: a value to be sent, not a failure of this program. It implements error, so that a
// client may return it; code 0 (NONE) must never be returned as an error.
type ErrorCode int16

type errorRow struct {
	name      string
	retriable bool
}

const firstCode = ErrUnknownServerError

// String is Kafka's name, or the number when Kafka has none.
func (c ErrorCode) String() string {
	if !c.Known() {
		return "ERROR_" + strconv.Itoa(int(c))
	}
	return errorTable[c-firstCode].name
}

// Error is the name and the number.
func (c ErrorCode) Error() string { return c.String() + "(" + strconv.Itoa(int(c)) + ")" }

// Known reports whether Kafka's table has the code.
func (c ErrorCode) Known() bool { return c >= firstCode && int(c-firstCode) < len(errorTable) }

// Retriable reports what Kafka's own clients retry. It says nothing of whether the operation took effect.
func (c ErrorCode) Retriable() bool { return c.Known() && errorTable[c-firstCode].retriable }

// ParseErrorCode finds the code by Kafka's name.
func ParseErrorCode(name string) (ErrorCode, bool) {
	for i := range errorTable {
		if errorTable[i].name == name {
			return firstCode + ErrorCode(i), true
		}
	}
	return 0, false
}
