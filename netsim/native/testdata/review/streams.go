package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// pipes moves more through a pipe than it holds, lets each end go away before the other, and waits with deadlines.
func pipes([]string) {
	r, w, err := os.Pipe()
	fmt.Println("pipe", err)
	text := bytes.Repeat([]byte("0123456789"), 100_000)
	written := make(chan bool)
	go func() {
		n, err := w.Write(text)
		fmt.Println("written", n, err, w.Close())
		close(written)
	}()
	got, err := io.ReadAll(r)
	<-written
	fmt.Println("read", bytes.Equal(text, got), err, r.Close())

	r, w, _ = os.Pipe()
	gone := make(chan error)
	go func() {
		_, err := w.Write(text)
		gone <- err
	}()
	io.ReadFull(r, make([]byte, 10))
	time.Sleep(time.Millisecond)
	r.Close()
	err = <-gone
	fmt.Println("nobody reads", errors.Is(err, syscall.EPIPE))
	w.Close()

	r, w, _ = os.Pipe()
	fmt.Println("deadline", r.SetReadDeadline(time.Now().Add(time.Millisecond)))
	_, err = r.Read(text)
	fmt.Println("too late", errors.Is(err, os.ErrDeadlineExceeded))
	_, err = r.Read(text)
	fmt.Println("still", errors.Is(err, os.ErrDeadlineExceeded), r.SetReadDeadline(time.Time{}))
	go func() {
		time.Sleep(time.Millisecond)
		w.Write([]byte("late"))
	}()
	n, err := r.Read(text)
	fmt.Println("late", n, err)
	go func() {
		time.Sleep(time.Millisecond)
		r.Close()
	}()
	_, err = r.Read(text)
	fmt.Println("closed meanwhile", errors.Is(err, os.ErrClosed))
	_, err = w.Read(text)
	fmt.Println("wrong end", errors.Is(err, syscall.EBADF))
	w.Close()
}

// input reads standard input to its end, and tries again.
func input([]string) {
	fmt.Println("deadline", os.Stdin.SetReadDeadline(time.Now().Add(time.Millisecond)))
	_, err := os.Stdin.Read(make([]byte, 1))
	fmt.Println("too late", errors.Is(err, os.ErrDeadlineExceeded), os.Stdin.SetReadDeadline(time.Time{}))
	b, err := io.ReadAll(os.Stdin)
	fmt.Println("end", len(b), err)
	n, err := os.Stdin.Read(make([]byte, 1))
	fmt.Println("again", n, err)
	n, err = syscall.Read(0, make([]byte, 1))
	fmt.Println("by hand", n, err, os.Stdin.Close())
	f, err := os.Open("/etc/hostname")
	fmt.Println("next", f.Fd() > 2, err)
}
