// Command ends is a guest that comes to an end, one way a subcommand.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

var ways = map[string]func(){
	"nil": func() {
		var p *struct{ a [100]int }
		fmt.Println(p.a[len(os.Args)])
	},
	"index":     func() { fmt.Println([]int{1}[len(os.Args)]) },
	"divide":    func() { fmt.Println(1 / (len(os.Args) - 2)) },
	"error":     func() { panic(errors.New("as told")) },
	"argument":  func() { told(os.Args[1]) },
	"goroutine": func() { go panic("in a goroutine"); select {} },
	"goexit":    runtime.Goexit,
	"fatal":     func() { log.SetFlags(0); log.Fatal("as told") },
	"unlock":    func() { var mu sync.Mutex; mu.Unlock() },
	"maps":      mapWrites,
	"memory":    memory,
	"stack":     func() { debug.SetMaxStack(1 << 20); fmt.Println(deep(0)) },
	"huge":      func() { held = append(held, make([]byte, 2<<30)) },
	"deadlock":  func() { <-make(chan int) },
	"polling":   func() { time.Sleep(time.Millisecond); <-make(chan int) },
	"tick":      tick,
}

func main() {
	if way := ways[os.Args[1]]; way != nil {
		way()
		fmt.Println("survived")
		return
	}
	code, _ := strconv.Atoi(os.Args[1])
	os.Exit(code)
}

// told shows in a trace where its argument is.
//
//go:noinline
func told(what string) { panic(what) }

// mapWrites lets goroutines write to one map until the runtime finds them out.
func mapWrites() {
	m := map[string][]byte{}
	for i := range 8 {
		go func() {
			for j := 0; ; j++ {
				m[fmt.Sprint(i, j)] = make([]byte, 100)
			}
		}()
	}
	time.Sleep(time.Second)
}

var held [][]byte

// memory keeps what it gets.
func memory() {
	for i := 0; ; i++ {
		b := make([]byte, 1<<20)
		held = append(held, b)
		if i%64 == 0 {
			fmt.Println("MiB", i)
		}
	}
}

func deep(n int) int { return deep(n+1) + deep(n+2) }

// tick prints a line every millisecond.
func tick() {
	for i := range 1000 {
		fmt.Println("tick", i)
		time.Sleep(time.Millisecond)
	}
}
