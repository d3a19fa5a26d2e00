//go:build !guest

package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"trialog/core/client"
)

// ClusterFlags are what every command has that talks to a cluster.
type ClusterFlags struct {
	Bootstrap []string
	Timeout   time.Duration
	JSON      bool
}

func (f *ClusterFlags) add(c *cobra.Command) {
	c.Flags().StringSliceVarP(&f.Bootstrap, "bootstrap", "b", []string{"localhost:9092"}, "brokers to begin with, host:port,...")
	c.Flags().StringSliceVar(&f.Bootstrap, "bootstrap-server", []string{"localhost:9092"}, "the same as --bootstrap, under Kafka's name")
	c.MarkFlagsMutuallyExclusive("bootstrap", "bootstrap-server")
	c.Flags().DurationVar(&f.Timeout, "timeout", 10*time.Second, "how long to wait for an answer of the cluster")
	c.Flags().BoolVar(&f.JSON, "json", false, "print JSON, one object a line")
}

// Client makes the client; the caller closes it.
func (f *ClusterFlags) Client() (*client.Client, error) {
	if f.Timeout <= 0 {
		return nil, fmt.Errorf("--timeout %s is not positive", f.Timeout)
	}
	return client.New(client.Config{
		Bootstrap: f.Bootstrap, ClientID: "trialog-cli", DialTimeout: min(f.Timeout, 5*time.Second), RequestTimeout: f.Timeout,
	})
}

// Command completes c: its flags, and a client around what it does.
func (f *ClusterFlags) Command(c *cobra.Command, do func(cl *client.Client, args []string) error) *cobra.Command {
	f.add(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		cl, err := f.Client()
		if err != nil {
			return err
		}
		defer cl.Close()
		return do(cl, args)
	}
	return c
}

// Outcome gives a client's error the exit code of its outcome.
func Outcome(err error) error {
	if err == nil {
		return nil
	}
	if client.OutcomeOf(err) == client.Unknown {
		return Exit(Unknown, err)
	}
	return Exit(Failed, err)
}

// Progress shows a count on a terminal, from the second second on.
type Progress struct {
	w    *os.File // nil: nobody looks
	what string
	next time.Time
	used bool
}

// NewProgress shows nothing unless stderr is a terminal and busy is not: what goes to a terminal shows itself.
func NewProgress(busy *os.File, what string) *Progress {
	p := &Progress{what: what, next: time.Now().Add(2 * time.Second)}
	if term.IsTerminal(int(os.Stderr.Fd())) && !term.IsTerminal(int(busy.Fd())) {
		p.w = os.Stderr
	}
	return p
}

// NewProgressOnTerminal shows from the first count on, if stderr is a terminal.
func NewProgressOnTerminal() *Progress {
	p := &Progress{}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		p.w = os.Stderr
	}
	return p
}

// What says what is counted from now on.
func (p *Progress) What(what string) { p.what = what }

// Show takes the count so far.
func (p *Progress) Show(n int64) {
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.next, p.used = time.Now().Add(200*time.Millisecond), true
	fmt.Fprintf(p.w, "\r%d %s\x1b[K", n, p.what)
}

// Say shows at once what is done now, and has no count.
func (p *Progress) Say(what string) {
	p.What(what)
	if p.w != nil {
		p.used = true
		fmt.Fprintf(p.w, "\r%s\x1b[K", what)
	}
}

// End leaves the line.
func (p *Progress) End() {
	if p.used {
		fmt.Fprintln(p.w)
		p.used = false
	}
}
