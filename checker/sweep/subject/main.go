// Command subject is the guest of a crash sweep: a program that holds the storage engine and nothing else.
//
//	subject run SCRIPT DIR           # does the steps of a script to a log directory
//	subject recover SCRIPT IMAGES    # opens every directory in IMAGES as after a crash, see script.Recovery
//
// What it promises goes to the descriptor in TRIALOG_SWEEP_FD, a line at a time and before anything else is done:
//
//	@ NAME            a directory of IMAGES is next
//	> 12              step 12 begins
//	found t-0 ID      a log of the directory, before it is opened
//	cleaned t-0 5 9   the first dirty offset and the bound of a compaction that is complete
//	= t-0 JSON        what is seen of a log (twin.Outcome)
//	bad t-0 TEXT      an index contradicts the batches
//	< 12              step 12 is done, and whatever it promises is promised
//	x 12 TEXT         step 12 failed
//	panic TEXT        the engine panicked
//	.                 the script is over
//
// SWEEP_RULES_OFF names rules of seglog to switch off, separated by commas.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"trialog/checker/sweep/script"
	"trialog/core/seglog"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "subject:", err)
		os.Exit(3)
	}
}

func run(args []string) error {
	if len(args) != 3 || args[0] != "run" && args[0] != "recover" {
		return fmt.Errorf("usage: subject run|recover SCRIPT DIR")
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	s, err := script.Parse("script", string(text))
	if err != nil {
		return err
	}
	fd, err := strconv.Atoi(os.Getenv("TRIALOG_SWEEP_FD"))
	if err != nil {
		return fmt.Errorf("TRIALOG_SWEEP_FD: %w", err)
	}
	rules := seglog.AllRules()
	for _, name := range strings.Split(os.Getenv("SWEEP_RULES_OFF"), ",") {
		if name != "" && !rules.Off(name) {
			return fmt.Errorf("seglog has no rule %s", name)
		}
	}
	out := os.NewFile(uintptr(fd), "sink")
	if args[0] == "run" {
		(&subject{script: s, dir: args[2], rules: rules, out: out}).play()
		return nil
	}
	entries, err := os.ReadDir(args[2])
	if err != nil {
		return err
	}
	recovery := s.Recovery()
	for _, e := range entries {
		x := &subject{script: recovery, dir: filepath.Join(args[2], e.Name()), rules: rules, out: out}
		x.say("@ %s", e.Name())
		x.play()
	}
	return nil
}
