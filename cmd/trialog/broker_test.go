package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The same signal twice at once, as `timeout` sends it, does not end a clean stop; a second one later does.
func TestAwaitStop(t *testing.T) {
	stopped, stop := make(chan error, 1), make(chan string, 1)
	stop <- "terminated"
	time.AfterFunc(20*time.Millisecond, func() { stopped <- nil })
	require.NoError(t, awaitStop(stopped, stop))
	stopped <- errors.New("disk")
	require.EqualError(t, awaitStop(stopped, stop), "disk")
	time.AfterFunc(sameSignal+20*time.Millisecond, func() { stop <- "interrupt" })
	require.EqualError(t, awaitStop(stopped, stop), "broker: ended by a second signal (interrupt) before it had stopped")
}
