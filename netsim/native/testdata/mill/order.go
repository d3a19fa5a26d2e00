package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// channels lets producers and consumers meet.
func channels([]string) error {
	var out flour
	lanes := [4]chan int{make(chan int), make(chan int, 1), make(chan int, 8), make(chan int)}
	var makers sync.WaitGroup
	for i := range 16 {
		makers.Go(func() {
			for j := range 40 {
				lanes[(i+j)%len(lanes)] <- 100*i + j
			}
		})
	}
	done := make(chan bool)
	go func() {
		makers.Wait()
		close(done)
	}()
	var picked strings.Builder
	for over := false; !over; {
		lane, v := 0, 0
		select {
		case v = <-lanes[0]:
		case v = <-lanes[1]:
			lane = 1
		case v = <-lanes[2]:
			lane = 2
		case v = <-lanes[3]:
			lane = 3
		case <-done:
			over = true
			continue
		}
		out.add(lane, v)
		if len(out.text) < 400 {
			fmt.Fprint(&picked, v, " ")
		}
	}
	fmt.Println("picked", picked.String())
	fmt.Println("order", out.sum())
	return nil
}

// crowd lets many goroutines fight for locks.
func crowd([]string) error {
	var out flour
	var mu sync.Mutex
	var rw sync.RWMutex
	var turn atomic.Int64
	cond := sync.NewCond(&mu)
	var all sync.WaitGroup
	for i := range 3000 {
		all.Go(func() {
			if i%3 == 0 {
				runtime.Gosched()
			}
			mu.Lock()
			for turn.Load()*50 < int64(i)-1500 {
				cond.Wait()
			}
			out.add("lock", i)
			mu.Unlock()
			if turn.Add(1); i%2 == 0 {
				rw.RLock()
				_ = fmt.Sprint(i)
				rw.RUnlock()
			} else {
				rw.Lock()
				out.add("write", i)
				rw.Unlock()
			}
			cond.Broadcast()
		})
	}
	all.Wait()
	lines := strings.SplitN(string(out.text), "\n", 20)
	fmt.Println("first", strings.ReplaceAll(strings.Join(lines[:19], " "), "lock ", ""))
	fmt.Println("order", out.sum())
	return nil
}

// timers lets many clocks go off.
func timers([]string) error {
	var out flour
	var mu sync.Mutex
	start := time.Now()
	note := func(what string, i int) {
		mu.Lock()
		out.add(what, i, time.Since(start))
		mu.Unlock()
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Add(1)
		t := time.AfterFunc(time.Duration(i*7919%500)*time.Millisecond, func() {
			note("fired", i)
			all.Done()
		})
		if i%5 == 0 {
			if t.Stop() {
				all.Done()
			}
		} else if i%7 == 0 {
			t.Reset(time.Duration(i) * time.Millisecond)
		}
	}
	for i := range 20 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*11*time.Millisecond)
			defer cancel()
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-tick.C:
					note("tick", i)
				case <-ctx.Done():
					note("over", n)
					return
				}
			}
		})
	}
	all.Wait()
	fmt.Println("took", time.Since(start), "order", out.sum())
	return nil
}
