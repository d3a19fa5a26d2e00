package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"trialog/checker/workload"
	"trialog/cmd/trialog/cli"
)

// exitNotDrained is the exit code of `trialog client` when its history must not be judged by what is missing from it.
const exitNotDrained = 4

// clientOptions are the flags of `trialog client`.
type clientOptions struct{ workload.Config }

func (o *clientOptions) flags(f *pflag.FlagSet) {
	o.Config = workload.Defaults()
	f.StringVar(&o.Name, "name", "", "name of the process: begins its values and is the proc of its history")
	f.StringVar(&o.Role, "role", o.Role, "producer, reader or admin")
	f.StringSliceVar(&o.Bootstrap, "bootstrap", nil, "brokers to begin with, host:port,...")
	f.StringVar(&o.Topic, "topic", o.Topic, "the topic; it is created if it does not exist")
	f.Int32Var(&o.Partitions, "partitions", o.Partitions, "its partitions")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of everything that is drawn")
	f.DurationVar(&o.Start, "start", 0, "how long the world has run when this process starts; --work and --final-at count from the world's start")
	f.DurationVar(&o.Work, "work", o.Work, "when nothing new is begun any more")
	f.DurationVar(&o.FinalAt, "final-at", 0, "when readers begin the final read-back; default: 1s after the last delivery timeout")
	f.DurationVar(&o.FinalWithin, "final-within", o.FinalWithin, "how long the final read-back may take")
	f.IntVar(&o.Count, "count", 0, "end the work after so many operations; 0: by the clock only")
	rangeVar(f, &o.PauseMin, &o.PauseMax, time.ParseDuration, "pause", "drawn between two operations, FROM..TO")
	f.IntVar(&o.BatchMax, "batch-max", o.BatchMax, "records of a batch: drawn from 1 to this")
	f.IntVar(&o.Keys, "keys", 0, "records have one of so many keys, kN, which begins their value: for compacted topics; 0: no keys")
	rangeVar(f, &o.ValueMin, &o.ValueMax, strconv.Atoi, "value", "bytes of a record's value: drawn, FROM..TO")
	f.Var((*acksFlag)(&o.Acks), "acks", "all, 1 or 0")
	f.BoolVar(&o.Idempotent, "idempotent", false, "number the batches under a producer id; retries without end unless --retries says otherwise")
	f.IntVar(&o.Retries, "retries", 0, "times a produce is tried again; -1: until --delivery-timeout")
	f.IntVar(&o.InFlight, "in-flight", o.InFlight, "batches that a producer has in flight")
	f.StringVar(&o.Compression, "compression", o.Compression, "of a producer's batches: none, gzip, snappy, lz4 or zstd")
	f.DurationVar(&o.FetchWait, "fetch-wait", o.FetchWait, "how long a fetch waits for records at the end of a partition")
	f.DurationVar(&o.RequestTimeout, "request-timeout", o.RequestTimeout, "until a request without an answer is given up")
	f.DurationVar(&o.DeliveryTimeout, "delivery-timeout", o.DeliveryTimeout, "until a produce is given up, retries included")
}

// run is one process of a workload, until its work is done.
func (o *clientOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	out, err := descriptor("TRIALOG_HISTORY_FD", stdout)
	if err != nil {
		return err
	}
	summary, err := workload.Run(ctx, o.Config, out, monotonicNs)
	if errors.Is(err, workload.ErrNotDrained) {
		err = cli.Exit(exitNotDrained, err)
	}
	if summary != "" {
		fmt.Fprintf(stderr, "%s: %s\n", o.Name, summary)
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
