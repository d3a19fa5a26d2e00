// Command trialog is the broker, its everyday tools and the court that puts it on trial.
//
// Every sub-command lives in a file of its own. Those that run inside the simulator too (broker, client, version) are
// options that add themselves to a set of flags, and know no command line: a guest has a plain one (main_guest.go),
// since thousands of them are started and each would set up cobra first. The other commands register themselves in init;
// those of the court are in package courtcmd.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"trialog/cmd/trialog/cli"
)

func main() { os.Exit(run(os.Args[1:])) }

// run is the program without its process: it prints an error as one line and returns the exit code.
func run(args []string) int {
	code, err := cli.CodeOf(execute(args))
	if err != nil {
		fmt.Fprintln(os.Stderr, "trialog: "+strings.TrimRight(err.Error(), "\n"))
	}
	return code
}

// everywhere is a command that guests have, too: what its flags set, and what it then does.
type everywhere interface {
	flags(*pflag.FlagSet)
	run(ctx context.Context, stdout, stderr io.Writer) error
}
