//go:build !guest

package main

import (
	"github.com/spf13/cobra"

	"trialog/cmd/trialog/benchcmd"
	"trialog/cmd/trialog/cli"
	"trialog/cmd/trialog/courtcmd"
	"trialog/cmd/trialog/explorecmd"
	"trialog/cmd/trialog/logcmd"
	"trialog/cmd/trialog/topiccmd"
)

// commands makes the sub-commands; each file appends its own.
var commands = []func() *cobra.Command{brokerCommand, clientCommand, versionCommand, topiccmd.Command, benchcmd.Command, logcmd.Command, explorecmd.Command}

// execute does what the arguments say.
func execute(args []string) error {
	root := rootCommand()
	root.SetArgs(args)
	return root.Execute()
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
	root.AddCommand(courtcmd.Commands(source)...)
	return root
}

// command completes c with what it is everywhere.
func command(c *cobra.Command, e everywhere) *cobra.Command {
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error { return e.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) }
	e.flags(c.Flags())
	return c
}

func brokerCommand() *cobra.Command {
	return command(&cobra.Command{
		Use:   "broker",
		Short: "run a broker",
		Long: `Run a broker until it is told to stop (SIGTERM or SIGINT: it stops cleanly; a second one ends it at once).
It prints one line when it serves clients, and its log to stderr.

With --metrics it shows itself over HTTP: /metrics in Prometheus' format under the names that Kafka's metrics have there,
/healthz (200 while the process lives, also while it recovers) and /readyz (200 while clients are served, else 503).

Exit codes: 0 stopped cleanly; 1 could not start or stop; 3 usage, a bad setting.`,
		Example: `  trialog broker --override node.id=1 --override log.dirs=/var/lib/trialog
  trialog broker --config server.properties --metrics localhost:9404`,
	}, new(brokerOptions))
}

// clientCommand is one process of a workload. The court starts it, in every world.
func clientCommand() *cobra.Command {
	return command(&cobra.Command{
		Use:    "client",
		Short:  "run one process of a workload and write its history",
		Hidden: true,
		Long: `Run one process of a workload: seeded operations against a cluster. The history goes to the descriptor
named by TRIALOG_HISTORY_FD (stdout without it), one line with each write.

Exit codes: 0 it did all it should; 3 usage; 4 not drained: the final read-back or the history is not complete.`,
	}, new(clientOptions))
}

func versionCommand() *cobra.Command {
	return command(&cobra.Command{Use: "version", Short: "say which sources and which Go this program was built from"}, new(versionOptions))
}
