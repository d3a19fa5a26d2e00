// Command guestbuild compiles a Go program for the simulated operating system:
//
//	go run ./netsim/guest/guestbuild -o prog.wasm ./path/to/prog
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
	flag.StringVar(&o.Out, "o", "", "the .wasm file to write")
	flag.StringVar(&o.Dir, "C", "", "directory to build in")
	flag.StringVar(&o.LDFlags, "ldflags", "", "further linker flags")
	tags := flag.String("tags", "", "further build tags, separated by commas")
	flag.Parse()
	if flag.NArg() != 1 || o.Out == "" {
		fmt.Fprintln(os.Stderr, "usage: guestbuild [-C dir] [-tags list] [-ldflags flags] -o file.wasm package")
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
