// Command mill is a guest whose output depends on everything that a seed must decide: the order of goroutines, of maps and
// of select, random numbers, the clock, the garbage collector. Each subcommand grinds another part of the library.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
)

var wheels = map[string]func(args []string) error{
	"garbage": garbage, "timers": timers, "maps": tables, "channels": channels, "text": text, "secrets": secrets, "sums": sums,
	"files": files, "crowd": crowd, "serve": serve, "ask": ask, "zones": zones, "mixed": mixed, "echo": echo,
}

func main() {
	if len(os.Args) < 2 || wheels[os.Args[1]] == nil {
		fmt.Println("usage: mill WHEEL [ARGS]")
		os.Exit(3)
	}
	if err := wheels[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// flour is a digest of what a wheel made, in the order in which it made it.
type flour struct{ text []byte }

func (f *flour) add(values ...any) { f.text = fmt.Appendln(f.text, values...) }

func (f *flour) sum() string {
	sum := sha256.Sum256(f.text)
	return hex.EncodeToString(sum[:8])
}
