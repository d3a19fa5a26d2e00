// Package cli is what all commands of trialog have in common: exit codes, and how objects are printed for programs.
package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Exit codes of every command.
const (
	OK      = 0 // done; valid or documented
	Failed  = 1 // it did not happen; invalid
	Unknown = 2 // nobody can say
	Usage   = 3 // a usage or harness error: the question was not answered
)

// exitError ends the program with a code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// Exit gives err an exit code. err may be nil: then the program ends with the code, and nothing is printed.
func Exit(code int, err error) error { return &exitError{code, err} }

// CodeOf is the exit code of what a command returned, and what to print, which may be nil. Errors without a code are
// usage errors.
func CodeOf(err error) (int, error) {
	if err == nil {
		return OK, nil
	}
	var e *exitError
	if errors.As(err, &e) {
		return e.code, e.err
	}
	return Usage, err
}

// PrintJSON prints one object on a line.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
