//go:build !guest

package main

import (
	"os"
	"runtime/debug"
)

// besideRequestsBytes is what a broker may hold beside requests before its garbage collector works harder: logs' indices,
// producers, connections, answers.
const besideRequestsBytes = 512 << 20

// memoryLimitBytes is the soft limit of the memory of a broker whose requests may take so much.
func memoryLimitBytes(requestBytes int64) int64 { return requestBytes + besideRequestsBytes }

// limitMemory sets the soft limit, unless GOMEMLIMIT says what it should be. The collector would let the heap double
// before it runs: large frames that came in part and were given up are garbage that no budget counts, and the process
// would grow to twice the request budget and more. NB: the limit is soft. A broker that needs more gets it, and pays with
// up to half of its processor time for collections; then raise GOMEMLIMIT.
func limitMemory(requestBytes int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimitBytes(requestBytes))
	}
}
