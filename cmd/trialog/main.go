// Command trialog is the broker, its everyday tools and the court that puts it on trial.
//
// Every sub-command lives in a file of its own and registers itself in init. Files of the court carry the build tag
// !guest: they are not linked into the program that runs inside the simulator.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes of every command.
const (
	exitOK      = 0 // done; valid or documented
	exitFailed  = 1 // it did not happen; invalid
	exitUnknown = 2 // nobody can say
	exitUsage   = 3 // a usage or harness error: the question was not answered
)

// commands makes the sub-commands; each file appends its own.
var commands []func() *cobra.Command

// exitError ends the program with a code of its own. Its err may be nil: then nothing is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitWith gives err an exit code. Errors without one are usage errors.
func exitWith(code int, err error) error { return &exitError{code, err} }

func main() { os.Exit(run(os.Args[1:])) }

// run is the program without its process: it prints an error as one line and returns the exit code.
func run(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	code := exitUsage
	var e *exitError
	if errors.As(err, &e) {
		code = e.code
		err = e.err
	}
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
			return exitWith(exitUsage, nil)
		},
	}
	for _, make := range commands {
		root.AddCommand(make())
	}
	return root
}
