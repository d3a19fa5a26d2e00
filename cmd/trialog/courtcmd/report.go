package courtcmd

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"trialog/checker/court"
	"trialog/cmd/trialog/cli"
)

func reportCommand() *cobra.Command {
	var json bool
	c := &cobra.Command{
		Use:   "report RUN_DIR...",
		Short: "make the report of a stored run anew: one HTML file in its directory",
		Long: `Make the report of a stored run anew, from the files of its directory. The report is one HTML file that asks for
nothing else: open it in a browser, or send it to somebody.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			for _, dir := range dirs {
				r, err := court.ReadDir(dir)
				if err != nil {
					return err
				}
				if err := r.WriteReport(); err != nil {
					return err
				}
				if err := printReport(c, filepath.Join(dir, court.ReportFile), json); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&json, "json", false, "print JSON")
	return c
}

func printReport(c *cobra.Command, file string, json bool) error {
	if json {
		return cli.PrintJSON(c.OutOrStdout(), map[string]string{"report": file})
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), file)
	return err
}
