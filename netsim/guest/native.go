package guest

// The overlay of the native engine. Each edit names the nondeterminism (or the way out of the simulation) that it
// removes. Files are those of Go 1.26; known.txt holds the hash of every declaration that is edited or relied upon, and
// a Go release with another hash is refused.

const (
	rtProc    = "runtime/proc.go"
	rtLinux   = "runtime/os_linux.go"
	rtEpoll   = "runtime/netpoll_epoll.go"
	rtStubs   = "runtime/stubs2.go"
	rtAsm     = "runtime/sys_linux_amd64.s"
	rtStart   = "runtime/asm_amd64.s"
	rtSignal  = "runtime/signal_unix.go"
	cpuX86    = "internal/cpu/cpu_x86.go"
	cpuAsm    = "internal/cpu/cpu_x86.s"
	sysLinux  = "syscall/syscall_linux.go"
	sysAsm    = "syscall/asm_linux_amd64.s"
	callLinux = "internal/runtime/syscall/linux/syscall_linux.go"
	callAsm   = "internal/runtime/syscall/linux/asm_linux_amd64.s"
)

var nativeEdits = []textEdit{
	// The page is there before anything else runs.
	{file: "runtime/runtime1.go", decl: "args", old: "sysargs(c, v)", with: "simInit(c, v)\n\tsysargs(c, v)"},

	// Addresses of the program's own are the same everywhere, so that what a crash prints is: not those that the real
	// kernel chose for the stack, for arguments and for mappings.
	{file: rtStart, old: "\tSUBQ\t$(5*8), SP\t\t// 3args 2auto\n", with: "\tLEAQ\truntime·simStack+(128<<10)(SB), SP\n\tSUBQ\t$(5*8), SP\t\t// 3args 2auto\n"},
	{file: "runtime/runtime1.go", decl: "goargs", old: "gostringnocopy(", with: "gostring("},
	{file: "runtime/cgo_mmap.go", decl: "mmap", old: "return sysMmap(addr, n,", with: "return sysMmap(simPlace(addr, n), n,"},

	// One thread, so that nothing runs in parallel: no monitor, no thread of its own for a locked goroutine, no template
	// thread, one P whatever is asked.
	{file: rtProc, decl: "haveSysmon", old: `GOARCH != "wasm"`, with: "false"},
	{file: rtProc, decl: "dolockOSThread", old: `GOARCH == "wasm"`, with: "true"},
	{file: rtProc, decl: "dounlockOSThread", old: `GOARCH == "wasm"`, with: "true"},
	{file: rtProc, decl: "startTemplateThread", old: `GOARCH == "wasm"`, with: "true"},
	{file: rtProc, decl: "newm", old: "acquirem()\n\n", with: "throw(\"netsim: the guest needs a second thread\")\n\tacquirem()\n\n"},
	{file: "runtime/debug.go", decl: "GOMAXPROCS", old: `GOARCH == "wasm" && n > 1`, with: "n > 1"},
	{file: rtLinux, decl: "getCPUCount", with: "return 1"},
	{file: "runtime/cgroup_linux.go", decl: "defaultGOMAXPROCSInit", with: "return"},

	// Goroutines are preempted by counts of what they did, never by a signal, and take turns in a seeded order. Without a
	// monitor the scheduler itself must look at the network now and then; before it waits there is no need to.
	{file: rtSignal, decl: "preemptMSupported", old: "true", with: "false"},
	{file: rtProc, decl: "runqget", old: "\tfor {\n", with: "\tsimOrder(pp)\n\tfor {\n"},
	{file: "runtime/mcache.go", decl: "*mcache.refill", old: "\ts := c.alloc[spc]\n", with: "\tsimRefill()\n\ts := c.alloc[spc]\n"},
	{file: rtProc, decl: "findRunnable", old: "\t// Wake up the finalizer G.\n", with: "\tif netpollinited() && simPollDue(pp) {\n" +
		"\t\tlist, delta := netpoll(0)\n\t\tinjectglist(&list)\n\t\tnetpollAdjustWaiters(delta)\n\t}\n\n\t// Wake up the finalizer G.\n"},
	{file: rtProc, decl: "findRunnable", old: "if netpollinited() && netpollAnyWaiters() && sched.lastpoll.Load()", with: "if false && sched.lastpoll.Load()"},
	{file: rtProc, decl: "findRunnable", old: "(netpollAnyWaiters() || pollUntil != 0)", with: "true"},

	// Waiting is the kernel's: to the nanosecond, and for the ends of parked calls too.
	{file: rtEpoll, decl: "netpoll", old: "\tvar waitms int32\n", with: "\tsimDelay = delay\n\tvar waitms int32\n"},
	{file: rtEpoll, decl: "netpoll", old: "\treturn toRun, delta\n", with: "\tsimDone(&toRun)\n\treturn toRun, delta\n"},
	{file: rtEpoll, decl: "netpollBreak", with: "return // nobody waits while this thread runs"},

	// No signals from outside and no profiling timer.
	{file: "runtime/sigqueue.go", decl: "signal_recv", old: "notetsleepg(&sig.note, -1)\n\t\t\t\t\tnoteclear(&sig.note)", with: "simSignalWait()"},
	{file: "runtime/cpuprof.go", decl: "SetCPUProfileRate", with: "return"},

	// Virtual clock. cputicks and time.now are replaced (see the deleted files), and there is no vDSO.
	{file: "runtime/time_nofake.go", decl: "nanotime", with: "return simNanotime()"},
	{file: "runtime/vdso_linux.go", decl: "vdsoauxv", with: "return"},
	{file: rtStart, old: "TEXT runtime·cputicks(SB)", with: "TEXT runtime·cputicksReal(SB)"},

	// Seeded entropy.
	{file: rtLinux, decl: "sysauxv", old: "startupRand = (*[16]byte)(unsafe.Pointer(val))[:]", with: "startupRand = simStartup()"},
	{file: "runtime/vgetrandom_linux.go", decl: "vgetrandom", old: "vgetrandomAlloc.stateSize == 0", with: "true"},

	// The machine does not show: size of huge pages, features of the processor (with them AES hashing). Its maker and
	// model are not asked for at all, which also saves exits to a hypervisor.
	{file: rtLinux, decl: "getHugePageSize", old: "var numbuf [20]byte", with: "if true {\n\t\treturn 2 << 20\n\t}\n\tvar numbuf [20]byte"},
	{file: "runtime/asm_amd64.s", old: "\tMOVL\t$0, AX\n\tCPUID\n\tCMPL\tAX, $0\n\tJE\tnocpuinfo\n\n\tCMPL\tBX, $0x756E6547", with: "\tJMP\tnocpuinfo\n\n\tCMPL\tBX, $0x756E6547"},
	{file: cpuAsm, old: "TEXT ·cpuid(SB)", with: "TEXT ·cpuidReal(SB)"},
	{file: cpuX86, old: "func cpuid(eaxArg, ecxArg uint32) (eax, ebx, ecx, edx uint32)\n", with: ""},

	// Every system call of the standard library and of golang.org/x/sys ends in simSyscall; the few that the runtime
	// makes in assembly are replaced where they leave the process.
	{file: callAsm, old: "TEXT ·Syscall6<ABIInternal>(SB)", with: "TEXT ·RawSyscall6<ABIInternal>(SB)"},
	{file: callLinux, old: "func Syscall6(num, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2, errno uintptr)\n", with: simSyscall6},
	{file: sysAsm, old: "TEXT ·rawSyscallNoError(SB)", with: "TEXT ·rawSyscallNoErrorReal(SB)"},
	{file: sysLinux, old: "func rawSyscallNoError(trap, a1, a2, a3 uintptr) (r1, r2 uintptr)\n", with: simNoError},
	{file: sysAsm, old: "TEXT ·rawVforkSyscall(SB)", with: "TEXT ·rawVforkSyscallReal(SB)"},
	{file: sysLinux, old: "func rawVforkSyscall(trap, a1, a2, a3 uintptr) (r1 uintptr, err Errno)\n", with: simVfork},
	{file: rtAsm, old: "TEXT runtime·exit(SB)", with: "TEXT runtime·exitReal(SB)"},
	{file: rtAsm, old: "TEXT runtime·write1(SB)", with: "TEXT runtime·write1Real(SB)"},
	{file: rtAsm, old: "TEXT runtime·gettid(SB)", with: "TEXT runtime·gettidReal(SB)"},
	{file: rtAsm, old: "TEXT runtime·raise(SB)", with: "TEXT runtime·raiseReal(SB)"},
	{file: rtAsm, old: "TEXT runtime·raiseproc(SB)", with: "TEXT runtime·raiseprocReal(SB)"},
	{file: rtLinux, old: "func gettid() uint32\n", with: ""},
	{file: rtLinux, old: "func raise(sig uint32)\nfunc raiseproc(sig uint32)\n", with: ""},
	{file: rtStubs, old: "func exit(code int32)\n", with: ""},
	{file: rtStubs, old: "//go:noescape\nfunc write1(fd uintptr, p unsafe.Pointer, n int32) int32\n", with: ""},
	{file: rtSignal, decl: "sigtrampgo", old: "\tif sigfwdgo(sig, info, ctx) {\n", with: "\tif simTrap(sig, info, ctx) {\n\t\treturn\n\t}\n\tif sigfwdgo(sig, info, ctx) {\n"},

	// Not for determinism: the table of CRC-32C is linear, so that most of it need not be computed in every process.
	{file: "hash/crc32/crc32_amd64.go", decl: "archInitCastagnoli", old: "\t\t\tcastagnoliSSE42TableK1[b][i] =", with: simLinear + "\t\t\tcastagnoliSSE42TableK1[b][i] ="},

	// Nor these: a guest is small and short-lived. Its memory is not profiled unless it asks for that, and what the runtime
	// prepares for heaps of gigabytes costs each process pages that it never fills.
	{file: rtProc, decl: "schedinit", old: "if disableMemoryProfiling {", with: "if true {"},
	{file: "runtime/mspanset.go", decl: "spanSetBlockEntries", old: "512", with: "64"},
	{file: "runtime/mspanset.go", decl: "spanSetInitSpineCap", old: "256", with: "16"},
	{file: "runtime/malloc.go", decl: "_StackCacheSize", old: "32 * 1024", with: "16 * 1024"},

	// A call that the disk answers later lets other goroutines run meanwhile.
	{file: pollUnix, decl: "*FD.Read", old: "syscall.Read,", with: "simRead,"},
	{file: pollUnix, decl: "*FD.Pread", old: "syscall.Pread(", with: "simPread("},
	{file: pollUnix, decl: "*FD.Write", old: "syscall.Write,", with: "simWrite,"},
	{file: pollUnix, decl: "*FD.Pwrite", old: "syscall.Pwrite(", with: "simPwrite("},
	{file: pollSync, decl: "*FD.Fsync", old: "syscall.Fsync(", with: "simFsync(syscall.Fsync)("},
}

const simSyscall6 = `//
//go:nosplit
//go:norace
func Syscall6(num, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2, errno uintptr) {
	return simSyscall(num, a1, a2, a3, a4, a5, a6)
}

// RawSyscall6 enters the real kernel.
func RawSyscall6(num, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2, errno uintptr)

//go:noescape
//go:linkname simSyscall runtime.simSyscall
func simSyscall(num, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2, errno uintptr)
`

const simLinear = `			if low := i & -i; low != i {
				castagnoliSSE42TableK1[b][i] = castagnoliSSE42TableK1[b][low] ^ castagnoliSSE42TableK1[b][i-low]
				castagnoliSSE42TableK2[b][i] = castagnoliSSE42TableK2[b][low] ^ castagnoliSSE42TableK2[b][i-low]
				continue
			}
`

const simNoError = `//go:nosplit
func rawSyscallNoError(trap, a1, a2, a3 uintptr) (r1, r2 uintptr) {
	r1, r2, _ = RawSyscall6(trap, a1, a2, a3, 0, 0, 0)
	return
}
`

// A guest that starts another program does so with its signals blocked, where no call could be caught.
const simVfork = `//go:nosplit
func rawVforkSyscall(trap, a1, a2, a3 uintptr) (r1 uintptr, err Errno) {
	r1, _, err = RawSyscall6(trap, a1, a2, a3, 0, 0, 0)
	return
}
`

// nativeDeleted are files of the standard library that the overlay hides: assembly clocks.
var nativeDeleted = []string{"runtime/timeasm.go", "runtime/time_linux_amd64.s", "runtime/cputicks.go"}

// nativeAdded are files that the overlay adds, with their embedded text. The page's text comes from its own package.
var nativeAdded = []struct{ file, text string }{
	{"runtime/netsim.go", "overlay/native/runtime.go.txt"},
	{"runtime/netsim_calls.go", "overlay/native/calls.go.txt"},
	{"runtime/netsim_waits.go", "overlay/native/waits.go.txt"},
	{"internal/cpu/netsim_x86.go", "overlay/native/cpu.go.txt"},
	{"internal/poll/netsim.go", "overlay/native/poll.go.txt"},
}

// relied are declarations that the overlay does not edit but whose meaning it counts on.
var relied = []textEdit{
	{file: rtProc, decl: "schedule"}, {file: rtProc, decl: "injectglist"}, {file: rtProc, decl: "ready"},
	{file: rtProc, decl: "runqput"}, {file: rtProc, decl: "runqputbatch"}, {file: rtProc, decl: "preemptone"},
	{file: rtProc, decl: "gopark"}, {file: rtProc, decl: "park_m"}, {file: rtSignal, decl: "blockableSig"},
	{file: "runtime/sigtab_linux_generic.go", decl: "sigtable"}, {file: rtProc, decl: "entersyscall"}, {file: rtProc, decl: "exitsyscall"}, {file: rtProc, decl: "wakep"},
	{file: "runtime/stack.go", decl: "newstack"}, {file: "runtime/alg.go", decl: "alginit"},
	{file: "runtime/rand.go", decl: "randinit"}, {file: rtLinux, decl: "sysargs"}, {file: rtLinux, decl: "osinit"},
	{file: rtEpoll, decl: "netpollinit"}, {file: rtEpoll, decl: "netpollopen"}, {file: rtEpoll, decl: "netpollclose"},
	{file: "runtime/netpoll.go", decl: "netpollready"}, {file: "runtime/netpoll.go", decl: "netpollGenericInit"},
	{file: sysLinux, decl: "RawSyscall6"}, {file: sysLinux, decl: "Syscall"}, {file: sysLinux, decl: "Syscall6"},
	{file: cpuX86, decl: "doinit"},
}
