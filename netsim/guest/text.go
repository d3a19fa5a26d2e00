package guest

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"trialog/netsim/native/page"
)

// textEdit replaces text in the standard library: exactly one occurrence of old within the declaration, or, if old is
// empty, the whole body of the function. Without a declaration it works on the whole file (assembly).
type textEdit struct {
	file string // below GOROOT/src
	decl string // a function, a method as *T.name, a constant or a variable
	old  string
	with string
}

//go:embed known.txt
var knownText string

// nativeFiles makes the overlay of the native engine for a Go installation: what replaces or joins the files of the
// standard library, and the names of those that are hidden. The order is fixed.
func nativeFiles(version, goroot string) (files []file, deleted []string, err error) {
	src := sources{version: version, root: filepath.Join(goroot, "src"), text: map[string][]byte{}, parsed: map[string]parsed{}}
	if err := src.checkKnown(); err != nil {
		return nil, nil, err
	}
	for _, e := range nativeEdits {
		if err := src.apply(e); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range src.order {
		files = append(files, file{name, src.text[name]})
	}
	for _, name := range nativeDeleted {
		if _, err := os.Stat(filepath.Join(src.root, filepath.FromSlash(name))); err != nil {
			return nil, nil, src.refuse(name, "cannot be hidden: %v", err)
		}
	}
	for _, a := range nativeAdded {
		text, err := added.ReadFile(a.text)
		if err != nil {
			return nil, nil, fmt.Errorf("guest: %w", err)
		}
		files = append(files, file{a.file, text})
	}
	for _, pkg := range []string{"runtime", "internal/cpu"} {
		files = append(files, file{pkg + "/netsim_page.go", page.SourceFor(filepath.Base(pkg))})
	}
	for _, f := range files[len(src.order):] {
		if _, err := os.Stat(filepath.Join(src.root, filepath.FromSlash(f.name))); !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, src.refuse(f.name, "exists already")
		}
	}
	return files, nativeDeleted, nil
}

// sources are files of one standard library, edited one after the other.
type sources struct {
	version, root string
	text          map[string][]byte
	order         []string
	parsed        map[string]parsed // until the file is edited
}

type parsed struct {
	fset *token.FileSet
	f    *ast.File
}

func (s *sources) refuse(file, format string, args ...any) error {
	return &ShapeError{s.version, file, fmt.Sprintf(format, args...)}
}

func (s *sources) read(name string) ([]byte, error) {
	if text, ok := s.text[name]; ok {
		return text, nil
	}
	text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
	if err != nil {
		return nil, s.refuse(name, "cannot be read: %v", errors.Unwrap(err))
	}
	return text, nil
}

// apply makes one edit.
func (s *sources) apply(e textEdit) error {
	text, err := s.read(e.file)
	if err != nil {
		return err
	}
	from, to := 0, len(text)
	if e.decl != "" {
		if from, to, err = s.locate(text, e, e.old == ""); err != nil {
			return err
		}
	}
	switch n := bytes.Count(text[from:to], []byte(e.old)); {
	case e.old == "":
		text = splice(text, from, to, "\n\t"+e.with+"\n")
	case n != 1:
		return s.refuse(e.file, "%s contains %q %d times, expected once", e.where(), e.old, n)
	default:
		at := from + bytes.Index(text[from:to], []byte(e.old))
		text = splice(text, at, at+len(e.old), e.with)
	}
	if _, ok := s.text[e.file]; !ok {
		s.order = append(s.order, e.file)
	}
	s.text[e.file] = text
	delete(s.parsed, e.file)
	return nil
}

func (e textEdit) where() string {
	if e.decl == "" {
		return "the file"
	}
	return e.decl
}

// locate gives the extent of a declaration, or of a function's body between its braces.
func (s *sources) locate(text []byte, e textEdit, body bool) (from, to int, err error) {
	fset, f, err := s.parse(e.file, text)
	if err != nil {
		return 0, 0, err
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if funcName(fset, d) != e.decl || d.Body == nil {
				continue
			}
			if body {
				return at(d.Body.Lbrace) + 1, at(d.Body.Rbrace), nil
			}
			return at(d.Pos()), at(d.End()), nil
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && v.Names[0].Name == e.decl && !body {
					return at(v.Pos()), at(v.End()), nil
				}
			}
		}
	}
	return 0, 0, s.refuse(e.file, "has no declaration of %s", e.decl)
}

func (s *sources) parse(file string, text []byte) (*token.FileSet, *ast.File, error) {
	if p, ok := s.parsed[file]; ok {
		return p.fset, p.f, nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, s.refuse(file, "does not parse: %v", err)
	}
	s.parsed[file] = parsed{fset, f}
	return fset, f, nil
}

func funcName(fset *token.FileSet, d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	return printed(fset, d.Recv.List[0].Type) + "." + d.Name.Name
}

// hash of a declaration as it stands in the standard library; of a file where an edit names none.
func (s *sources) hash(e textEdit) (string, error) {
	text, err := s.read(e.file)
	if err != nil {
		return "", err
	}
	if e.decl != "" {
		from, to, err := s.locate(text, e, false)
		if err != nil {
			return "", err
		}
		text = text[from:to]
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// known lists, for each edited or relied upon declaration, its hashes in the releases that the overlay is proven on.
func known() map[string][]string {
	list := map[string][]string{}
	for line := range strings.Lines(knownText) {
		if f := strings.Fields(line); len(f) >= 3 && f[0] != "#" {
			list[f[0]+" "+f[1]] = f[2:]
		}
	}
	return list
}

// declarations are all that known.txt has a line for, each once.
func declarations() []textEdit {
	var out []textEdit
	seen := map[string]bool{}
	for _, e := range append(append([]textEdit{}, nativeEdits...), relied...) {
		if e.decl != "" && !seen[e.key()] {
			seen[e.key()] = true
			out = append(out, e)
		}
	}
	return out
}

func (e textEdit) key() string { return e.file + " " + e.decl }

// checkKnown refuses a release in which a declaration differs from every one the overlay is proven on.
func (s *sources) checkKnown() error {
	list := known()
	for _, e := range declarations() {
		got, err := s.hash(e)
		if err != nil {
			return err
		}
		if want := strings.Join(list[e.key()], " "); !strings.Contains(want, got) {
			return s.refuse(e.file, "%s has changed (hash %s, known %s)", e.decl, got, want)
		}
	}
	return nil
}
