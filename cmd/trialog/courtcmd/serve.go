package courtcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trialog/checker/court"
	"trialog/checker/report"
	"trialog/cmd/trialog/cli"
)

func serveCommand() *cobra.Command {
	var listen string
	var json bool
	c := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "list the runs of a directory, and show their reports, in a browser on this machine",
		Long: `List the runs that a directory holds (default: runs), newest first, and show their reports. Reports are made from the
files of a run when they are asked for; nothing is written.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "runs"
			if len(args) > 0 {
				dir = args[0]
			}
			return serve(c, dir, listen, json)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8100", "address; port 0 takes a free one")
	c.Flags().BoolVar(&json, "json", false, "print JSON")
	return c
}

// Bounds of the server: it shows pages to a person.
const (
	serveHeaderMax  = 16 << 10
	serveTimeout    = 30 * time.Second
	serveListingMax = 2_000 // runs listed, the newest
)

func serve(c *cobra.Command, dir, listen string, json bool) error {
	if !isDir(dir) {
		return fmt.Errorf("serve: %s is no directory", dir)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	url := "http://" + l.Addr().String() + "/"
	if json {
		err = cli.PrintJSON(c.OutOrStdout(), map[string]string{"serving": url})
	} else {
		_, err = fmt.Fprintln(c.OutOrStdout(), "serving "+url)
	}
	if err != nil {
		l.Close()
		return err
	}
	ctx, cancel := interruptible(c)
	defer cancel()
	s := &http.Server{Handler: serveHandler(dir, time.Now), MaxHeaderBytes: serveHeaderMax, ReadTimeout: serveTimeout, WriteTimeout: serveTimeout}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// serveHandler shows the list at / and the report of a run at /NAME/.
func serveHandler(dir string, now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		rows, err := runRows(dir, now())
		if err == nil {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			err = report.WriteList(w, dir, rows)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /{name}/{$}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) || !isDir(filepath.Join(dir, name)) {
			http.NotFound(w, r)
			return
		}
		run, err := court.ReadDir(filepath.Join(dir, name))
		var text []byte
		if err == nil {
			text, err = run.Report()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(text)
	})
	return localOnly(mux)
}

// localOnly refuses requests for another host's name than this machine's: a page elsewhere that has its name resolve to
// 127.0.0.1 must not read runs.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "localhost" && net.ParseIP(strings.Trim(host, "[]")) == nil {
			http.Error(w, "serve: no such host: "+host, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// runRows lists the runs of a directory, the newest first.
func runRows(dir string, now time.Time) ([]report.RunRow, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	type dated struct {
		row report.RunRow
		at  time.Time
	}
	var all []dated
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		s, err := court.ReadSummary(filepath.Join(dir, e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // something else
		}
		row := report.RunRow{Name: e.Name()}
		if err != nil {
			row.Unreadable = err.Error()
		} else {
			row.Experiment, row.Cell, row.World, row.Engine, row.Seed = s.Experiment, s.Cell, s.World, s.Engine, s.Seed
			row.RulesOff, row.Result, row.Brief, row.Age = s.RulesOff, s.Result, s.Brief(), age(now.Sub(s.Written))
		}
		all = append(all, dated{row, s.Written})
	}
	slices.SortStableFunc(all, func(a, b dated) int { return cmp.Compare(b.at.UnixNano(), a.at.UnixNano()) })
	rows := make([]report.RunRow, 0, len(all))
	for _, d := range all[:min(len(all), serveListingMax)] {
		rows = append(rows, d.row)
	}
	return rows, nil
}

// age is how long ago something was, in the largest unit that fits.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
