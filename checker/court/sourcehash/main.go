// Command sourcehash prints the hash of everything that a build of this module depends on: every Go file that is no
// test, what is embedded beside them, go.mod and go.sum. The Makefile puts it into bin/trialog and its guests.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sourcehash MODULE_DIR")
		os.Exit(3)
	}
	sum, err := hash(os.DirFS(os.Args[1]))
	if err != nil {
		fmt.Fprintln(os.Stderr, "sourcehash:", err)
		os.Exit(3)
	}
	fmt.Println(sum)
}

// hash covers names and contents, in the order of the names.
func hash(module fs.FS) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(module, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(module, path)
		}
		if !counts(path) {
			return nil
		}
		text, err := fs.ReadFile(module, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\x00%d\x00", path, len(text))
		h.Write(text)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// skipDir leaves out what go build leaves out: hidden directories, testdata, other modules.
func skipDir(module fs.FS, path string) error {
	if path == "." {
		return nil
	}
	base := filepath.Base(path)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(module, path+"/go.mod"); err == nil {
		return fs.SkipDir
	}
	return nil
}

// counts: Go files, and the overlay's Go text that is embedded.
func counts(path string) bool {
	if path == "go.mod" || path == "go.sum" || strings.HasSuffix(path, ".go.txt") {
		return true
	}
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
}
