// Command probe is a guest that observes the simulated operating system from inside, one experiment a subcommand. It
// is an ordinary program: it knows nothing of the simulator, and runs natively just as well.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var probes = map[string]func(args []string) error{
	"clock": clock, "tick": tickThroughFsync, "group": groupCommit, "echo": echo, "ping": ping, "dial": dial,
	"flood": flood, "sink": sink, "lookup": lookup, "append": appendLines, "show": show, "fill": fill, "spin": spin,
	"sweep": sweep, "half": half, "say": say, "panic": goPanic, "hog": hog, "library": library,
	"reread": reread, "through": through, "null": null,
}

func main() {
	if len(os.Args) < 2 || probes[os.Args[1]] == nil {
		fmt.Println("usage: probe NAME [ARGS]")
		os.Exit(3)
	}
	if err := probes[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// clock prints the wall clock and the time since the start, five times a second apart.
func clock([]string) error {
	start := time.Now()
	for range 5 {
		now := time.Now()
		fmt.Printf("wall %d mono %d\n", now.UnixMilli(), now.Sub(start).Milliseconds())
		time.Sleep(time.Second)
	}
	return nil
}

// tickThroughFsync counts the ticks of a 10 ms ticker while one fsync lasts.
func tickThroughFsync([]string) error {
	f, err := os.Create("/slow")
	if err != nil {
		return err
	}
	if _, err := f.Write(make([]byte, 100)); err != nil {
		return err
	}
	var ticks atomic.Int64
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			ticks.Add(1)
		}
	}()
	start := time.Now()
	if err := f.Sync(); err != nil {
		return err
	}
	fmt.Printf("fsync took %d ms, ticks %d\n", time.Since(start).Milliseconds(), ticks.Load())
	return nil
}

// groupCommit lets 64 writers append and wait for durability, sharing fsyncs.
func groupCommit([]string) error {
	f, err := os.Create("/group")
	if err != nil {
		return err
	}
	var mu sync.Mutex
	done := sync.NewCond(&mu)
	written, synced, syncs, syncing := 0, 0, 0, false
	wait := func(n int) error {
		mu.Lock()
		defer mu.Unlock()
		for synced < n {
			if syncing {
				done.Wait()
				continue
			}
			syncing = true
			upTo := written
			mu.Unlock()
			err := f.Sync()
			mu.Lock()
			syncing, synced, syncs = false, upTo, syncs+1
			done.Broadcast()
			if err != nil {
				return err
			}
		}
		return nil
	}
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			mu.Lock()
			fmt.Fprintf(f, "line %d\n", i)
			written++
			n := written
			mu.Unlock()
			if err := wait(n); err != nil {
				fmt.Println("error:", err)
			}
		})
	}
	all.Wait()
	fmt.Printf("appends 64, fsyncs %d\n", syncs)
	return nil
}

// echo ADDR answers every byte.
func echo(args []string) error {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			_, err := io.Copy(c, c)
			fmt.Println("peer", c.RemoteAddr(), "ended:", err)
			c.Close()
		}()
	}
}

// ping ADDR COUNT TIMEOUT sends numbered lines, one every 100 ms, and reports each answer or failure.
func ping(args []string) error {
	count, _ := strconv.Atoi(args[1])
	timeout, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	var c net.Conn
	start := time.Now()
	at := func() int64 { return time.Since(start).Milliseconds() }
	buf := make([]byte, 6)
	for i := range count {
		time.Sleep(100 * time.Millisecond)
		if c == nil {
			if c, err = net.DialTimeout("tcp", args[0], timeout); err != nil {
				c = nil
				fmt.Printf("%d at %d dial: %v\n", i, at(), err)
				continue
			}
		}
		c.SetDeadline(time.Now().Add(timeout))
		_, err := fmt.Fprintf(c, "%05d\n", i)
		if err == nil {
			_, err = io.ReadFull(c, buf)
		}
		if err != nil {
			fmt.Printf("%d at %d lost: %v\n", i, at(), err)
			c.Close()
			c = nil
			continue
		}
		fmt.Printf("%d at %d ok %s", i, at(), buf)
	}
	return nil
}

// dial ADDR TIMEOUT reports how one dial ends.
func dial(args []string) error {
	timeout, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	start := time.Now()
	c, err := net.DialTimeout("tcp", args[0], timeout)
	took := time.Since(start).Milliseconds()
	if err != nil {
		fmt.Printf("failed after %d ms: %v\n", took, err)
		return nil
	}
	fmt.Printf("connected after %d ms\n", took)
	return c.Close()
}

// sink ADDR accepts and reads nothing for 5 s, then everything.
func sink(args []string) error {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	n, err := io.Copy(io.Discard, c)
	fmt.Println("read", n, err)
	return nil
}

// flood ADDR writes 8 MiB and reports how far it got each second.
func flood(args []string) error {
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	var sent atomic.Int64
	go func() {
		for range time.Tick(time.Second) {
			fmt.Println("sent", sent.Load())
		}
	}()
	buf := make([]byte, 4096)
	for sent.Load() < 8<<20 {
		n, err := c.Write(buf)
		sent.Add(int64(n))
		if err != nil {
			return err
		}
	}
	fmt.Println("done", sent.Load())
	return c.Close()
}

// lookup NAME... resolves names.
func lookup(args []string) error {
	for _, name := range args {
		ips, err := net.LookupHost(name)
		fmt.Println(name, ips, err)
	}
	return nil
}

// appendLines DIR HOW writes numbered lines of 100 bytes to DIR/log, one every 10 ms; HOW is any of the letters f
// (fsync the file after each line) and d (fsync the directory once after creating the file). It says what is safe.
func appendLines(args []string) error {
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(args[0], "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if strings.Contains(args[1], "d") {
		for _, dir := range []string{args[0], filepath.Dir(args[0])} {
			d, err := os.Open(dir)
			if err != nil {
				return err
			}
			if err := d.Sync(); err != nil {
				return err
			}
			d.Close()
		}
	}
	for i := 0; ; i++ {
		if _, err := fmt.Fprintf(f, "%099d\n", i); err != nil {
			return err
		}
		if strings.Contains(args[1], "f") {
			if err := f.Sync(); err != nil {
				return err
			}
		}
		fmt.Println("safe", i)
		time.Sleep(10 * time.Millisecond)
	}
}

// show DIR prints the files of a directory, their sizes and, for each, its complete lines and the rest.
func show(args []string) error {
	list, err := os.ReadDir(args[0])
	if err != nil {
		return err
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(args[0], e.Name()))
		if err != nil {
			return err
		}
		good := 0
		for len(b) >= (good+1)*100 && string(b[good*100:(good+1)*100]) == fmt.Sprintf("%099d\n", good) {
			good++
		}
		fmt.Printf("%s size %d lines %d rest %d\n", e.Name(), len(b), good, len(b)-good*100)
	}
	return nil
}

// fill writes to /full until that fails.
func fill([]string) error {
	f, err := os.Create("/full")
	if err != nil {
		return err
	}
	total := 0
	for {
		n, err := f.Write(make([]byte, 64<<10))
		total += n
		if err != nil {
			fmt.Println("stopped at", total, err)
			return nil
		}
	}
}

// sweep lists a directory in small batches and removes what it meets.
func sweep([]string) error {
	if err := os.Mkdir("/sweep", 0o755); err != nil {
		return err
	}
	const made = 2000
	for i := range made {
		if err := os.WriteFile(fmt.Sprintf("/sweep/a-rather-long-name-%05d", i), nil, 0o644); err != nil {
			return err
		}
	}
	d, err := os.Open("/sweep")
	if err != nil {
		return err
	}
	met := 0
	for {
		names, err := d.Readdirnames(50)
		for _, name := range names {
			met++
			if err := os.Remove(filepath.Join("/sweep", name)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	left, err := os.ReadDir("/sweep")
	fmt.Printf("made %d, met %d, left %d\n", made, met, len(left))
	return err
}

// half writes a line without its end, and sleeps.
func half([]string) error {
	fmt.Print("begun")
	time.Sleep(time.Hour)
	return nil
}

// say prints arguments and environment.
func say(args []string) error {
	fmt.Printf("args %q env %q\n", args, os.Environ())
	return nil
}

// goPanic ends as Go programs do that have a bug.
func goPanic([]string) error { panic("as told") }

// hog takes memory until there is none.
func hog([]string) error {
	held := map[int][]byte{}
	for {
		held[len(held)] = make([]byte, 64<<20)
	}
}

// library calls what programs on Linux rely on, and prints one line a call.
func library([]string) error {
	name, err := os.Hostname()
	fmt.Println("hostname", name, err)
	dir, err := os.MkdirTemp("", "x-*")
	fmt.Println("mkdirtemp", strings.HasPrefix(dir, "/tmp/x-"), err)
	file, when := filepath.Join(dir, "f"), time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	fmt.Println("write", os.WriteFile(file, []byte("text"), 0o600))
	fmt.Println("chtimes", os.Chtimes(file, when, when))
	if st, err := os.Stat(file); err == nil {
		fmt.Println("mtime", st.ModTime().UTC().Format(time.DateTime), "size", st.Size())
	}
	fmt.Println("link", os.Link(file, file+"2"))
	fmt.Println("symlink", os.Symlink(file, file+"2"))
	fmt.Println("removeall", os.RemoveAll(dir))
	_, err = net.ListenPacket("udp", ":0")
	fmt.Println("udp", err)
	l, err := net.Listen("tcp", ":7000")
	if err != nil {
		return err
	}
	from := net.Dialer{LocalAddr: &net.TCPAddr{Port: 5000}}
	_, err = from.Dial("tcp", l.Addr().String())
	fmt.Println("dial from", err)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	t := c.(*net.TCPConn)
	fmt.Println("options", t.SetNoDelay(true), t.SetKeepAlive(true), t.SetKeepAlivePeriod(time.Second), t.SetReadBuffer(1<<16), t.SetWriteBuffer(1<<16))
	fmt.Println("linger", t.SetLinger(0) != nil)
	c.SetDeadline(time.Now().Add(-time.Second))
	_, err = c.Read(make([]byte, 1))
	fmt.Println("past", os.IsTimeout(err))
	return nil
}

// spin prints a line every 100 ms for ten seconds, to show pauses and kills.
func spin([]string) error {
	start := time.Now()
	for i := range 100 {
		fmt.Println("alive", i, time.Since(start).Milliseconds())
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}
