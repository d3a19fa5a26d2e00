package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// reread writes 10,000 bytes in one call, and reads them again.
func reread([]string) error {
	f, err := os.Create("/f")
	if err != nil {
		return err
	}
	src := make([]byte, 10_000)
	for i := range src {
		src[i] = byte(i)
	}
	n, err := f.WriteAt(src, 0)
	fmt.Println("wrote", n, err)
	dst := make([]byte, len(src))
	n, err = f.ReadAt(dst, 0)
	fmt.Println("read", n, string(dst[:n]) == string(src[:n]), err)
	return nil
}

// through appends lines to /through, each of which is durable when its write returns.
func through([]string) error {
	f, err := os.OpenFile("/through", os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_SYNC, 0o644)
	if err != nil {
		return err
	}
	d, err := os.Open("/")
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if _, err := fmt.Fprintf(f, "%099d\n", i); err != nil {
			return err
		}
		fmt.Println("safe", i)
		time.Sleep(time.Millisecond)
	}
}

// null uses the device that keeps nothing.
func null([]string) error {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	n, err := f.Write(make([]byte, 100))
	fmt.Println("wrote", n, err)
	n, err = f.Read(make([]byte, 100))
	fmt.Println("read", n, err == io.EOF)
	st, err := os.Stat(os.DevNull)
	if err != nil {
		return err
	}
	fmt.Println("regular", st.Mode().IsRegular())
	return f.Close()
}
