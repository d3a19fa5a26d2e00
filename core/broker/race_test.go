//go:build race

package broker

// racing: pools forget at random under the race detector, so allocations say little.
const racing = true
