//go:build linux && amd64

package native

import "golang.org/x/sys/unix"

// allowed are the system calls that a guest may make of the real kernel: those by which Go's runtime manages the
// memory, the signals and the one thread of its own process. mmap is allowed for anonymous memory at an address of the
// guest's choice and of no kind that a host may have or not, mmap and mprotect for memory that cannot be executed, futex on anything: the only word that somebody
// else waits on is the page's.
var allowed = []uint32{
	unix.SYS_FUTEX, unix.SYS_MUNMAP, unix.SYS_MADVISE,
	unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_SIGALTSTACK,
	unix.SYS_SCHED_YIELD, unix.SYS_RESTART_SYSCALL,
}

// Offsets in struct seccomp_data.
const (
	dataNr, dataArch, dataArg0, dataArg2, dataArg3 = 0, 4, 16, 16 + 2*8, 16 + 3*8
)

// filter is the seccomp program of every guest: what is allowed goes through, everything else raises SIGSYS, whose
// handler in the guest makes the call on the page.
func filter() []uint64 {
	const (
		load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		jeq  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		jset = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		ret  = unix.BPF_RET | unix.BPF_K

		archX86 = 0xc000003e
	)
	var p []uint64
	add := func(code uint16, jt, jf uint8, k uint32) {
		p = append(p, uint64(code)|uint64(jt)<<16|uint64(jf)<<24|uint64(k)<<32)
	}
	add(load, 0, 0, dataArch)
	add(jeq, 1, 0, archX86)
	add(ret, 0, 0, unix.SECCOMP_RET_KILL_PROCESS) // 32-bit calls have other numbers
	add(load, 0, 0, dataNr)
	for _, nr := range allowed {
		add(jeq, 0, 1, nr)
		add(ret, 0, 0, unix.SECCOMP_RET_ALLOW)
	}
	add(jeq, 0, 10, unix.SYS_MMAP)
	add(load, 0, 0, dataArg0)
	add(jeq, 0, 2, 0)
	add(load, 0, 0, dataArg0+4)
	add(jeq, 9, 0, 0)
	add(load, 0, 0, dataArg3)
	add(jset, 0, 7, unix.MAP_ANONYMOUS)
	add(jset, 6, 0, unix.MAP_32BIT|unix.MAP_GROWSDOWN|unix.MAP_LOCKED|unix.MAP_HUGETLB)
	add(load, 0, 0, dataArg2)
	add(jset, 4, 0, unix.PROT_EXEC)
	add(ret, 0, 0, unix.SECCOMP_RET_ALLOW)
	add(jeq, 0, 2, unix.SYS_MPROTECT)
	add(load, 0, 0, dataArg2)
	add(jset, 0, 1, unix.PROT_EXEC)
	add(ret, 0, 0, unix.SECCOMP_RET_TRAP)
	add(ret, 0, 0, unix.SECCOMP_RET_ALLOW)
	return p
}
