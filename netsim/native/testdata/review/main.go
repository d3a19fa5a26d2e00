// Command review is a guest that does what programs rarely do, one way a subcommand. It prints what it saw.
package main

import (
	"fmt"
	"os"
)

var ways = map[string]func(args []string){
	"syncs": syncs, "greet": greet, "ready": ready, "reset": reset,
	"notify": notify, "wait": wait, "exists": exists, "memory": memory,
	"linux": linux, "refused": refused, "handing": handing, "look": look, "pipes": pipes, "input": input,
}

func main() {
	if len(os.Args) < 2 || ways[os.Args[1]] == nil {
		fmt.Println("usage: review WAY [ARGS]")
		os.Exit(3)
	}
	ways[os.Args[1]](os.Args[2:])
	fmt.Println("done")
}
