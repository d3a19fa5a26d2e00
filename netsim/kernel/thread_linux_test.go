package kernel

import "syscall"

func threadID() int { return syscall.Gettid() }
