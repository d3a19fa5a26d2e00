package disk

import (
	"fmt"
	"path"
	"strings"

	"trialog/netsim/kernel"
)

// walk visits everything below the root, in the order of the paths' components.
func (fs *FS) walk(visit func(path string, n *inode)) { walkFrom("", fs.root, visit) }

func walkFrom(prefix string, dir *inode, visit func(path string, n *inode)) {
	for _, e := range dir.names {
		at := prefix + "/" + e.name
		visit(at, e.node)
		if e.node.dir {
			walkFrom(at, e.node, visit)
		}
	}
}

// Files lists the paths of all regular files as a process sees them, directory by directory in name order.
func (fs *FS) Files() []string {
	var list []string
	fs.walk(func(path string, n *inode) {
		if !n.dir {
			list = append(list, path)
		}
	})
	return list
}

// ReadFile returns a copy of a file's bytes as a process sees them.
func (fs *FS) ReadFile(path string) ([]byte, error) {
	at, e := fs.find(path)
	switch {
	case e != kernel.OK:
		return nil, fmt.Errorf("disk: read %s on %s: %w", path, fs.host, e)
	case at.node == nil:
		return nil, fmt.Errorf("disk: read %s on %s: %w", path, fs.host, kernel.ENOENT)
	case at.node.dir:
		return nil, fmt.Errorf("disk: read %s on %s: %w", path, fs.host, kernel.EISDIR)
	}
	data := make([]byte, at.node.size)
	at.node.readAt(data, 0)
	return data, nil
}

// WriteFile makes a file with these bytes and the directories above it, and makes all of them durable with every
// other name in those directories. It costs no virtual time.
func (fs *FS) WriteFile(name string, data []byte) error {
	if err := fs.MkdirAll(path.Dir(name)); err != nil {
		return err
	}
	at, e := fs.find(name)
	if e == kernel.OK && at.node != nil && at.node.dir {
		e = kernel.EISDIR
	}
	if e != kernel.OK {
		return fmt.Errorf("disk: write %s on %s: %w", name, fs.host, e)
	}
	if at.node == nil {
		at.node = fs.newInode(false)
		fs.link(at.dir, at.name, at.node)
	}
	fs.resize(at.node, 0)
	if n, e := fs.writeAt(at.node, data, 0); n < len(data) {
		if e == kernel.OK {
			e = kernel.ENOSPC
		}
		return fmt.Errorf("disk: write %s on %s: %d of %d bytes: %w", name, fs.host, n, len(data), e)
	}
	fs.beginData(at.node)(true)
	fs.settleNames(at.dir, fs.lastName)
	return nil
}

// MkdirAll makes a directory and those above it, durably.
func (fs *FS) MkdirAll(dir string) error {
	at, e := fs.find(dir)
	if e == kernel.ENOENT && dir != "/" && strings.HasPrefix(dir, "/") {
		if err := fs.MkdirAll(path.Dir(dir)); err != nil {
			return err
		}
		at, e = fs.find(dir)
	}
	if e == kernel.OK && at.node != nil && !at.node.dir {
		e = kernel.ENOTDIR
	}
	if e != kernel.OK {
		return fmt.Errorf("disk: make directory %s on %s: %w", dir, fs.host, e)
	}
	if at.node == nil {
		at.node = fs.newInode(true)
		fs.pages += at.node.space()
		fs.link(at.dir, at.name, at.node)
	}
	for n := at.node; n != nil; n = n.parent {
		fs.settleNames(n, fs.lastName)
	}
	return nil
}

// Clone forks the disk, cached and durable state, as it is now; pages are shared until written. Faults are not
// copied. The fork draws its randomness under its own host name.
func (fs *FS) Clone(host string) *FS {
	out := New(fs.k, host, fs.opt)
	out.lastInode, out.lastName, out.lastSync, out.far = fs.lastInode, fs.lastName, fs.lastSync, fs.far
	done := make(map[*inode]*inode)
	out.root = cloneInode(done, fs.root)
	for _, op := range fs.pending {
		c := *op
		c.node, c.gone, c.got = cloneInode(done, op.node), cloneInode(done, op.gone), cloneInode(done, op.got)
		out.pending = append(out.pending, &c)
	}
	out.pages, out.changes = out.root.space()-rootSpace, fs.changes
	out.walk(func(_ string, n *inode) { out.pages += n.space() })
	return out
}

// cloneInode copies a node and what it leads to, once.
func cloneInode(done map[*inode]*inode, n *inode) *inode {
	if n == nil || done[n] != nil {
		return done[n]
	}
	c := *n
	done[n] = &c
	c.opens, c.busy = 0, 0
	c.parent, c.stableParent = cloneInode(done, n.parent), cloneInode(done, n.stableParent)
	c.names, c.stableNames = cloneEntries(done, n.names), cloneEntries(done, n.stableNames)
	c.slots = append([]slot(nil), n.slots...)
	for _, s := range n.slots {
		if s.cached != nil {
			s.cached.shared = true
		}
	}
	c.dirty = append([]int(nil), n.dirty...)
	c.sizings = append([]sizing(nil), n.sizings...)
	return &c
}

func cloneEntries(done map[*inode]*inode, from entries) entries {
	var to entries
	for _, e := range from {
		to = append(to, entry{e.name, cloneInode(done, e.node)})
	}
	return to
}

// String shows the tree: of each file its size, its durable size where that differs, and its dirty pages; then the
// operations on names that are not durable.
func (fs *FS) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "disk %s: %d of %d bytes used%s\n", fs.host, fs.pages*PageSize, fs.opt.Capacity, fs.faultText())
	fs.walk(func(path string, n *inode) {
		if n.dir {
			fmt.Fprintf(&b, "  %s/\n", path)
			return
		}
		fmt.Fprintf(&b, "  %s  %d bytes", path, n.size)
		if n.stable != n.size {
			fmt.Fprintf(&b, ", durable %d", n.stable)
		}
		fmt.Fprintf(&b, "%s\n", n.dirtyText())
	})
	for _, op := range fs.pending {
		fmt.Fprintf(&b, "  not durable: %s\n", op)
	}
	return b.String()
}

func (fs *FS) faultText() string {
	var s string
	if fs.slow > 0 {
		s += fmt.Sprintf(", slow by %d ns", fs.slow)
	}
	for _, f := range []struct {
		on   bool
		name string
	}{
		{fs.stuck, "stuck"}, {fs.full, "full"}, {fs.limit != noLimit, "limited"}, {fs.short, "short writes"},
		{fs.failReads, "reads fail"}, {fs.failWrites, "writes fail"}, {fs.failSyncs, "fsyncs fail"},
	} {
		if f.on {
			s += ", " + f.name
		}
	}
	return s
}

// dirtyText lists dirty pages, and pages that a failed fsync left clean but not durable, as ranges.
func (n *inode) dirtyText() string {
	dirty := ranges(len(n.slots), func(i int) bool { return n.slots[i].dirty })
	lost := ranges(len(n.slots), func(i int) bool { return !n.slots[i].dirty && n.slots[i].cached != n.slots[i].durable })
	if dirty != "" {
		dirty = ", dirty pages" + dirty
	}
	if lost != "" {
		dirty += ", clean but not durable" + lost
	}
	return dirty
}

func ranges(n int, in func(int) bool) string {
	var s string
	for i := 0; i < n; i++ {
		if !in(i) {
			continue
		}
		first := i
		for i+1 < n && in(i+1) {
			i++
		}
		if s += fmt.Sprintf(" %d", first); i > first {
			s += fmt.Sprintf("-%d", i)
		}
	}
	return s
}

// String is one line: which name goes, which name comes.
func (op *nameOp) String() string {
	var s string
	if op.gone != nil {
		s = "-" + op.gone.where() + op.goneName
	}
	if op.got != nil {
		s += " +" + op.got.where() + op.gotName
	}
	return strings.TrimSpace(s) + fmt.Sprintf(" (inode %d)", op.node.id)
}

// where is the path of a directory in the page cache, with a slash at the end.
func (n *inode) where() string {
	if n.parent == nil {
		return n.name + "/"
	}
	return n.parent.where() + n.name + "/"
}
