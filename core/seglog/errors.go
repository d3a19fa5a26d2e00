package seglog

import "errors"

// Errors that callers tell apart (errors.Is). All others are failures of the environment.
var (
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("seglog: log is closed")
	// ErrFailed: an earlier write or fsync failed; the text has the first failure (S4).
	ErrFailed = errors.New("seglog: log has failed")
	// ErrTruncated: the log was truncated into bytes that a reader was promised.
	ErrTruncated = errors.New("seglog: truncated under a reader")
	// ErrCorrupt: bytes below the end offset are no batch.
	ErrCorrupt = errors.New("seglog: corrupt")
	// ErrTopicID: the directory belongs to another topic of the same name.
	ErrTopicID = errors.New("seglog: topic id does not match")
)
