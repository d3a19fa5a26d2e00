//go:build !linux

package actor

import "syscall"

// dieWithCourt: here a broker stops when its stdin ends, and a client when it cannot write its history.
func dieWithCourt() *syscall.SysProcAttr { return nil }
