package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notify asks for a signal, as every server does, and makes a system call that nothing of the standard library knows of.
func notify([]string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	time.Sleep(time.Millisecond)
	pid, _ := unix.SyscallNoError(unix.SYS_GETPID, 0, 0, 0)
	fmt.Println("pid", pid)
}

// wait sleeps for a while, many times.
func wait([]string) {
	for range 200 {
		time.Sleep(time.Millisecond)
	}
}

// exists asks whether there are processes.
func exists(args []string) {
	for _, a := range args {
		pid, _ := strconv.Atoi(a)
		fmt.Println(pid, syscall.Kill(pid, 0))
	}
}

// memory asks the kernel for memory wherever that likes, and to move it.
func memory([]string) {
	b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	fmt.Println("unix.Mmap", unsafe.Pointer(unsafe.SliceData(b)), err)
	p, err := unix.MmapPtr(-1, 0, nil, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	fmt.Println("unix.MmapPtr", p, err)
	place := uintptr(0x5100 << 32)
	for _, flags := range []int{unix.MAP_HUGETLB, unix.MAP_32BIT, unix.MAP_LOCKED, unix.MAP_GROWSDOWN} {
		m, err := unix.Mmap(-1, 0, 2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|flags)
		fmt.Println("unix.Mmap", unsafe.Pointer(unsafe.SliceData(m)), err)
		q, err := unix.MmapPtr(-1, 0, *(*unsafe.Pointer)(unsafe.Pointer(&place)), 2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|flags)
		fmt.Println("unix.MmapPtr", q, err)
		if err == nil {
			unix.MunmapPtr(q, 2<<20)
		}
	}
	b[0] = 1
	for _, advice := range []int{unix.MADV_HUGEPAGE, unix.MADV_COLLAPSE, unix.MADV_SEQUENTIAL, unix.MADV_FREE} {
		fmt.Println("unix.Madvise", unix.Madvise(b, advice), b[0])
	}
	b, err = unix.Mremap(b, 2<<20, unix.MREMAP_MAYMOVE)
	fmt.Println("unix.Mremap", len(b), err)
	_, _, e := unix.RawSyscall(unix.SYS_MINCORE, uintptr(p), 4096, uintptr(p))
	fmt.Println("mincore", e)
}

// refused asks for what would be wrong if it were ignored.
func refused([]string) {
	_, err := os.OpenFile("/f", os.O_CREATE|os.O_WRONLY|os.O_SYNC, 0o644)
	fmt.Println("sync", err)
	fd, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	_, _, err = unix.Recvfrom(fd, make([]byte, 1), unix.MSG_PEEK)
	fmt.Println("peek", err)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	fmt.Println("dup", err)
	fmt.Println("linger", unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
}
