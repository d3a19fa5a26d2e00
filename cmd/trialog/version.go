package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/pflag"
)

// source is "trialog-source:" and the hash of the sources, set by the linker. The native program and its guest carry
// the same one; the court refuses a pair that does not.
var source = "trialog-source:unknown"

// sourceHash is the hash of the sources; "unknown" in a program that was not built by make.
func sourceHash() string { return strings.TrimPrefix(source, "trialog-source:") }

// versionOptions are the flags of `trialog version`.
type versionOptions struct{ asJSON bool }

func (o *versionOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.asJSON, "json", false, "print as JSON")
}

func (o *versionOptions) run(_ context.Context, stdout, _ io.Writer) error {
	v := struct {
		Source string `json:"source"`
		Go     string `json:"go"`
		OS     string `json:"os"`
		Arch   string `json:"arch"`
	}{sourceHash(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
	if o.asJSON {
		return json.NewEncoder(stdout).Encode(v)
	}
	_, err := fmt.Fprintf(stdout, "trialog, source %s, %s %s/%s\n", v.Source, v.Go, v.OS, v.Arch)
	return err
}
