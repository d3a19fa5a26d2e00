//go:build !guest

package main

import (
	"github.com/spf13/cobra"

	"trialog/cmd/trialog/benchcmd"
	"trialog/cmd/trialog/courtcmd"
	"trialog/cmd/trialog/topiccmd"
)

func init() {
	courtCommands = func() []*cobra.Command { return courtcmd.Commands(source) }
	commands = append(commands, topiccmd.Command, benchcmd.Command)
}
