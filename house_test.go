// Package trialog holds the tests of the house itself: what is true of the module as a whole.
package trialog

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/types/typeutil"
)

// room is one line of imports.txt.
type room struct {
	name      string
	place     int
	kind      string // pure, ordered, leaf or empty
	not, only []string
}

// policy is imports.txt.
type policy []room

func parsePolicy(text string) (policy, error) {
	var p policy
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		r := room{name: words[0], place: len(p)}
		list := &r.not
		for j, w := range words[1:] {
			switch {
			case w == "pure" || w == "ordered" || w == "leaf":
				r.kind = w
			case w == "not":
				list = &r.not
			case w == "only":
				list = &r.only
			case j == 0:
				return nil, fmt.Errorf("imports.txt:%d: %q is no kind of room", i+1, w)
			default:
				*list = append(*list, w)
			}
		}
		p = append(p, r)
	}
	return p, nil
}

// find gives the room that a package of the module belongs to.
func (p policy) find(pkg string) (room, bool) {
	best, found := room{}, false
	for _, r := range p {
		if (pkg == r.name || strings.HasPrefix(pkg, r.name+"/")) && len(r.name) > len(best.name) {
			best, found = r, true
		}
	}
	return best, found
}

func covers(list []string, room string) bool {
	return slices.ContainsFunc(list, func(w string) bool {
		under, all := strings.CutSuffix(w, "/...")
		return w == room || all && strings.HasPrefix(room, under+"/")
	})
}

// refuse says why a package of room r may not import one of room to; empty means it may.
func (p policy) refuse(r, to room) string {
	switch {
	case r.name == to.name:
		return ""
	case to.kind == "leaf":
		return "which nobody imports"
	case to.place > r.place:
		return "which stands below it in imports.txt"
	case len(r.only) > 0 && !covers(r.only, to.name):
		return "which is not in its list of only"
	case covers(r.not, to.name):
		return "which imports.txt refuses it"
	}
	return ""
}

var impure = []string{"os", "net", "time", "sync", "context", "log", "math/rand", "github.com/twmb/franz-go/pkg/kmsg"}

// purity lists what in the syntax of a pure or ordered room is refused.
func purity(r room, pkg *packages.Package) []string {
	var found []string
	say := func(n ast.Node, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s", pkg.Fset.Position(n.Pos()), fmt.Sprintf(format, args...)))
	}
	for _, file := range pkg.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.RangeStmt:
				if _, isMap := pkg.TypesInfo.TypeOf(n.X).Underlying().(*types.Map); isMap || overMaps(pkg, n.X) {
					say(n, "range over a map in a room that may not depend on map order")
				}
			case *ast.ImportSpec:
				for _, bad := range impure {
					if at := strings.Trim(n.Path.Value, `"`); r.kind == "pure" && (at == bad || strings.HasPrefix(at, bad+"/")) {
						say(n, "import of %s in a pure room", at)
					}
				}
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt:
				if r.kind == "pure" {
					say(n, "%T in a pure room", n)
				}
			}
			return true
		})
	}
	return found
}

// overMaps reports a call of package maps, whose iterators have the map's order.
func overMaps(pkg *packages.Package, x ast.Expr) bool {
	call, isCall := x.(*ast.CallExpr)
	if !isCall {
		return false
	}
	f, isFunc := typeutil.Callee(pkg.TypesInfo, call).(*types.Func)
	return isFunc && f.Pkg() != nil && f.Pkg().Path() == "maps"
}

func TestImportsFollowThePolicy(t *testing.T) {
	text, err := os.ReadFile("imports.txt")
	require.NoError(t, err)
	rooms, err := parsePolicy(string(text))
	require.NoError(t, err)
	const need = packages.NeedName | packages.NeedImports | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedExportFile
	pkgs, err := packages.Load(&packages.Config{Mode: need, Fset: token.NewFileSet()}, "./...")
	require.NoError(t, err)
	for _, pkg := range pkgs {
		name := strings.TrimPrefix(pkg.PkgPath, "trialog/")
		if name == "trialog" {
			continue
		}
		require.Empty(t, pkg.Errors, name)
		r, ok := rooms.find(name)
		if !ok {
			t.Errorf("%s: this package has no room in imports.txt", name)
			continue
		}
		for _, at := range slices.Sorted(importsOf(pkg)) {
			to, ok := rooms.find(at)
			require.True(t, ok, "%s imports %s, which has no room in imports.txt", name, at)
			if why := rooms.refuse(r, to); why != "" {
				t.Errorf("%s imports %s, %s", name, at, why)
			}
		}
		if r.kind == "pure" || r.kind == "ordered" {
			for _, line := range purity(r, pkg) {
				t.Error(line)
			}
		}
	}
}

// importsOf gives the packages of this module that pkg imports.
func importsOf(pkg *packages.Package) func(func(string) bool) {
	return func(yield func(string) bool) {
		for at := range pkg.Imports {
			if own, ok := strings.CutPrefix(at, "trialog/"); ok && !yield(own) {
				return
			}
		}
	}
}

// The policy must be able to refuse: each row breaks one rule.
func TestPolicyRefuses(t *testing.T) {
	rooms, err := parsePolicy("a pure\nb not a\nc only b\nd\nleaf/x leaf\n")
	require.NoError(t, err)
	for _, row := range []struct{ from, to, why string }{
		{"a", "b", "below"}, {"b", "a", "refuses"}, {"c", "a", "only"}, {"d", "leaf/x", "nobody"},
		{"c", "b", ""}, {"d", "a", ""}, {"d/sub", "d", ""}, {"d/sub", "c/sub", ""},
	} {
		from, _ := rooms.find(row.from)
		to, _ := rooms.find(row.to)
		why := rooms.refuse(from, to)
		require.Equal(t, row.why == "", why == "", "%s -> %s: %s", row.from, row.to, why)
		require.Contains(t, why, row.why)
	}
	_, err = parsePolicy("a strange\n")
	require.EqualError(t, err, `imports.txt:1: "strange" is no kind of room`)
}

// What judges and simulates stays out of the guest, so that it stays small.
func TestGuestLinksNoJudge(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-tags", "guest", "./cmd/trialog")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	for _, pkg := range strings.Fields(string(out)) {
		for _, bad := range []string{"trialog/netsim/", "trialog/checker/court", "trialog/checker/linear", "trialog/checker/oracle", "trialog/checker/report", "github.com/tetratelabs/wazero", "github.com/anishathalye/porcupine", "trialog/core/broker/exporter", "github.com/prometheus", "net/http"} {
			if strings.HasPrefix(pkg+"/", path.Clean(bad)+"/") {
				t.Errorf("the guest links %s", pkg)
			}
		}
	}
}
