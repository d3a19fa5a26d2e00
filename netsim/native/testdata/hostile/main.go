// Command hostile is a guest that tries to get out of the simulated operating system, one way a subcommand. It prints
// what it saw, one value a line.
package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// Made in assembly, so that nothing of the standard library stands between.
func raw(nr, a1, a2, a3, a4, a5, a6 uintptr) (r1 uintptr)
func int80(nr, a1 uintptr) (r1 uintptr)
func rdtsc() uint64
func rdtscp() (tsc, aux uint64)
func callC(fn, a1, a2 uintptr) (r1 uintptr)

var ways = map[string]func(args []string){
	"files": files, "clocks": clocks, "auxv": auxiliary, "ids": ids, "random": random, "sockets": sockets,
	"spawn": spawn, "unserved": unserved, "maps": maps, "kill": kill, "wrappers": wrappers, "limits": limits,
	"signals": signals, "int80": interrupt, "tgkill": tgkill, "rawexit": rawExit, "vsyscall": vsyscall,
	"compat": compat, "forge": forge, "sure": sure,
}

func main() {
	if len(os.Args) < 2 || ways[os.Args[1]] == nil {
		fmt.Println("usage: hostile WAY [ARGS]")
		os.Exit(3)
	}
	ways[os.Args[1]](os.Args[2:])
	fmt.Println("done")
}

// call is raw with its error.
func call(nr uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r := raw(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if e := -int64(r); e > 0 && e < 4096 {
		return 0, syscall.Errno(e)
	}
	return r, nil
}

func text(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s + "\x00"))) }

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func say(what string, values ...any) { fmt.Println(append([]any{what}, values...)...) }
