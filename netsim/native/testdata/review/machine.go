package main

import "fmt"

// Made in assembly: what looks at the machine, and what only looks like it.
func rdrand() uint64
func rdseed() uint64
func rdtscWide() uint64
func constants() uint64

// look is there to be found, not to be run.
func look([]string) { fmt.Println(rdrand(), rdseed(), rdtscWide(), constants()) }
