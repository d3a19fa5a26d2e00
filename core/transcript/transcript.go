// Package transcript runs behaviour tests that are written as text. A file in a room's testdata tells a story: a line
// that begins with "> " is a command to the room, what follows it up to a blank line, a comment (#) or another command is
// what the room says, and all else is prose. Only tests import it.
package transcript

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write what the room says into testdata")

// Run plays every testdata/*.txt of the package under test and compares; with -rewrite it writes the answers into the
// files. start begins one story and returns what answers its commands (without the "> "); an answer ends with a newline.
func Run(t *testing.T, start func(t *testing.T) (answer func(command string) string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			want, err := os.ReadFile(f)
			require.NoError(t, err)
			got := play(string(want), start(t))
			if *rewrite {
				require.NoError(t, os.WriteFile(f, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(want), got)
		})
	}
}

// play is the text with the answers of now.
func play(text string, answer func(string) string) string {
	var out strings.Builder
	skipping := false
	for line := range strings.Lines(text) {
		command, isCommand := strings.CutPrefix(line, "> ")
		switch {
		case isCommand:
			out.WriteString(line)
			out.WriteString(answer(strings.TrimSuffix(command, "\n")))
			skipping = true
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			skipping = false
			out.WriteString(line)
		case !skipping:
			out.WriteString(line)
		}
	}
	return out.String()
}
