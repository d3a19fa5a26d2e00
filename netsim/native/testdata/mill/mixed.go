package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mixed ADDR sends numbers to an echo server and reads them back, each in another of the ways that there are, by the same
// connection: what one way has taken the next must not see.
func mixed(args []string) error {
	c, err := net.Dial("tcp", args[0])
	for ; err != nil; c, err = net.Dial("tcp", args[0]) {
		time.Sleep(time.Millisecond) // the server is not there yet
	}
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	go send(c, raw)
	used := map[int]int{}
	for i := uint64(0); i < 3000; {
		b := make([]byte, 8*(1+i%5))
		way := int(i*i+i/7) % 6
		n, err := receive(c, raw, way, b)
		if err != nil {
			return fmt.Errorf("way %d: %w", way, err)
		}
		used[way]++
		if rest := n % 8; rest != 0 { // a number that came in two pieces
			if _, err := io.ReadFull(c, b[n:n+8-rest]); err != nil {
				return err
			}
			n += 8 - rest
		}
		for at := 0; at < n; at, i = at+8, i+1 {
			if got := binary.LittleEndian.Uint64(b[at:]); got != i {
				return fmt.Errorf("got %d, expected %d, way %d", got, i, way)
			}
		}
	}
	fmt.Println("all came", used)
	return nil
}

// echo ADDR answers one connection.
func echo(args []string) error {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	_, err = io.Copy(c, c)
	return err
}

func send(c net.Conn, raw syscall.RawConn) {
	for i := uint64(0); i < 3000; {
		var list net.Buffers
		for range 1 + i%4 {
			if i < 3000 {
				list = append(list, binary.LittleEndian.AppendUint64(nil, i))
				i++
			}
		}
		one := []byte{}
		for _, b := range list {
			one = append(one, b...)
		}
		switch i % 4 {
		case 0:
			list.WriteTo(c)
		case 1:
			c.Write(one)
		default:
			for len(one) > 0 {
				raw.Write(func(fd uintptr) bool {
					n, err := unix.Write(int(fd), one)
					if i%4 == 3 && n < 0 {
						err = unix.Sendto(int(fd), one, 0, nil)
						n = len(one)
					}
					if err == nil {
						one = one[n:]
					}
					return err != unix.EAGAIN
				})
			}
		}
	}
}

// receive takes what is there, at least one byte.
func receive(c net.Conn, raw syscall.RawConn, way int, b []byte) (n int, err error) {
	if way == 0 {
		return c.Read(b)
	}
	e := raw.Read(func(fd uintptr) bool {
		switch way {
		case 1:
			n, err = unix.Read(int(fd), b)
		case 2:
			n, _, err = unix.Recvfrom(int(fd), b, 0)
		case 3:
			n, err = unix.Readv(int(fd), [][]byte{b[:len(b)/2], b[len(b)/2:]})
		case 4:
			r, _, e := syscall.Syscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
			if n, err = int(r), nil; e != 0 {
				n, err = 0, e
			}
		case 5:
			r, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
			if n, err = int(r), nil; e != 0 {
				n, err = 0, e
			}
		}
		return err != unix.EAGAIN
	})
	if e != nil {
		err = e
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	return n, err
}
