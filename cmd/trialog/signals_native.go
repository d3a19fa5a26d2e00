//go:build !guest

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifySignals sends the name of each SIGTERM and SIGINT.
func notifySignals(to chan<- string) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		for s := range signals {
			to <- s.String()
		}
	}()
}
