package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// syncs makes many goroutines wait for the disk at the same time, while others are busy.
func syncs([]string) {
	var wg sync.WaitGroup
	for i := range 40 {
		f, err := os.Create(fmt.Sprint("/f", i))
		if err != nil {
			fmt.Println(err)
			return
		}
		wg.Go(func() {
			for range 100 {
				f.Write([]byte("x"))
				for range i { // where the goroutine is interrupted differs
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
