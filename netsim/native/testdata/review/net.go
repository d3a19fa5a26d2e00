package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// greet accepts connections, says hello, and reads until the end.
func greet(args []string) {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		c, err := l.Accept()
		if err != nil {
			fmt.Println(err)
			return
		}
		go func() {
			c.Write([]byte("hello"))
			n, err := io.Copy(io.Discard, c)
			fmt.Println("read", n > 0, err)
			c.Close()
		}()
	}
}

// ready makes connections by hand, and gives them to the poller when they have long been there, or refused.
func ready(args []string) {
	for _, way := range []string{"write", "read", "refused"} {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
		fmt.Println("socket", err)
		to := &syscall.SockaddrInet4{Port: 7000, Addr: [4]byte(net.ParseIP(args[0]).To4())}
		if way == "refused" {
			to.Port++
		}
		fmt.Println("connect", syscall.Connect(fd, to))
		time.Sleep(100 * time.Millisecond)
		f := os.NewFile(uintptr(fd), way)
		c, err := f.SyscallConn()
		fmt.Println("file", err)
		do := c.Write
		if way == "read" {
			do = c.Read
		}
		asked := 0
		fmt.Println(way, do(func(uintptr) bool { asked++; return asked > 1 }))
		n, err := f.Read(make([]byte, 5))
		fmt.Println("read", n, err)
		fmt.Println("close", f.Close())
	}
}

// reset writes to a connection until after somebody has broken it, and only then looks at it.
func reset(args []string) {
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	b := make([]byte, 5)
	io.ReadFull(c, b)
	for until := time.Now().Add(time.Second); time.Now().Before(until) && err == nil; {
		_, err = c.Write([]byte("x"))
		for range 1000 {
			time.Now()
		}
	}
	fmt.Println("write", err)
	_, err = c.Read(b)
	fmt.Println("read", err)
	_, err = c.Write(b)
	fmt.Println("write", err)
}
