package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
)

// handing has two goroutines that do nothing but hand each other the turn, while a third talks to somebody, and a fourth
// writes a file.
func handing(args []string) {
	var stop atomic.Bool
	there, back := make(chan int), make(chan int)
	go func() {
		for v := range there {
			back <- v + 1
		}
	}()
	go func() {
		v := 0
		for !stop.Load() {
			there <- v
			v = <-back
		}
		close(there)
	}()
	written := make(chan error)
	go func() {
		f, err := os.Create("/f")
		if err == nil {
			err = f.Sync()
		}
		written <- err
	}()
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	b := make([]byte, 5)
	_, err = io.ReadFull(c, b)
	fmt.Println(string(b), err, <-written)
	stop.Store(true)
}
