package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// source is "trialog-source:" and the hash of the sources, set by the linker. The native program and its guest carry
// the same one; the court refuses a pair that does not.
var source = "trialog-source:unknown"

func init() { commands = append(commands, versionCommand) }

// sourceHash is the hash of the sources; "unknown" in a program that was not built by make.
func sourceHash() string { return strings.TrimPrefix(source, "trialog-source:") }

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "say which sources and which Go this program was built from",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := struct {
				Source string `json:"source"`
				Go     string `json:"go"`
				OS     string `json:"os"`
				Arch   string `json:"arch"`
			}{sourceHash(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "trialog, source %s, %s %s/%s\n", v.Source, v.Go, v.OS, v.Arch)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}
