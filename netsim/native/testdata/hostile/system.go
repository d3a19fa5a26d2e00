package main

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"hash/maphash"
	mathrand "math/rand/v2"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// files looks at the real machine through the disk.
func files([]string) {
	for _, name := range []string{"/etc/hostname", "/etc/passwd", "/etc/machine-id", "/proc/self/status", "/proc/1/cmdline",
		"/proc/cpuinfo", "/proc/sys/kernel/random/boot_id", "/sys/devices/system/cpu/online", "/dev/urandom"} {
		b, err := os.ReadFile(name)
		say(name, strings.TrimSpace(string(b)), err)
	}
	fd, err := call(unix.SYS_OPEN, text("/etc/hostname"), unix.O_RDONLY, 0)
	b := make([]byte, 100)
	n, _ := call(unix.SYS_READ, fd, address(b), uintptr(len(b)))
	say("raw hostname", strings.TrimSpace(string(b[:n])), err)
	_, err = call(unix.SYS_OPEN, text("/etc/passwd"), unix.O_RDONLY, 0)
	say("raw passwd", err)
	_, err = call(unix.SYS_OPENAT, ^uintptr(99), text("/proc/self/maps"), unix.O_RDONLY, 0)
	say("raw maps", err)
	for _, name := range []string{"/proc/self/oom_score_adj", "/proc/self/mem", "/proc/self/comm"} {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		say("write", name, f != nil, err)
	}
	list, err := os.ReadDir("/")
	for _, e := range list {
		say("root", e.Name())
	}
	host, _ := os.Hostname()
	exe, _ := os.Executable()
	wd, _ := os.Getwd()
	say("names", host, exe, wd, os.Args[0], os.Environ(), err)
}

// clocks reads time in every way there is. Each line has the reading in Unix nanoseconds, or in nanoseconds since some
// start.
func clocks([]string) {
	say("wall now", time.Now().UnixNano())
	var ts unix.Timespec
	call(unix.SYS_CLOCK_GETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&ts)))
	say("wall clock_gettime", ts.Nano())
	var tv unix.Timeval
	call(unix.SYS_GETTIMEOFDAY, uintptr(unsafe.Pointer(&tv)), 0)
	say("wall gettimeofday", tv.Nano())
	sec, _ := call(unix.SYS_TIME, 0)
	say("wall time", int64(sec)*1e9)
	_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts)
	say("wall unix.ClockGettime", ts.Nano())
	_ = unix.Gettimeofday(&tv)
	say("wall unix.Gettimeofday", tv.Nano())
	_ = syscall.Gettimeofday((*syscall.Timeval)(&tv))
	say("wall syscall.Gettimeofday", tv.Nano())
	if st, err := os.Stat("/etc/hostname"); err == nil {
		say("wall mtime", st.ModTime().UnixNano())
	}

	call(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&ts)))
	say("mono clock_gettime", ts.Nano())
	call(unix.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&ts)))
	say("mono boottime", ts.Nano())
	call(unix.SYS_CLOCK_GETTIME, unix.CLOCK_PROCESS_CPUTIME_ID, uintptr(unsafe.Pointer(&ts)))
	say("mono cputime", ts.Nano())
	say("mono rdtsc", rdtsc())
	tsc, aux := rdtscp()
	say("mono rdtscp", tsc)
	say("aux", aux)
	a := rdtsc()
	say("advances", rdtsc() > a)
}

//go:linkname getAuxv runtime.getAuxv
func getAuxv() []uintptr

// auxiliary looks for what the real kernel tells a program when it starts.
func auxiliary([]string) {
	const vdso, atRandom = 33, 25
	v := getAuxv()
	for i := 0; i+1 < len(v); i += 2 {
		switch v[i] {
		case atRandom:
			say("random", *(*[16]byte)(unsafe.Pointer(v[i+1])))
		case vdso:
			say("vdso")
			var ts unix.Timespec
			if fn := vdsoSymbol(v[i+1], "__vdso_clock_gettime"); fn != 0 {
				callC(fn, unix.CLOCK_REALTIME_COARSE, uintptr(unsafe.Pointer(&ts)))
				say("vdso time", ts.Nano())
			}
		default:
			say("at", v[i], v[i+1])
		}
	}
}

// vdsoSymbol finds a function in the image that the kernel maps.
func vdsoSymbol(base uintptr, name string) uintptr {
	at := func(off uintptr) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(base), off) }
	var dynamic uintptr
	phoff, phnum := *(*uint64)(at(32)), *(*uint16)(at(56))
	for i := range uintptr(phnum) {
		if ph := uintptr(phoff) + 56*i; *(*uint32)(at(ph)) == 2 {
			dynamic = uintptr(*(*uint64)(at(ph + 16)))
		}
	}
	var strtab, symtab uintptr
	for d := dynamic; ; d += 16 {
		tag, val := *(*uint64)(at(d)), uintptr(*(*uint64)(at(d + 8)))
		switch tag {
		case 0:
			for sym := symtab; sym < strtab; sym += 24 {
				n := []byte(name + "\x00")
				if at := at(strtab + uintptr(*(*uint32)(at(sym)))); bytes.Equal(unsafe.Slice((*byte)(at), len(n)), n) {
					return base + uintptr(*(*uint64)(unsafe.Add(unsafe.Pointer(base), sym+8)))
				}
			}
			return 0
		case 5:
			strtab = val
		case 6:
			symtab = val
		}
	}
}

// vsyscall calls time(2) where the oldest kernels had it.
func vsyscall([]string) { say("wall vsyscall", int64(callC(0xffffffffff600400, 0, 0))*1e9) }

// ids asks who the process is.
func ids([]string) {
	say("getpid", os.Getpid(), os.Getppid(), os.Getuid(), os.Getgid())
	for _, nr := range []uintptr{unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETPPID, unix.SYS_GETUID, unix.SYS_GETPGRP} {
		v, err := call(nr)
		say("raw id", v, err)
	}
	say("unix id", unix.Getpid(), unix.Gettid(), unix.Getppid())
	var u unix.Utsname
	_, err := call(unix.SYS_UNAME, uintptr(unsafe.Pointer(&u)))
	say("uname", unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Nodename[:]), unix.ByteSliceToString(u.Release[:]),
		unix.ByteSliceToString(u.Version[:]), err)
	var set unix.CPUSet
	_, err = call(unix.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	say("processors", set.Count(), err)
	_, err = call(unix.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	say("setaffinity", err)
}

// random draws from every source.
func random([]string) {
	b := make([]byte, 16)
	n, err := call(unix.SYS_GETRANDOM, address(b), uintptr(len(b)), 0)
	say("raw", b[:n], err)
	n2, err := unix.Getrandom(b, 0)
	say("unix", b[:n2], err)
	rand.Read(b)
	say("crypto", b)
	say("math", mathrand.Uint64())
	say("maphash", maphash.String(maphash.MakeSeed(), "x"))
	m, order := map[int]bool{}, []int{}
	for i := range 20 {
		m[i] = true
	}
	for k := range m {
		order = append(order, k)
	}
	say("map", order)
	say("select", picks())
	x := new([64]byte)
	say("address", uintptr(unsafe.Pointer(x)))
}

func picks() string {
	var out strings.Builder
	a, b := make(chan int, 64), make(chan int, 64)
	for range 32 {
		a <- 1
		b <- 1
	}
	for range 32 {
		select {
		case <-a:
			out.WriteByte('a')
		case <-b:
			out.WriteByte('b')
		}
	}
	return out.String()
}

// sockets makes connections by hand: to the simulated network, and to what the real machine may have.
func sockets(args []string) {
	addr := func(ip [4]byte, port uint16) []byte {
		b := make([]byte, 16)
		binary.LittleEndian.PutUint16(b, unix.AF_INET)
		binary.BigEndian.PutUint16(b[2:], port)
		copy(b[4:], ip[:])
		return b
	}
	for _, family := range []uintptr{unix.AF_UNIX, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET, unix.AF_VSOCK} {
		_, err := call(unix.SYS_SOCKET, family, unix.SOCK_STREAM, 0)
		say("family", family, err)
	}
	var port uint16
	for _, c := range args[0] {
		port = port*10 + uint16(c-'0')
	}
	fd, err := call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0)
	say("socket", err)
	b := addr([4]byte{127, 0, 0, 1}, port)
	_, err = call(unix.SYS_CONNECT, fd, address(b), 16)
	say("connect real", err)
	fd, _ = call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0)
	b = addr([4]byte{10, 0, 0, 2}, 7000)
	_, err = call(unix.SYS_CONNECT, fd, address(b), 16)
	say("connect simulated", err)
	hello := []byte("hello\n")
	_, err = call(unix.SYS_WRITE, fd, address(hello), uintptr(len(hello)))
	say("write", err)
	back := make([]byte, 10)
	n, err := call(unix.SYS_READ, fd, address(back), uintptr(len(back)))
	say("read", strings.TrimSpace(string(back[:n])), err)
}
