package actor

import "syscall"

// dieWithCourt lets the system kill a process whose court is gone, however it went.
//
// NB: the system takes the end of the thread that started the process for the end of the court. Go ends a thread only
// with a goroutine that is locked to it, so nothing here may lock one.
func dieWithCourt() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
