// Command trialog is the broker, its everyday tools and the court that puts it on trial.
//
// Every sub-command lives in a file of its own and registers itself in init. Those of the court are in package courtcmd,
// which is not linked into the program that runs inside the simulator.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
)

// commands makes the sub-commands; each file appends its own.
var commands []func() *cobra.Command

// courtCommands makes those of the court; nil in a guest.
var courtCommands func() []*cobra.Command

func main() { os.Exit(run(os.Args[1:])) }

// run is the program without its process: it prints an error as one line and returns the exit code.
func run(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	code, err := cli.CodeOf(root.Execute())
	if err != nil {
		fmt.Fprintln(os.Stderr, "trialog: "+strings.TrimRight(err.Error(), "\n"))
	}
	return code
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "trialog",
		Short: "a Kafka-protocol log broker, and the court that puts it on trial",
		Long: `Trialog is a Kafka-protocol log broker and the court that puts it on trial.

Exit codes: 0 done, valid or documented; 1 failed or invalid; 2 unknown; 3 usage or harness error.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			c.Help()
			return cli.Exit(cli.Usage, nil)
		},
	}
	for _, make := range commands {
		root.AddCommand(make())
	}
	if courtCommands != nil {
		root.AddCommand(courtCommands()...)
	}
	return root
}
