//go:build guest

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// execute does what the arguments say. Only programs read what a guest says about wrong ones.
func execute(args []string) error {
	if len(args) == 0 {
		return errors.New("want broker, client or version: a guest has no other commands")
	}
	var c everywhere
	switch args[0] {
	case "broker":
		c = new(brokerOptions)
	case "client":
		c = new(clientOptions)
	case "version":
		c = new(versionOptions)
	default:
		return fmt.Errorf("unknown command %q: a guest has broker, client and version", args[0])
	}
	f := pflag.NewFlagSet(args[0], pflag.ContinueOnError)
	c.flags(f)
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q for %s", f.Arg(0), args[0])
	}
	return c.run(context.Background(), os.Stdout, os.Stderr)
}
