// Package courtcmd holds the commands of the court: they put the broker, or any program, on trial. None of them is linked
// into the program that runs inside the simulator.
package courtcmd

import "github.com/spf13/cobra"

// Commands makes all of them. source is [court.SourceMark] and the hash of the sources that this program was built from.
func Commands(source string) []*cobra.Command {
	f := courtFlags{source: source}
	return []*cobra.Command{
		listCommand(f), runCommand(f), replayCommand(f), swarmCommand(f), matrixCommand(f), trialCommand(f), checkCommand(), simCommand(),
		reportCommand(), serveCommand(), sweepCommand(), soakCommand(f),
	}
}
