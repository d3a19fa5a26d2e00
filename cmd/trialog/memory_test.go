//go:build !guest

package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/broker"
)

// The broker's heap is held near what its requests may take; who sets GOMEMLIMIT, to anything, decides.
func TestMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	require.EqualValues(t, 1<<30, memoryLimitBytes(broker.RequestBytes))

	for _, given := range []string{"off", "3GiB"} {
		t.Setenv("GOMEMLIMIT", given)
		limitMemory(broker.RequestBytes)
		require.Equal(t, before, debug.SetMemoryLimit(-1), given)
	}
	t.Setenv("GOMEMLIMIT", "")
	limitMemory(broker.RequestBytes)
	require.EqualValues(t, 1<<30, debug.SetMemoryLimit(-1))
}
