package guest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Engine says what a guest is built for.
type Engine string

// Engines of the simulator.
const (
	Wasm   Engine = "wasm"   // a wasip1 module, for every platform
	Native Engine = "native" // linux/amd64 code that makes its system calls through a shared page
)

// Options of a build.
type Options struct {
	Engine  Engine   // "" is Wasm
	Dir     string   // where go build runs; "" is the current directory
	Package string   // what to build, as for go build
	Out     string   // the file to write
	Tags    []string // build tags beside "guest" and "noasm" (assembly asks the processor what it is), which are always set
	LDFlags string   // further linker flags
	// GoCommand is the go command to build with; "" is go.
	GoCommand string
}

// CacheDir is where overlays and compiled guests are kept between runs: the user's cache directory, or the temporary
// directory where there is none.
func CacheDir() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "trialog")
}

// Build compiles a Go program for the simulator with the stock toolchain and the overlay.
func Build(ctx context.Context, o Options) error {
	t, err := findToolchain(ctx, o.GoCommand, o.Dir)
	if err != nil {
		return err
	}
	overlay, err := writeOverlay(o.Engine, t.version, t.root)
	if err != nil {
		return err
	}
	out, err := filepath.Abs(o.Out)
	if err != nil {
		return fmt.Errorf("guest: output %s: %w", o.Out, err)
	}
	tags := strings.Join(append([]string{"guest", "noasm"}, o.Tags...), ",")
	cmd := exec.CommandContext(ctx, t.command, "build", "-overlay", overlay, "-trimpath", "-tags", tags,
		"-ldflags", strings.TrimSpace("-s -w "+o.LDFlags), "-o", out, o.Package)
	cmd.Dir = o.Dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOEXPERIMENT=", "GOAMD64=v1")
	cmd.Env = append(cmd.Env, t.env...)
	if o.Engine == Native {
		cmd.Env = append(cmd.Env, "GOOS=linux", "GOARCH=amd64")
	} else {
		cmd.Env = append(cmd.Env, "GOOS=wasip1", "GOARCH=wasm")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("guest: go build %s: %w\n%s", o.Package, err, strings.TrimSpace(stderr.String()))
	}
	return checkProgram(o.Engine, o.Package, out)
}

// Bytes is Build, and gives the program itself: o.Out is not used.
func Bytes(ctx context.Context, o Options) ([]byte, error) {
	dir, err := os.MkdirTemp("", "trialog-guest-*")
	if err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	defer os.RemoveAll(dir)
	o.Out = filepath.Join(dir, "guest")
	if err := Build(ctx, o); err != nil {
		return nil, err
	}
	return os.ReadFile(o.Out)
}

// checkProgram refuses what go build makes of a package that is no program: an archive.
func checkProgram(engine Engine, pkg, file string) error {
	want := "\x00asm"
	if engine == Native {
		want = "\x7fELF"
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("guest: %w", err)
	}
	defer f.Close()
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || string(magic[:]) != want {
		return fmt.Errorf("guest: %s is not a program (package main)", pkg)
	}
	return nil
}

// writeOverlay makes the overlay of the installed Go in the cache and returns the file to give to go build. Its
// directory is named by content, so that concurrent builds agree and Go's own build cache is hit.
func writeOverlay(engine Engine, version, goroot string) (string, error) {
	var files []file
	var deleted []string
	var err error
	if engine == Native {
		files, deleted, err = nativeFiles(version, goroot)
	} else {
		files, err = overlayFiles(version, goroot)
	}
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s\x00%s\x00%d\x00", goroot, f.name, len(f.text))
		h.Write(f.text)
	}
	dir := filepath.Join(CacheDir(), "overlay-"+hex.EncodeToString(h.Sum(nil)[:8]))
	replace := map[string]string{}
	for _, f := range files {
		path := filepath.Join(dir, strings.ReplaceAll(f.name, "/", "_"))
		if err := writeFile(path, f.text); err != nil {
			return "", err
		}
		replace[filepath.Join(goroot, "src", filepath.FromSlash(f.name))] = path
	}
	for _, name := range deleted {
		replace[filepath.Join(goroot, "src", filepath.FromSlash(name))] = ""
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("guest: overlay: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	return path, writeFile(path, text)
}

// writeFile writes atomically, and not at all if the file already holds the text.
func writeFile(path string, text []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("guest: overlay: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "tmp-*")
	if err != nil {
		return fmt.Errorf("guest: overlay: %w", err)
	}
	_, err = tmp.Write(text)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("guest: overlay: %w", err)
	}
	return nil
}
