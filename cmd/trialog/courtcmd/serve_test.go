package courtcmd

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/checker/court"
	"trialog/checker/oracle"
)

// stored writes a run directory, and beside it what else may lie among runs.
func stored(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run := &court.Run{
		ID: "ab12", Identity: court.Identity{Experiment: "001-x", Cell: "kill", World: "sim", Engine: "wasm", Seed: 7, RulesOff: []string{"a.b"}},
		Result: court.Invalid, Verdict: &court.Verdict{Verdict: oracle.Verdict{Result: court.Invalid, Judge: "oracle", Class: "lost-acked"}},
		Outputs: map[string][]byte{},
	}
	require.NoError(t, run.WriteDir(filepath.Join(dir, "ab12")))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "notes"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "broken"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken", "run.json"), []byte("{"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "trial.json"), []byte("{}"), 0o644))
	return dir
}

func TestServe(t *testing.T) {
	dir := stored(t)
	info, err := os.Stat(filepath.Join(dir, "ab12", "run.json"))
	require.NoError(t, err)
	h := serveHandler(dir, func() time.Time { return info.ModTime().Add(5 * time.Hour) })
	get := func(host, path string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path, r.Host = path, host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	code, list := get("127.0.0.1:8100", "/")
	require.Equal(t, http.StatusOK, code)
	for _, want := range []string{`href="ab12/"`, "lost-acked", "001-x", "a.b", ">7<", "5 h", "unreadable"} {
		require.Contains(t, list, want)
	}
	require.NotContains(t, list, "notes", "what is no run is not listed")

	require.NoError(t, os.Remove(filepath.Join(dir, "ab12", court.ReportFile)))
	code, page := get("localhost:8100", "/ab12/")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, page, "001-x", "reports are made of the other files")
	require.NoFileExists(t, filepath.Join(dir, "ab12", court.ReportFile))

	for path, want := range map[string]int{
		"/none/": 404, "/../": 404, "/ab12/run.json": 404, "/trial.json/": 404, "/broken/": 500, "/%2e%2e/": 404,
	} {
		code, body := get("[::1]:8100", path)
		if code == http.StatusMovedPermanently || code == http.StatusTemporaryRedirect {
			continue // the path was cleaned
		}
		require.Equal(t, want, code, "%s: %s", path, body)
	}
	code, _ = get("evil.example:8100", "/")
	require.Equal(t, http.StatusForbidden, code)
}

func TestAge(t *testing.T) {
	for want, d := range map[string]time.Duration{"now": 59 * time.Second, "1 min": time.Minute, "59 min": 59 * time.Minute, "47 h": 47 * time.Hour, "2 days": 48 * time.Hour} {
		require.Equal(t, want, age(d))
	}
}
