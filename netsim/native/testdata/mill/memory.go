package main

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"unsafe"
	"weak"
)

type tree struct {
	left, right *tree
	load        [6]int
}

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{left: grow(depth - 1), right: grow(depth - 1)}
}

func (t *tree) count() int {
	if t == nil {
		return 0
	}
	return 1 + t.left.count() + t.right.count()
}

// garbage makes the collector work, and shows what it did and when.
func garbage([]string) error {
	var out flour
	var mu sync.Mutex
	gone := func(i int) {
		mu.Lock()
		out.add("cleanup", i)
		mu.Unlock()
	}
	pool := sync.Pool{New: func() any { return new([1024]byte) }}
	var keep []*tree
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 12 {
				t := grow(8 + j%3)
				runtime.AddCleanup(t, gone, 100*i+j)
				if w := weak.Make(t); j%4 == 0 {
					mu.Lock()
					keep = append(keep, t)
					out.add("kept", i, j, w.Value().count())
					mu.Unlock()
				}
				b := pool.Get().(*[1024]byte)
				out.add(uintptr(unsafe.Pointer(b)))
				pool.Put(b)
			}
		})
	}
	all.Wait()
	debug.SetGCPercent(30)
	for range 20 {
		keep[0] = grow(10)
	}
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("collections", m.NumGC, "heap", m.HeapAlloc, m.HeapObjects, m.HeapReleased, "paused", m.PauseTotalNs, "next", m.NextGC)
	fmt.Println("goroutines", runtime.NumGoroutine(), "deep", deep(5000), "order", out.sum())
	stack := make([]byte, 1<<16)
	fmt.Println(string(stack[:runtime.Stack(stack, true)]))
	return nil
}

// deep makes a stack grow, and so move.
func deep(n int) int {
	var pad [64]byte
	if n == 0 {
		return len(pad)
	}
	return deep(n-1) + int(pad[n%64])
}

// tables walks maps of many kinds while they change.
func tables([]string) error {
	var out flour
	words, numbers, pointers, anything := map[string]int{}, map[float64]int{}, map[*int]int{}, map[any]int{}
	for i := range 3000 {
		words[fmt.Sprint("word ", i)] = i
		numbers[float64(i)/3] = i
		numbers[math.NaN()] = i
		p := new(int)
		pointers[p] = i
		anything[i], anything[fmt.Sprint(i)], anything[p], anything[[2]int{i, i}] = i, i, i, i
	}
	for k, v := range words {
		if out.add(k, v); v%3 == 0 {
			delete(words, k)
			words["new "+k] = v
		}
	}
	for k, v := range numbers {
		out.add(k, v)
	}
	for p, v := range pointers {
		out.add(uintptr(unsafe.Pointer(p)), v)
	}
	for k, v := range anything {
		out.add(fmt.Sprintf("%T", k), v)
	}
	var shared sync.Map
	for i := range 500 {
		shared.Store(i, strings.Repeat("x", i%7))
	}
	shared.Range(func(k, v any) bool {
		out.add(k, v)
		return true
	})
	fmt.Println("first", first(words), first(words), first(words), "sorted", len(slices.Sorted(maps.Keys(words))), "order", out.sum())
	return nil
}

func first(m map[string]int) string {
	for k := range m {
		return k
	}
	return ""
}
