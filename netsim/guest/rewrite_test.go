package guest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewriteKnown = flag.Bool("rewrite", false, "write known.txt anew, with the hashes of the installed Go before those of others")

// Every declaration that the overlay edits or relies upon is the one it was proven on.
func TestKnownDeclarations(t *testing.T) {
	installed, err := findToolchain(t.Context(), "", "")
	require.NoError(t, err)
	src := sources{version: installed.version, root: filepath.Join(installed.root, "src"), text: map[string][]byte{}, parsed: map[string]parsed{}}
	if !*rewriteKnown {
		require.NoError(t, src.checkKnown())
		return
	}
	b := strings.Builder{}
	b.WriteString("# Hashes of the declarations of the standard library that the native overlay edits or relies upon, as they are in the\n" +
		"# releases it is proven on. A release in which one differs is refused; see the package comment for how to add one.\n")
	for _, e := range declarations() {
		h, err := src.hash(e)
		require.NoError(t, err)
		others := slices.DeleteFunc(known()[e.key()], func(k string) bool { return k == h })
		fmt.Fprintln(&b, strings.Join(append([]string{e.key(), h}, others...), " "))
	}
	require.NoError(t, os.WriteFile("known.txt", []byte(b.String()), 0o644))
}
