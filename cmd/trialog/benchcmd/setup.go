package benchcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/benchcmd/raw"
	"trialog/cmd/trialog/benchcmd/storage"
	"trialog/cmd/trialog/cli"
	"trialog/core/client"
)

// Command makes `trialog bench`.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "measure brokers: throughput, latency, processor time, and where they come from",
		Long: `Measure brokers with one raw client on one connection. Figures are for comparing within one run: machines are noisy,
and client and broker share this one.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			c.Help()
			return cli.Exit(cli.Usage, nil)
		},
	}
	c.AddCommand(produceCommand(), fetchCommand(), whyCommand(), compareCommand(), storage.Command(), raw.Command())
	return c
}

// roundFlags say how long and where.
type roundFlags struct {
	dir    string
	time   time.Duration
	mib    int64
	rounds int
	json   bool
}

func (f *roundFlags) add(c *cobra.Command, rounds int) {
	c.Flags().StringVar(&f.dir, "dir", "", "where brokers that are started here keep their logs, for the time being; the system's temporary directory by default")
	c.Flags().DurationVar(&f.time, "for", 3*time.Second, "how long a round lasts at most")
	c.Flags().Int64Var(&f.mib, "mib", 1024, "MiB that a round moves at most")
	c.Flags().IntVar(&f.rounds, "rounds", rounds, "rounds; the median is printed")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON, one object a line")
}

func (f *roundFlags) check() error {
	if f.time <= 0 || f.mib <= 0 || f.rounds <= 0 {
		return fmt.Errorf("bench: --for, --mib and --rounds must be positive")
	}
	return nil
}

func (f *roundFlags) bound() bound { return bound{f.time, f.mib << 20, true, f.dir} }

// targetFlags choose the broker of `bench produce` and `bench fetch`.
type targetFlags struct {
	bootstrap string
	pid       int
}

func (f *targetFlags) add(c *cobra.Command) {
	c.Flags().StringVarP(&f.bootstrap, "bootstrap", "b", "", "host:port of the broker to measure; without it one is started")
	c.Flags().IntVar(&f.pid, "pid", 0, "process of that broker, if it is on this machine: for its processor time")
}

func (f *targetFlags) open(dir string) (*target, error) {
	if f.bootstrap == "" {
		return startTrialog(dir, "trialog")
	}
	return &target{name: f.bootstrap, addr: f.bootstrap, pid: f.pid, stop: func() {}}, nil
}

// one is a topic of one partition.
func one(name string, settings ...client.ConfigPair) client.NewTopic {
	return client.NewTopic{Name: name, Partitions: 1, ReplicationFactor: 1, Config: settings}
}

// withTopic makes a topic for the time of do.
func withTopic(ctx context.Context, on *target, topic client.NewTopic, do func() error) error {
	if on.raw {
		return errors.Join(do(), raw.Remove(on.addr))
	}
	cl, err := client.New(client.Config{Bootstrap: []string{on.addr}, RequestTimeout: 30 * time.Second})
	if err != nil {
		return err
	}
	defer cl.Close()
	for patience := 50; ; patience-- { // a broker that has just started may not be ready to create
		err := cl.CreateTopic(ctx, topic)
		if err == nil || client.NameOf(err) == "TOPIC_ALREADY_EXISTS" && patience < 50 {
			break
		}
		if patience == 0 || client.NameOf(err) == "TOPIC_ALREADY_EXISTS" {
			return cli.Outcome(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	defer cl.DeleteTopic(context.WithoutCancel(ctx), topic.Name)
	if err := awaitLeader(ctx, cl, topic.Name); err != nil {
		return err
	}
	return do()
}

// awaitLeader waits until the topic can be written.
func awaitLeader(ctx context.Context, cl *client.Client, name string) error {
	for patience := 100; ; patience-- {
		_, err := cl.ListOffset(ctx, name, 0, client.Latest)
		if err == nil {
			return nil
		}
		if patience == 0 {
			return cli.Outcome(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// shown tells the progress of one round on a terminal.
func shown(p *cli.Progress, what string) func(bytes int64) {
	p.What("MiB  " + what)
	return func(bytes int64) { p.Show(bytes >> 20) }
}
