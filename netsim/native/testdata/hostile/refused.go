package main

import (
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var cloneArgs = [11]uint64{4: uint64(unix.SIGCHLD)}

// spawn tries to have another thread or process.
func spawn([]string) {
	for _, c := range []struct {
		name string
		nr   uintptr
		args []uintptr
	}{
		{"clone thread", unix.SYS_CLONE, []uintptr{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}},
		{"clone", unix.SYS_CLONE, []uintptr{uintptr(unix.SIGCHLD)}},
		{"clone3", unix.SYS_CLONE3, []uintptr{uintptr(unsafe.Pointer(&cloneArgs)), unsafe.Sizeof(cloneArgs)}},
		{"fork", unix.SYS_FORK, nil},
		{"vfork", unix.SYS_VFORK, nil},
		{"execve", unix.SYS_EXECVE, []uintptr{text("/bin/true"), 0, 0}},
		{"execveat", unix.SYS_EXECVEAT, []uintptr{^uintptr(99), text("/bin/true"), 0, 0, 0}},
	} {
		r, err := call(c.nr, c.args...)
		say(c.name, r, err)
	}
	say("syscall.Exec", syscall.Exec("/bin/true", []string{"true"}, nil))
	cmd := exec.Command("/bin/true")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	say("os/exec", cmd.Run())
	_, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
	say("os.StartProcess", err)
	_, err = syscall.ForkExec("/bin/true", []string{"true"}, nil)
	say("syscall.ForkExec", err)
	n, err := os.ReadFile("/etc/hostname")
	say("and still", len(n) > 0, err)
}

// unserved makes calls that the simulated system does not have, each twice.
func unserved([]string) {
	buf := make([]byte, 256)
	for _, c := range []struct {
		name string
		nr   uintptr
		args []uintptr
	}{
		{"ptrace", unix.SYS_PTRACE, []uintptr{0}},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, []uintptr{1, address(buf), 1, address(buf), 1, 0}},
		{"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, []uintptr{1, address(buf), 1, address(buf), 1, 0}},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, []uintptr{8, address(buf)}},
		{"bpf", unix.SYS_BPF, []uintptr{0, address(buf), 64}},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, []uintptr{address(buf), 0, 0, 0, 0}},
		{"seccomp", unix.SYS_SECCOMP, []uintptr{1, 0, address(buf)}},
		{"userfaultfd", unix.SYS_USERFAULTFD, nil},
		{"memfd_create", unix.SYS_MEMFD_CREATE, []uintptr{address(buf), 0}},
		{"shmget", unix.SYS_SHMGET, []uintptr{0, 4096, 0o1600}},
		{"mount", unix.SYS_MOUNT, nil},
		{"unshare", unix.SYS_UNSHARE, []uintptr{unix.CLONE_NEWUTS}},
		{"sethostname", unix.SYS_SETHOSTNAME, []uintptr{address(buf), 4}},
		{"settimeofday", unix.SYS_SETTIMEOFDAY, []uintptr{address(buf), 0}},
		{"setpriority", unix.SYS_SETPRIORITY, []uintptr{0, 0, 19}},
		{"timer_create", unix.SYS_TIMER_CREATE, []uintptr{0, 0, address(buf)}},
		{"setitimer", unix.SYS_SETITIMER, []uintptr{0, address(buf), 0}},
		{"arch_prctl", unix.SYS_ARCH_PRCTL, []uintptr{0x1012, 0}},
		{"getcpu", unix.SYS_GETCPU, []uintptr{address(buf), 0, 0}},
		{"no such call", 4000, nil},
	} {
		_, err := call(c.nr, c.args...)
		_, again := call(c.nr, c.args...)
		say(c.name, err, err == again)
	}
}

// compat makes a call with the number of the x32 interface.
func compat([]string) {
	r, err := call(0x40000000 + unix.SYS_GETPID)
	say("x32", r, err)
}

// maps maps a file in three ways.
func maps([]string) {
	f, err := os.Open("/etc/hostname")
	if err != nil {
		say("open", err)
		return
	}
	_, err = unix.Mmap(int(f.Fd()), 0, 10, unix.PROT_READ, unix.MAP_SHARED)
	say("unix.Mmap", err)
	_, err = syscall.Mmap(int(f.Fd()), 0, 10, unix.PROT_READ, unix.MAP_PRIVATE)
	say("syscall.Mmap", err)
	_, err = call(unix.SYS_MMAP, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE, f.Fd(), 0)
	say("raw mmap", err)
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	say("anonymous", len(b), err)
	_, err = unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
	say("code", err)
	_, err = call(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE, 0, 0)
	say("raw code", err)
	say("mprotect", unix.Mprotect(b, unix.PROT_READ|unix.PROT_EXEC))
	_, err = call(unix.SYS_MPROTECT, address(b), uintptr(len(b)), unix.PROT_READ|unix.PROT_EXEC)
	say("raw mprotect", err)
	_, err = call(unix.SYS_MMAP, 0, 2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_HUGETLB, ^uintptr(0), 0)
	say("raw huge page", err)
	at, err := call(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE, ^uintptr(0), 0)
	say("raw anonymous", at>>44, err)
}

// kill sends signals to processes of the real machine, whose ids are the arguments, and to everybody.
func kill(args []string) {
	pids := []int{1, 0, -1}
	for _, a := range args {
		pid, _ := strconv.Atoi(a)
		pids = append(pids, pid, -pid)
	}
	for _, pid := range pids {
		if pid == 0 {
			continue // the process's own group: it would hit itself
		}
		_, err := call(unix.SYS_KILL, uintptr(pid), uintptr(unix.SIGKILL))
		say("kill", err)
		_, err = call(unix.SYS_TGKILL, uintptr(pid), uintptr(pid), uintptr(unix.SIGKILL))
		say("tgkill", err)
		_, err = call(unix.SYS_TKILL, uintptr(pid), uintptr(unix.SIGKILL))
		say("tkill", err)
		say("os", syscall.Kill(pid, syscall.SIGKILL))
		_, err = call(unix.SYS_PIDFD_OPEN, uintptr(pid), 0)
		say("pidfd", err)
		_, err = call(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(unix.SIGKILL), 0)
		say("sigqueue", err)
	}
}

func tgkill([]string) {
	call(unix.SYS_TGKILL, uintptr(os.Getpid()), uintptr(unix.Gettid()), uintptr(unix.SIGKILL))
	say("survived")
}

// wrappers calls what golang.org/x/sys has beside package syscall.
func wrappers([]string) {
	r, _ := unix.SyscallNoError(unix.SYS_GETPID, 0, 0, 0)
	say("SyscallNoError", r)
	r, _ = unix.RawSyscallNoError(unix.SYS_GETPID, 0, 0, 0)
	say("RawSyscallNoError", r)
	r, _, e := unix.Syscall(unix.SYS_GETPPID, 0, 0, 0)
	say("Syscall", r, e)
	r, _, e = unix.RawSyscall(unix.SYS_GETTID, 0, 0, 0)
	say("RawSyscall", r, e)
	r, _, e = unix.RawSyscall6(unix.SYS_GETUID, 0, 0, 0, 0, 0, 0)
	say("RawSyscall6", r, e)
	_, _, e = unix.Syscall6(unix.SYS_PTRACE, 0, 0, 0, 0, 0, 0)
	say("Syscall6", e)
	_, _, e = syscall.AllThreadsSyscall(syscall.SYS_GETPID, 0, 0, 0)
	say("AllThreadsSyscall", e)
	say("Setuid", syscall.Setuid(0))
	say("Setgroups", syscall.Setgroups(nil))
	say("Prctl", unix.Prctl(unix.PR_SET_TSC, unix.PR_TSC_ENABLE, 0, 0, 0), rdtsc() < uint64(time.Hour))
	ws, err := unix.Wait4(-1, nil, 0, nil)
	say("Wait4", ws, err)
	say("Chroot", unix.Chroot("/tmp"))
	_, err = unix.InotifyInit1(0)
	say("InotifyInit1", err)
	_, err = unix.EpollCreate1(0)
	say("EpollCreate1", err)
	_, err = unix.Eventfd(0, 0)
	say("Eventfd", err)
}

// limits asks for other limits and looks whether that changed anything.
func limits([]string) {
	var before, after unix.Rlimit
	say("getrlimit", unix.Getrlimit(unix.RLIMIT_NOFILE, &before), before.Cur, before.Max)
	low := unix.Rlimit{Cur: 1, Max: 1}
	say("setrlimit", unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	_, err := call(unix.SYS_SETRLIMIT, unix.RLIMIT_DATA, uintptr(unsafe.Pointer(&low)))
	say("raw setrlimit", err)
	_, err = call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_AS, uintptr(unsafe.Pointer(&low)), 0)
	say("raw prlimit", err)
	say("getrlimit", unix.Getrlimit(unix.RLIMIT_NOFILE, &after), after == before)
	_, err = os.Open("/etc/hostname")
	say("and still", len(make([]byte, 1<<20)), err)
}

// signals changes how signals are handled and looks whether system calls are still caught.
func signals([]string) {
	c := make(chan os.Signal, 8)
	pid := func() {
		r, err := call(unix.SYS_GETPID)
		say("pid", r, err, rdtsc() < uint64(time.Hour))
	}
	var mask [1]uint64
	call(unix.SYS_RT_SIGPROCMASK, unix.SIG_BLOCK, 0, uintptr(unsafe.Pointer(&mask)), 8)
	say("blocked", mask[0])
	say("ignored", signal.Ignored(syscall.SIGHUP), signal.Ignored(syscall.SIGINT))
	pid()
	signal.Notify(c)
	pid()
	signal.Ignore()
	pid()
	signal.Reset()
	pid()
}

// interrupt makes getpid of the 32-bit interface.
func interrupt([]string) { say("int80", int80(20, 0)) }

func rawExit(args []string) {
	code, _ := strconv.Atoi(args[0])
	call(unix.SYS_EXIT_GROUP, uintptr(code))
}
