//go:build !linux

package kernel

func threadID() int { return 0 }
