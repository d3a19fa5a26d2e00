//go:build guest

package main

// notifySignals does nothing: a guest has no signals, its stdin ends instead.
func notifySignals(chan<- string) {}
