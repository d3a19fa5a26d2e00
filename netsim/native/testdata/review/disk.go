package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// syncs makes a number of goroutines wait for the disk at the same time, a number of times each.
func syncs(args []string) {
	var wg sync.WaitGroup
	goroutines, _ := strconv.Atoi(args[0])
	times, _ := strconv.Atoi(args[1])
	for i := range goroutines {
		f, err := os.Create(fmt.Sprint("/f", i))
		if err != nil {
			fmt.Println(err)
			return
		}
		wg.Go(func() {
			for range times {
				f.Write([]byte("x"))
				for range i % 40 { // where the goroutine is interrupted differs
					time.Now()
				}
				if err := f.Sync(); err != nil {
					fmt.Println(err)
				}
			}
		})
	}
	wg.Wait()
}
