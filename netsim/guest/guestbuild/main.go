// Command guestbuild compiles a Go program for the simulated operating system:
//
//	go run ./netsim/guest/guestbuild -o prog.wasm ./path/to/prog
//	go run ./netsim/guest/guestbuild -engine native -o prog.guest ./path/to/prog
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"trialog/netsim/guest"
)

func main() {
	var o guest.Options
	flag.StringVar((*string)(&o.Engine), "engine", string(guest.Wasm), "wasm, or native (linux/amd64)")
	flag.StringVar(&o.Out, "o", "", "the file to write")
	flag.StringVar(&o.Dir, "C", "", "directory to build in")
	flag.StringVar(&o.LDFlags, "ldflags", "", "further linker flags")
	tags := flag.String("tags", "", "further build tags, separated by commas")
	flag.Parse()
	if flag.NArg() != 1 || o.Out == "" || o.Engine != guest.Wasm && o.Engine != guest.Native {
		fmt.Fprintln(os.Stderr, "usage: guestbuild [-engine wasm|native] [-C dir] [-tags list] [-ldflags flags] -o file package")
		os.Exit(3)
	}
	o.Package = flag.Arg(0)
	if *tags != "" {
		o.Tags = strings.Split(*tags, ",")
	}
	if err := guest.Build(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
