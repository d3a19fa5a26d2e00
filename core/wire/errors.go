package wire

import (
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by every error that the bytes of a peer can cause.
// There is one answer to it: the connection is closed (Kafka does the same).
var ErrMalformed = errors.New("malformed request")

func malformed(format string, args ...any) error {
	return fmt.Errorf("wire: "+format+": %w", append(args, ErrMalformed)...)
}
