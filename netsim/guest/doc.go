// Package guest builds ordinary Go programs for the simulated operating system.
//
// A guest is the stock toolchain's wasip1 output with a generated overlay over a few functions of the standard
// library: net gets real sockets and name lookup from the simulator, and internal/poll lets a goroutine wait for a slow
// disk call while others run. The overlay is made from the installed Go's own files: each edit names a function, checks
// its signature and finds exactly one place to change, and refuses with the Go version, file and reason when a file
// has another shape than expected.
//
// It never touches the Go installation and never runs guests.
package guest
