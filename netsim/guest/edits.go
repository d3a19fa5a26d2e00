package guest

import (
	"bytes"
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
)

//go:embed overlay/*.txt overlay/native/*.txt
var added embed.FS

// edit changes one function of one file of the standard library.
type edit struct {
	file string // below GOROOT/src
	recv string // receiver type, "" for a function
	fn   string
	// signature is the function's type as printed, checked before anything is changed.
	signature string
	// body replaces the function's body.
	body string
	// selector and with replace exactly one use of a selector expression, when body is empty.
	selector, with string
}

const (
	netFake  = "net/net_fake.go"
	netFD    = "net/fd_fake.go"
	netNames = "net/lookup_unix.go"
	netOpts  = "net/sockopt_fake.go"
	netTCP   = "net/tcpsockopt_stub.go"
	osName   = "os/sys_bsd.go"
	pollUnix = "internal/poll/fd_unix.go"
	pollSync = "internal/poll/fd_fsync_posix.go"
)

var edits = []edit{
	{file: netFake, fn: "socket",
		signature: "func(ctx context.Context, net string, family, sotype, proto int, ipv6only bool, laddr, raddr sockaddr, ctrlCtxFn func(context.Context, string, string, syscall.RawConn) error) (*netFD, error)",
		body:      "return netsimSocket(ctx, net, family, sotype, laddr, raddr)"},
	{file: netFD, recv: "*netFD", fn: "accept", signature: "func() (netfd *netFD, err error)",
		body: "return netsimAccept(fd)"},
	{file: netNames, recv: "*Resolver", fn: "lookupIP",
		signature: "func(ctx context.Context, network, host string) (addrs []IPAddr, err error)",
		body:      "return netsimLookupIP(host)"},
	{file: netNames, recv: "*Resolver", fn: "lookupHost",
		signature: "func(ctx context.Context, host string) (addrs []string, err error)",
		body:      "return netsimLookupHost(host)"},
	agree(netOpts, "setKeepAlive", "func(fd *netFD, keepalive bool) error"),
	agree(netOpts, "setReadBuffer", "func(fd *netFD, bytes int) error"),
	agree(netOpts, "setWriteBuffer", "func(fd *netFD, bytes int) error"),
	agree(netTCP, "setNoDelay", "func(fd *netFD, noDelay bool) error"),
	agree(netTCP, "setKeepAliveIdle", "func(fd *netFD, d time.Duration) error"),
	agree(netTCP, "setKeepAliveInterval", "func(fd *netFD, d time.Duration) error"),
	agree(netTCP, "setKeepAliveCount", "func(fd *netFD, n int) error"),
	{file: osName, fn: "hostname", signature: "func() (name string, err error)",
		selector: "syscall.Sysctl", with: "netsimHostname(syscall.Sysctl)"},
	{file: pollUnix, recv: "*FD", fn: "Read", signature: "func(p []byte) (int, error)",
		selector: "syscall.Read", with: "netsimRead"},
	{file: pollUnix, recv: "*FD", fn: "Pread", signature: "func(p []byte, off int64) (int, error)",
		selector: "syscall.Pread", with: "netsimPread"},
	{file: pollUnix, recv: "*FD", fn: "Write", signature: "func(p []byte) (int, error)",
		selector: "syscall.Write", with: "netsimWrite"},
	{file: pollUnix, recv: "*FD", fn: "Pwrite", signature: "func(p []byte, off int64) (int, error)",
		selector: "syscall.Pwrite", with: "netsimPwrite"},
	{file: pollSync, recv: "*FD", fn: "Fsync", signature: "func() error",
		selector: "syscall.Fsync", with: "netsimFsync(syscall.Fsync)"},
}

// agree makes a socket option that changes nothing one program can observe succeed.
func agree(file, fn, signature string) edit {
	return edit{file: file, fn: fn, signature: signature, selector: "syscall.ENOPROTOOPT", with: "netsimAgreed(syscall.ENOPROTOOPT)"}
}

// additions are files that the overlay adds below GOROOT/src, with their embedded text.
var additions = []struct{ file, text string }{
	{"net/netsim_wasip1.go", "overlay/net.go.txt"},
	{"os/netsim_wasip1.go", "overlay/os.go.txt"},
	{"internal/poll/netsim_wasip1.go", "overlay/poll.go.txt"},
}

// ShapeError says that the installed Go is not the one the overlay was written for.
type ShapeError struct {
	GoVersion, File, Reason string
}

func (e *ShapeError) Error() string {
	return fmt.Sprintf("guest: %s: %s: %s; the simulator's overlay does not know this Go release", e.GoVersion, e.File, e.Reason)
}

// rewrite applies all edits of one file to its text.
func rewrite(version, file string, src []byte, list []edit) ([]byte, error) {
	refuse := func(format string, args ...any) error {
		return &ShapeError{version, file, fmt.Sprintf(format, args...)}
	}
	for _, e := range list {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, refuse("does not parse: %v", err)
		}
		fn := find(fset, f, e)
		if fn == nil {
			return nil, refuse("has no function %s", e.name())
		}
		if got := printed(fset, fn.Type); got != e.signature {
			return nil, refuse("%s has the type %q, expected %q", e.name(), got, e.signature)
		}
		at := func(p token.Pos) int { return fset.Position(p).Offset }
		if e.body != "" {
			src = splice(src, at(fn.Body.Lbrace)+1, at(fn.Body.Rbrace), "\n\t"+e.body+"\n")
			continue
		}
		uses := selectors(fset, fn, e.selector)
		if len(uses) != 1 {
			return nil, refuse("%s uses %s %d times, expected once", e.name(), e.selector, len(uses))
		}
		src = splice(src, at(uses[0].Pos()), at(uses[0].End()), e.with)
	}
	return src, nil
}

func (e edit) name() string {
	if e.recv == "" {
		return e.fn
	}
	return "(" + e.recv + ")." + e.fn
}

func find(fset *token.FileSet, f *ast.File, e edit) *ast.FuncDecl {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != e.fn || fn.Body == nil {
			continue
		}
		recv := ""
		if fn.Recv != nil {
			recv = printed(fset, fn.Recv.List[0].Type)
		}
		if recv == e.recv {
			return fn
		}
	}
	return nil
}

func selectors(fset *token.FileSet, fn *ast.FuncDecl, name string) []ast.Node {
	var found []ast.Node
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && printed(fset, s) == name {
			found = append(found, s)
		}
		return true
	})
	return found
}

func printed(fset *token.FileSet, n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, fset, n); err != nil {
		return err.Error()
	}
	return b.String()
}

func splice(src []byte, from, to int, with string) []byte {
	out := make([]byte, 0, len(src)+len(with))
	out = append(out, src[:from]...)
	out = append(out, with...)
	return append(out, src[to:]...)
}

// file is one file of an overlay, named below GOROOT/src.
type file struct {
	name string
	text []byte
}

// overlayFiles makes the overlay for a Go installation, in a fixed order.
func overlayFiles(version, goroot string) ([]file, error) {
	var out []file
	for from := 0; from < len(edits); {
		name, to := edits[from].file, from
		for to < len(edits) && edits[to].file == name {
			to++
		}
		src, err := os.ReadFile(filepath.Join(goroot, "src", filepath.FromSlash(name)))
		if err != nil {
			return nil, &ShapeError{version, name, "cannot be read: " + err.Error()}
		}
		if src, err = rewrite(version, name, src, edits[from:to]); err != nil {
			return nil, err
		}
		out = append(out, file{name, src})
		from = to
	}
	for _, a := range additions {
		src, err := added.ReadFile(a.text)
		if err != nil {
			return nil, fmt.Errorf("guest: %w", err)
		}
		out = append(out, file{a.file, src})
	}
	return out, nil
}
