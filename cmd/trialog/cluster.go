package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"trialog/cmd/trialog/cli"
	"trialog/core/client"
)

// clusterFlags are what every command has that talks to a cluster.
type clusterFlags struct {
	bootstrap []string
	timeout   time.Duration
	json      bool
}

func (f *clusterFlags) add(c *cobra.Command) {
	c.Flags().StringSliceVarP(&f.bootstrap, "bootstrap", "b", []string{"localhost:9092"}, "brokers to begin with, host:port,...")
	c.Flags().StringSliceVar(&f.bootstrap, "bootstrap-server", []string{"localhost:9092"}, "the same as --bootstrap, under Kafka's name")
	c.MarkFlagsMutuallyExclusive("bootstrap", "bootstrap-server")
	c.Flags().DurationVar(&f.timeout, "timeout", 10*time.Second, "how long to wait for an answer of the cluster")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON, one object a line")
}

func (f *clusterFlags) client() (*client.Client, error) {
	if f.timeout <= 0 {
		return nil, fmt.Errorf("--timeout %s is not positive", f.timeout)
	}
	return client.New(client.Config{
		Bootstrap: f.bootstrap, ClientID: "trialog-cli", DialTimeout: min(f.timeout, 5*time.Second), RequestTimeout: f.timeout,
	})
}

// command completes c: its flags, and a client around what it does.
func (f *clusterFlags) command(c *cobra.Command, do func(cl *client.Client, args []string) error) *cobra.Command {
	f.add(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		cl, err := f.client()
		if err != nil {
			return err
		}
		defer cl.Close()
		return do(cl, args)
	}
	return c
}

// propertyFlags adds --property, and the name that Kafka's tools gave it in 4.2 (KIP-1147).
func propertyFlags(c *cobra.Command, to *[]string, usage, newer string) {
	c.Flags().StringArrayVar(to, "property", nil, usage)
	c.Flags().StringArrayVar(to, newer, nil, "the same as --property")
	c.MarkFlagsMutuallyExclusive("property", newer)
}

// topicOf is the topic that a command is about: its argument, or --topic.
func topicOf(args []string, flag string) (string, error) {
	switch {
	case len(args) == 1 && flag == "":
		return args[0], nil
	case len(args) == 0 && flag != "":
		return flag, nil
	}
	return "", errors.New("the topic is needed, once: as an argument or as --topic")
}

// outcome gives a client's error the exit code of its outcome.
func outcome(err error) error {
	if err == nil {
		return nil
	}
	if client.OutcomeOf(err) == client.Unknown {
		return cli.Exit(cli.Unknown, err)
	}
	return cli.Exit(cli.Failed, err)
}

// progress shows a count on a terminal, from the second second on.
type progress struct {
	w    *os.File // nil: nobody looks
	what string
	next time.Time
	used bool
}

// newProgress shows nothing unless stderr is a terminal and busy is not: what goes to a terminal shows itself.
func newProgress(busy *os.File, what string) *progress {
	p := &progress{what: what, next: time.Now().Add(2 * time.Second)}
	if term.IsTerminal(int(os.Stderr.Fd())) && !term.IsTerminal(int(busy.Fd())) {
		p.w = os.Stderr
	}
	return p
}

func (p *progress) show(n int64) {
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.next, p.used = time.Now().Add(200*time.Millisecond), true
	fmt.Fprintf(p.w, "\r%d %s", n, p.what)
}

func (p *progress) end() {
	if p.used {
		fmt.Fprintln(p.w)
	}
}
