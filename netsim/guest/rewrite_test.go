package guest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewriteKnown = flag.Bool("rewrite", false, "write known.txt anew, with the installed Go")

// Every declaration that the overlay edits or relies upon is the one it was proven on.
func TestKnownDeclarations(t *testing.T) {
	version, goroot, err := goEnv(t.Context(), "")
	require.NoError(t, err)
	src := sources{version: version, root: filepath.Join(goroot, "src"), text: map[string][]byte{}}
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
		fmt.Fprintln(&b, e.key(), h)
	}
	require.NoError(t, os.WriteFile("known.txt", []byte(b.String()), 0o644))
}
