package logcmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/core/seglog/layout"
)

type dumpFlags struct {
	files    string
	contents bool
	deep     bool
	sanity   bool
	verify   bool
	bare     bool
	maxBytes int64
	json     bool
}

func dumpCommand() *cobra.Command {
	var f dumpFlags
	c := &cobra.Command{
		Use:   "dump FILE|DIR...",
		Short: "print segments, indexes, snapshots and checkpoints as Kafka's DumpLogSegments does",
		Long: `Print what lies in files of a partition: .log, .index, .timeindex, .snapshot, .txnindex, .checkpoint (KRaft), and in the
text files beside them; of a directory, all its files. Each line has the fields, and the form, of Kafka 4.4's
kafka-dump-log.sh, whose options are taken too; what does not fit together is said on standard error in the end. --json
prints one object for each line instead.`,
		Example: `  trialog log dump data/orders-0/00000000000000000000.log --print-data-log
  trialog log dump data/orders-0
  trialog log dump data/orders-0/*index --index-sanity-check`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	fs := c.Flags()
	fs.StringVar(&f.files, "files", "", "files, separated by commas, as Kafka's tool takes them")
	fs.BoolVar(&f.contents, "print-data-log", false, "print keys and values, too; implies --deep-iteration")
	fs.BoolVar(&f.deep, "deep-iteration", false, "print each record")
	fs.BoolVar(&f.sanity, "index-sanity-check", false, "check that an index would be taken at a start; do not print it")
	fs.BoolVar(&f.verify, "verify-index-only", false, "check indexes against their log; do not print them")
	fs.BoolVar(&f.bare, "skip-record-metadata", false, "print only keys and values of records")
	fs.Int64Var(&f.maxBytes, "max-bytes", 1<<31-1, "of each .log, read only so many `bytes`")
	fs.BoolVar(&f.json, "json", false, "print JSON, one object a line")
	return c
}

// dumper prints one file after another.
type dumper struct {
	*dumpFlags
	out  *bufio.Writer
	line []byte // of the row at hand
	errs errorBlocks
}

func (f *dumpFlags) run(c *cobra.Command, files []string) error {
	if f.files != "" {
		files = append(strings.Split(f.files, ","), files...)
	}
	if len(files) == 0 {
		return fmt.Errorf("dump: no file is named")
	}
	f.deep = f.deep || f.contents
	d := &dumper{dumpFlags: f, out: bufio.NewWriterSize(c.OutOrStdout(), 1<<16)}
	files, failed := withFilesOf(files)
	for i := 0; i < len(files) && failed == nil; i++ {
		failed = d.file(files[i])
	}
	if err := d.out.Flush(); err != nil {
		return err
	}
	d.errs.print(c.ErrOrStderr())
	if failed != nil {
		return cli.Exit(cli.Failed, failed)
	}
	return nil
}

// withFilesOf puts the files of a directory in its place.
func withFilesOf(paths []string) (files []string, err error) {
	for _, path := range paths {
		path = filepath.Clean(path)
		entries, err := os.ReadDir(path)
		if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrNotExist) {
			files = append(files, path)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Type().IsRegular() {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	return files, nil
}

// file prints one file. The error is one of the file system, or the file is worse than a line can say: then nothing after
// it is printed, as Kafka's tool does.
func (d *dumper) file(path string) error {
	if !d.json {
		fmt.Fprintf(d.out, "Dumping %s\n", path)
	}
	switch filepath.Ext(path) {
	case layout.LogSuffix, ".checkpoint":
		return d.log(path)
	case layout.IndexSuffix:
		return d.index(path)
	case layout.TimeIndexSuffix:
		return d.timeIndex(path)
	case layout.SnapshotSuffix:
		return d.snapshot(path)
	case layout.TxnIndexSuffix:
		return d.txnIndex(path)
	}
	return d.text(path)
}

// emit prints a row: its line as Kafka's tool has it, or its JSON.
func (d *dumper) emit(r row) error {
	if d.json {
		return cli.PrintJSON(d.out, r)
	}
	d.line = append(r.appendLine(d.line[:0]), '\n')
	_, err := d.out.Write(d.line)
	return err
}

// row is one line of a dump.
type row interface{ appendLine([]byte) []byte }

// errorBlocks are what is said in the end, a title and its lines, in the order in which the titles came up.
type errorBlocks struct {
	titles []string
	lines  map[string][]string
}

func (e *errorBlocks) add(title, format string, args ...any) {
	if e.lines == nil {
		e.lines = map[string][]string{}
	}
	if _, ok := e.lines[title]; !ok {
		e.titles = append(e.titles, title)
	}
	e.lines[title] = append(e.lines[title], fmt.Sprintf(format, args...))
}

func (e *errorBlocks) print(w io.Writer) {
	for _, title := range e.titles {
		fmt.Fprintln(w, title)
		for _, line := range e.lines[title] {
			fmt.Fprintln(w, line)
		}
	}
}
