package disk

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/netsim/kernel"
)

// twin is the obvious model of a disk: whole byte slices instead of shared pages, and every subset of the pending name
// operations instead of a log that is folded. A file or directory is known by its inode number; the root is 1.
type twin struct {
	paths  map[string]uint64 // page cache
	dirs   map[uint64]bool
	files  map[uint64]*twinFile
	stable twinTree // durable names without pending
	ops    []twinOp
}

type twinFile struct {
	cached, durable []byte
	sizes           []int // each since the durable one
}

// twinTree maps "directory/name" to a node.
type twinTree map[string]uint64

type twinOp struct {
	durable         bool
	node            uint64
	gone, got       string // "directory/name"
	goneDir, gotDir uint64
}

func newTwin() *twin {
	return &twin{
		paths: map[string]uint64{"/": 1}, dirs: map[uint64]bool{1: true},
		files: map[uint64]*twinFile{}, stable: twinTree{},
	}
}

func (w *twin) parent(path string) (dir uint64, key string) {
	cut := strings.LastIndex(path, "/")
	dir = w.paths[path[:max(cut, 1)]]
	return dir, fmt.Sprintf("%d%s", dir, path[cut:])
}

func (w *twin) add(path string, node uint64, isDir bool) {
	w.paths[path] = node
	if isDir {
		w.dirs[node] = true
	} else {
		w.files[node] = &twinFile{}
	}
	dir, key := w.parent(path)
	w.ops = append(w.ops, twinOp{node: node, got: key, gotDir: dir})
}

func (w *twin) remove(path string) {
	dir, key := w.parent(path)
	w.ops = append(w.ops, twinOp{node: w.paths[path], gone: key, goneDir: dir})
	delete(w.paths, path)
}

func (w *twin) move(from, to string) {
	a, ka := w.parent(from)
	b, kb := w.parent(to)
	w.ops = append(w.ops, twinOp{node: w.paths[from], gone: ka, goneDir: a, got: kb, gotDir: b})
	delete(w.paths, to)
	for path, node := range clonePaths(w.paths) {
		if path == from || strings.HasPrefix(path, from+"/") {
			delete(w.paths, path)
			w.paths[to+path[len(from):]] = node
		}
	}
}

func clonePaths(m map[string]uint64) map[string]uint64 {
	out := map[string]uint64{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func (w *twin) syncDir(dir uint64) {
	for i := range w.ops {
		if w.ops[i].gotDir == dir || w.ops[i].goneDir == dir {
			w.ops[i].durable = true
		}
	}
}

// with returns the tree after the operations that keep accepts.
func (w *twin) with(keep func(i int) bool) twinTree {
	t := twinTree(clonePaths(w.stable))
	for i, op := range w.ops {
		if !op.durable && !keep(i) {
			continue
		}
		if op.got != "" && w.dirs[op.node] && t.below(op.node, op.gotDir) {
			continue
		}
		delete(t, op.gone)
		if op.got != "" {
			for key, node := range clonePaths(t) {
				if node == op.node {
					delete(t, key)
				}
			}
			t[op.got] = op.node
		}
	}
	return t
}

// below tells whether dir is node or below it.
func (t twinTree) below(node, dir uint64) bool {
	for {
		if dir == node {
			return true
		}
		up := uint64(0)
		for key, n := range t {
			if n == dir {
				fmt.Sscanf(key, "%d/", &up)
			}
		}
		if up == 0 {
			return false
		}
		dir = up
	}
}

// String lists what can be reached from the root.
func (t twinTree) String() string {
	var list []string
	var visit func(dir uint64, prefix string)
	visit = func(dir uint64, prefix string) {
		for key, node := range t {
			if d, name, _ := strings.Cut(key, "/"); d == fmt.Sprint(dir) {
				list = append(list, fmt.Sprintf("%s/%s=%d", prefix, name, node))
				visit(node, prefix+"/"+name)
			}
		}
	}
	visit(1, "")
	sort.Strings(list)
	return strings.Join(list, " ")
}

// treeOf is what the real disk has, in the same form.
func treeOf(fs *FS) string {
	var list []string
	fs.walk(func(path string, n *inode) { list = append(list, fmt.Sprintf("%s=%d", path, n.id)) })
	sort.Strings(list)
	return strings.Join(list, " ")
}

// trees is every tree that a cut may leave.
func (w *twin) trees(c Cut) []string {
	var free []int
	for i, op := range w.ops {
		if !op.durable {
			free = append(free, i)
		}
	}
	if c.Lose != LoseSome {
		return []string{w.with(func(int) bool { return c.Lose == LoseNone }).String()}
	}
	var list []string
	for set := range 1 << len(free) {
		list = append(list, w.with(func(i int) bool { return set>>sort.SearchInts(free, i)&1 == 1 }).String())
	}
	return list
}

// at returns page i of data as if zeros followed its end.
func at(data []byte, i int) []byte {
	out := make([]byte, PageSize)
	if i*PageSize < len(data) {
		copy(out, data[i*PageSize:])
	}
	return out
}

// allowed tells whether a cut may leave got of the file.
func (f *twinFile) allowed(got []byte, c Cut) bool {
	sizes := append([]int{len(f.durable)}, f.sizes...)
	for k, low := 0, len(f.durable); k < len(sizes); k++ {
		low = min(low, sizes[k])
		last := k == len(sizes)-1
		switch {
		case c.Lose == LoseUnsynced && !c.Torn && k > 0, c.Lose == LoseNone && !last, sizes[k] != len(got):
			continue
		}
		fits := true
		for i := 0; i*PageSize < len(got); i++ {
			fits = fits && f.allowedPage(at(got, i), i, low, len(got), c)
		}
		if fits {
			return true
		}
	}
	return false
}

func (f *twinFile) allowedPage(got []byte, i, low, size int, c Cut) bool {
	old, fresh := at(f.durable[:low], i), at(f.cached, i)
	for first := 0; first <= PageSize; first += SectorSize {
		switch {
		case first == 0 && c.Lose == LoseNone, first == PageSize && c.Lose == LoseUnsynced,
			first > 0 && first < PageSize && !c.Torn:
			continue
		}
		want := append(bytes.Clone(fresh[:first]), old[first:]...)
		if end := size - i*PageSize; end < PageSize {
			clear(want[end:])
		}
		if bytes.Equal(got, want) {
			return true
		}
	}
	return false
}

// step is one drawn operation. Numbers that must fit a file are taken modulo its size.
type step struct {
	op, path, to string
	size, offset int
	with         byte
}

var someNames = []string{"/a", "/a", "/b", "/d", "/d/a", "/d/a", "/d/e", "/d/e/a"}

func drawStep(t *rapid.T) step {
	return step{
		op: rapid.SampledFrom([]string{
			"write", "write", "write", "truncate", "sync", "sync", "mkdir", "syncdir", "unlink", "rmdir", "rename", "rename",
		}).Draw(t, "op"),
		path:   rapid.SampledFrom(someNames).Draw(t, "path"),
		to:     rapid.SampledFrom(someNames).Draw(t, "to"),
		size:   rapid.IntRange(0, 3*PageSize).Draw(t, "size"),
		offset: rapid.IntRange(0, 9*PageSize).Draw(t, "offset"),
		with:   rapid.ByteRange('a', 'z').Draw(t, "with"),
	}
}

// script makes the disk and the twin do the same.
type script struct {
	*bench
	w *twin
	p *kernel.Proc
}

func (s *script) do(st step) {
	full := s.w.pending() >= 8 // keep the number of subsets small
	switch st.op {
	case "mkdir":
		if !full && s.p.Mkdir(st.path) == kernel.OK {
			s.w.add(st.path, s.inode(st.path), true)
		}
	case "unlink":
		if !full && s.p.Unlink(st.path) == kernel.OK {
			s.w.remove(st.path)
		}
	case "rmdir":
		if !full && s.p.Rmdir(st.path) == kernel.OK {
			s.w.remove(st.path)
		}
	case "rename":
		if !full && s.p.Rename(st.path, st.to) == kernel.OK && st.path != st.to {
			s.w.move(st.path, st.to)
		}
	case "syncdir":
		dir := st.path[:max(1, strings.LastIndex(st.path, "/"))]
		if fd, e := s.p.Open(dir, kernel.OpenRead|kernel.OpenDir); e == kernel.OK {
			s.sync(s.p, fd)
			s.p.Close(fd)
			s.w.syncDir(s.inode(dir))
		}
	default:
		fd, e := s.p.Open(st.path, create|kernel.OpenExcl)
		if e == kernel.OK {
			s.p.Close(fd)
			s.w.add(st.path, s.inode(st.path), false)
		}
		s.data(st)
	}
}

func (w *twin) pending() int {
	n := 0
	for _, op := range w.ops {
		if !op.durable {
			n++
		}
	}
	return n
}

func (s *script) inode(path string) uint64 {
	st, e := s.p.Stat(path)
	require.Equal(s.t, kernel.OK, e)
	return st.Inode
}

func (s *script) data(st step) {
	fd, e := s.p.Open(st.path, rdwr)
	if e != kernel.OK {
		return
	}
	defer s.p.Close(fd)
	f := s.w.files[s.inode(st.path)]
	switch st.op {
	case "sync":
		s.sync(s.p, fd)
		f.durable, f.sizes = bytes.Clone(f.cached), nil
	case "truncate":
		s.p.Truncate(fd, int64(st.size))
		if st.size != len(f.cached) {
			f.sizes = append(f.sizes, st.size)
		}
		f.resize(st.size)
	default:
		off, src := st.offset%(len(f.cached)+100), fill(st.with, st.size+1)
		s.p.Pwrite(fd, src, int64(off))
		if end := off + len(src); end > len(f.cached) {
			f.sizes = append(f.sizes, end)
			f.resize(end)
		}
		copy(f.cached[off:], src)
	}
}

func (f *twinFile) resize(size int) {
	out := make([]byte, size)
	copy(out, f.cached)
	f.cached = out
}

// reboot compares what a cut left with what it may leave, and makes the twin agree with it.
func (s *script) reboot(c Cut) {
	require.Contains(s.t, s.w.trees(c), treeOf(s.fs), "%+v", s.w.ops)
	after := newTwin()
	s.fs.walk(func(path string, n *inode) {
		after.paths[path] = n.id
		_, key := after.parent(path)
		after.stable[key] = n.id
		if n.dir {
			after.dirs[n.id] = true
			return
		}
		got := s.content(path)
		require.True(s.t, s.w.files[n.id].allowed(got, c), "%s: %+v left %q", path, c, pages(got))
		after.files[n.id] = &twinFile{cached: got, durable: bytes.Clone(got)}
	})
	s.w = after
}

type life struct {
	steps []step
	cut   Cut
}

func drawLife(t *rapid.T) life {
	return life{
		steps: rapid.SliceOfN(rapid.Custom(drawStep), 15, 60).Draw(t, "steps"),
		cut: Cut{
			Lose: rapid.SampledFrom([]Lose{LoseUnsynced, LoseSome, LoseSome, LoseNone}).Draw(t, "lose"),
			Torn: rapid.Bool().Draw(t, "torn"),
		},
	}
}

func TestPowerCutIsWithinTheAllowedSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lives := rapid.SliceOfN(rapid.Custom(drawLife), 1, 3).Draw(t, "lives")
		b := newBench(t, rapid.Uint64().Draw(t, "seed"), Options{})
		s := &script{bench: b, w: newTwin()}
		for _, l := range lives {
			b.run(func(p *kernel.Proc) {
				s.p = p
				for _, st := range l.steps {
					s.do(st)
				}
			})
			for path, node := range s.w.paths {
				if f := s.w.files[node]; f != nil {
					require.True(t, bytes.Equal(f.cached, b.content(path)), path)
				}
			}
			fork := b.fs.Clone("fork").String()
			require.Equal(t, strings.Replace(b.fs.String(), "disk b1:", "disk fork:", 1), fork)
			b.fs.PowerCut(l.cut)
			s.reboot(l.cut)
		}
	})
}

// The twin refuses a disk that breaks its promise: otherwise the test above proves nothing.
func TestTwinRefusesABrokenDisk(t *testing.T) {
	f := &twinFile{cached: fill('b', PageSize), durable: fill('a', PageSize)}
	require.False(t, f.allowed(fill('b', PageSize), Cut{}), "unsynced data that survives lose=unsynced")
	require.False(t, f.allowed(fill('a', PageSize), Cut{Lose: LoseNone}))
	mixed := append(fill('b', 100), fill('a', PageSize-100)...)
	require.False(t, f.allowed(mixed, Cut{Lose: LoseSome, Torn: true}), "no tear inside a sector")
	require.False(t, f.allowed(fill('a', 1), Cut{Lose: LoseSome}), "a size it never had")
	w := newTwin()
	w.add("/a", 2, false)
	w.syncDir(1)
	require.NotContains(t, w.trees(Cut{Lose: LoseSome}), "", "a durable name that is gone")
}
