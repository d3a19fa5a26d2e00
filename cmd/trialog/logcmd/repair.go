package logcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/seglog/inspect"
	"trialog/core/seglog/rehearse"
)

type repairFlags struct {
	dryRun, all, json bool
	config, scratch   string
}

func repairCommand() *cobra.Command {
	var f repairFlags
	c := &cobra.Command{
		Use:   "repair --dry-run DIR",
		Short: "say what the next start of a broker would do with a log directory, or one partition",
		Long: `Say what the next start would do with an entry of log.dirs, or with the directory of one partition: what it would read,
where each log would begin and end, which files it would cut, remove, make or write anew, and what it would refuse.

The recovery itself is run, on a copy of one partition after another in a scratch directory, which needs room for the
largest. Nothing is changed in DIR, and no broker may be running on it. There is no repair without --dry-run: a start
repairs. Exit code 1 if something would be refused.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.OutOrStdout(), args[0]) },
	}
	fs := c.Flags()
	fs.BoolVar(&f.dryRun, "dry-run", false, "must be given")
	fs.BoolVar(&f.all, "all", false, "print partitions with which nothing would be done, too")
	fs.StringVar(&f.config, "config", "", "server.properties of the broker; without it Kafka's defaults")
	fs.StringVar(&f.scratch, "scratch", "", "where the copies are made, for the time being; the system's temporary directory by default")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	return c
}

func (f *repairFlags) run(w io.Writer, dir string) (err error) {
	if !f.dryRun {
		return errors.New("repair: only --dry-run exists: what it says, the next start of a broker does")
	}
	only := func(kafka.TopicPartition) bool { return true }
	if inspect.IsPartition(dir) {
		tp, err := kafka.ParseTopicPartition(filepath.Base(filepath.Clean(dir)))
		if err != nil {
			return fmt.Errorf("repair: %s: %w", dir, err)
		}
		dir = filepath.Dir(filepath.Clean(dir))
		only = func(other kafka.TopicPartition) bool { return other == tp }
	}
	broker, err := f.broker()
	if err != nil {
		return err
	}
	topics, err := readTopics(dir, broker)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(f.scratch, "trialog-repair-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	r, err := rehearse.Run(dir, scratch, rehearse.Options{Settings: topics.topic, TopicID: topics.id, Only: only})
	if err != nil {
		return err
	}
	if f.json {
		err = cli.PrintJSON(w, r)
	} else {
		err = f.print(w, r)
	}
	if err == nil && refused(r) {
		return cli.Exit(cli.Failed, nil)
	}
	return err
}

func (f *repairFlags) broker() (*config.Broker, error) {
	var props *config.Properties
	if f.config != "" {
		text, err := os.ReadFile(f.config)
		if err != nil {
			return nil, fmt.Errorf("repair: --config: %w", err)
		}
		if props, err = config.ParseProperties(f.config, string(text)); err != nil {
			return nil, err
		}
		return config.LoadBroker(props, nil)
	}
	return config.LoadBroker(nil, []string{"node.id=1"})
}

func refused(r *rehearse.Report) bool {
	for _, p := range r.Partitions {
		if p.Refused != "" {
			return true
		}
	}
	return r.Refused != ""
}

func (f *repairFlags) print(w io.Writer, r *rehearse.Report) error {
	how := "was not stopped cleanly: what lies beyond the recovery points is read and checked"
	if r.Clean {
		how = "was stopped cleanly: its files are trusted"
	}
	fmt.Fprintf(w, "%s %s\n", r.Dir, how)
	if r.Refused != "" {
		fmt.Fprintf(w, "  refused: %s\n", r.Refused)
	}
	for _, c := range r.Changes {
		fmt.Fprintf(w, "  %s\n", c)
	}
	same := 0
	for _, p := range r.Partitions {
		if p.Refused == "" && len(p.Changes) == 0 && !f.all {
			same++
			continue
		}
		if p.Refused != "" {
			fmt.Fprintf(w, "%s refused: %s\n", p.Name, p.Refused)
		} else {
			fmt.Fprintf(w, "%s begins at %d and ends at %d; %s\n", p.Name, p.Start, p.End, p.Recovery)
		}
		for _, c := range p.Changes {
			fmt.Fprintf(w, "  %s\n", c)
		}
	}
	_, err := fmt.Fprintf(w, "%d partitions, with %d of them nothing is done\n", len(r.Partitions), same)
	return err
}
