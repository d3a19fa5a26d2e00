// Command busy is a guest with a goroutine that never waits. The subcommand says what it does instead.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	stop  atomic.Bool
	turns atomic.Int64
	sink  any
	c     = make(chan int, 1)
)

var loops = map[string]func(){
	"small":  func() { sink = new([4]int) },
	"large":  func() { sink = make([]byte, 40<<10) },
	"string": func() { sink = strings.Repeat("x", int(turns.Load()%1000)) },
	"append": func() { sink = append([]int{}, 1, 2, 3) },
	"map":    func() { sink = map[int]int{int(turns.Load()): 1} },
	"clock":  func() { sink = time.Now().Nanosecond() & 1 },
	"getpid": func() { syscall.Getpid() },
	"stat":   func() { os.Stat("/etc/hostname") },
	"raw":    func() { syscall.RawSyscall(syscall.SYS_GETUID, 0, 0, 0) },
	"yield":  runtime.Gosched,
	"tight":  func() {},
	"chan":   func() { c <- 1; <-c },
}

// busy runs one loop until it is told to stop, and counts.
func busy(f func()) {
	for !stop.Load() {
		f()
		turns.Add(1)
	}
}

func main() {
	go busy(loops[os.Args[1]])
	for i := range 10 {
		fmt.Println("turn", i, turns.Load())
		runtime.Gosched()
	}
	time.Sleep(200 * time.Microsecond)
	fmt.Println("slept", turns.Load())
	stop.Store(true)
}
