package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trialog/checker/workload"
	"trialog/cmd/trialog/cli"
)

// exitNotDrained is the exit code of `trialog client` when its history must not be judged by what is missing from it.
const exitNotDrained = 4

func init() { commands = append(commands, clientCommand) }

// clientCommand is one process of a workload. The court starts it, in every world.
func clientCommand() *cobra.Command {
	cfg := workload.Defaults()
	c := &cobra.Command{
		Use:    "client",
		Short:  "run one process of a workload and write its history",
		Hidden: true,
		Long: `Run one process of a workload: seeded operations against a cluster. The history goes to the descriptor
named by TRIALOG_HISTORY_FD (stdout without it), one line with each write.

Exit codes: 0 it did all it should; 3 usage; 4 not drained: the final read-back or the history is not complete.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runClient(c, cfg) },
	}
	f := c.Flags()
	f.StringVar(&cfg.Name, "name", "", "name of the process: begins its values and is the proc of its history")
	f.StringVar(&cfg.Role, "role", cfg.Role, "producer, reader or admin")
	f.StringSliceVar(&cfg.Bootstrap, "bootstrap", nil, "brokers to begin with, host:port,...")
	f.StringVar(&cfg.Topic, "topic", cfg.Topic, "the topic; it is created if it does not exist")
	f.Int32Var(&cfg.Partitions, "partitions", cfg.Partitions, "its partitions")
	f.Uint64Var(&cfg.Seed, "seed", cfg.Seed, "seed of everything that is drawn")
	f.DurationVar(&cfg.Start, "start", 0, "how long the world has run when this process starts; --work and --final-at count from the world's start")
	f.DurationVar(&cfg.Work, "work", cfg.Work, "when nothing new is begun any more")
	f.DurationVar(&cfg.FinalAt, "final-at", 0, "when readers begin the final read-back; default: 1s after the last delivery timeout")
	f.DurationVar(&cfg.FinalWithin, "final-within", cfg.FinalWithin, "how long the final read-back may take")
	f.IntVar(&cfg.Count, "count", 0, "end the work after so many operations; 0: by the clock only")
	rangeVar(f, &cfg.PauseMin, &cfg.PauseMax, time.ParseDuration, "pause", "drawn between two operations, FROM..TO")
	f.IntVar(&cfg.BatchMax, "batch-max", cfg.BatchMax, "records of a batch: drawn from 1 to this")
	rangeVar(f, &cfg.ValueMin, &cfg.ValueMax, strconv.Atoi, "value", "bytes of a record's value: drawn, FROM..TO")
	f.Var((*acksFlag)(&cfg.Acks), "acks", "all, 1 or 0")
	f.BoolVar(&cfg.Idempotent, "idempotent", false, "number the batches under a producer id; retries without end unless --retries says otherwise")
	f.IntVar(&cfg.Retries, "retries", 0, "times a produce is tried again; -1: until --delivery-timeout")
	f.IntVar(&cfg.InFlight, "in-flight", cfg.InFlight, "batches that a producer has in flight")
	f.StringVar(&cfg.Compression, "compression", cfg.Compression, "of a producer's batches: none, gzip, snappy, lz4 or zstd")
	f.DurationVar(&cfg.FetchWait, "fetch-wait", cfg.FetchWait, "how long a fetch waits for records at the end of a partition")
	f.DurationVar(&cfg.RequestTimeout, "request-timeout", cfg.RequestTimeout, "until a request without an answer is given up")
	f.DurationVar(&cfg.DeliveryTimeout, "delivery-timeout", cfg.DeliveryTimeout, "until a produce is given up, retries included")
	return c
}

func runClient(c *cobra.Command, cfg workload.Config) error {
	out, err := descriptor("TRIALOG_HISTORY_FD", c.OutOrStdout())
	if err != nil {
		return err
	}
	summary, err := workload.Run(c.Context(), cfg, out, monotonicNs)
	if errors.Is(err, workload.ErrNotDrained) {
		err = cli.Exit(exitNotDrained, err)
	}
	if summary != "" {
		fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", cfg.Name, summary)
	}
	return err
}

// descriptor opens the descriptor that an environment variable names; without the variable it is otherwise.
func descriptor(env string, otherwise io.Writer) (io.Writer, error) {
	text := os.Getenv(env)
	if text == "" {
		return otherwise, nil
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 0 {
		return nil, fmt.Errorf("client: %s=%q is no descriptor", env, text)
	}
	return os.NewFile(uintptr(fd), env), nil
}

// acksFlag is acks as Kafka writes it.
type acksFlag int

func (a *acksFlag) String() string {
	if *a == -1 {
		return "all"
	}
	return strconv.Itoa(int(*a))
}

func (a *acksFlag) Set(text string) error {
	switch text {
	case "all", "-1":
		*a = -1
	case "0", "1":
		*a = acksFlag(text[0] - '0')
	default:
		return errors.New("want all, 1 or 0")
	}
	return nil
}

func (a *acksFlag) Type() string { return "acks" }

// rangeFlag is FROM..TO; one value is both.
type rangeFlag[T any] struct {
	from, to *T
	parse    func(string) (T, error)
}

func rangeVar[T any](f *pflag.FlagSet, from, to *T, parse func(string) (T, error), name, usage string) {
	f.Var(&rangeFlag[T]{from, to, parse}, name, usage)
}

func (r *rangeFlag[T]) String() string {
	if r.from == nil {
		return ""
	}
	return fmt.Sprintf("%v..%v", *r.from, *r.to)
}

func (r *rangeFlag[T]) Set(text string) error {
	first, last, ok := strings.Cut(text, "..")
	if !ok {
		last = first
	}
	from, err := r.parse(first)
	if err != nil {
		return err
	}
	to, err := r.parse(last)
	if err != nil {
		return err
	}
	*r.from, *r.to = from, to
	return nil
}

func (r *rangeFlag[T]) Type() string { return "range" }
