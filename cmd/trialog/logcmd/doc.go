// Package logcmd holds `trialog log`: what lies in a log directory, whether it is sound, and what a start would make of it.
// It works on the files of this broker and of a real Kafka, and changes none of them; it is not linked into the program that
// runs inside the simulator.
//
// dump prints what Kafka's DumpLogSegments prints, field by field, so that scripts made for that go on working; --json says
// the same for programs. check holds a directory to every invariant of its formats (package inspect). repair does on a copy
// what the next start would do (package rehearse) and tells what came of it.
package logcmd

import (
	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
)

// Command makes `trialog log`.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "log",
		Short: "look into log directories, of this broker or of Kafka: dump, check, repair",
		Long:  "Look into log directories, of this broker or of a real Kafka. Nothing is ever changed in them.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			c.Help()
			return cli.Exit(cli.Usage, nil)
		},
	}
	c.AddCommand(dumpCommand(), checkCommand(), repairCommand())
	return c
}
