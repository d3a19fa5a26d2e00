package disk

import "trialog/netsim/kernel"

// page is the content of one page. Once shared (by the durable state, an fsync under way or a clone) it never changes.
type page struct {
	shared bool
	b      [PageSize]byte
}

// slot is one page of a file. nil pages read as zeros.
type slot struct {
	cached, durable *page
	dirty           bool // cached is to be written by the next fsync
}

// sizing is a change of a file's size that is not durable.
type sizing struct {
	seq  uint64
	size int64
	low  int64 // the smallest size since the durable one, this one included
}

// inode is a file or directory.
type inode struct {
	id      uint64
	dir     bool
	modTime int64
	opens   int

	// Where it is in the page cache and in the durable state; nil where it has no name.
	parent, stableParent *inode
	name, stableName     string

	// Directories.
	names, stableNames entries

	// Files.
	slots   []slot
	dirty   []int // indexes of the dirty slots
	size    int64
	stable  int64 // durable size
	sizings []sizing
	lastSeq uint64 // of the newest sizing
	synced  uint64 // newest fsync that made this durable
	busy    int64  // when the last deferred call completes
}

// sizingsMax bounds the sizes remembered of one file; beyond it the oldest change becomes one with its successor.
const sizingsMax = 256

func (fs *FS) newInode(dir bool) *inode {
	fs.lastInode++
	return &inode{id: fs.lastInode, dir: dir, modTime: fs.k.Now()}
}

func (n *inode) cachedDir() *inode { return n.parent }
func (n *inode) stableDir() *inode { return n.stableParent }

// contains tells whether dir is n or lies below it.
func (n *inode) contains(dir *inode, up func(*inode) *inode) bool {
	for ; dir != nil; dir = up(dir) {
		if dir == n {
			return true
		}
	}
	return false
}

func (n *inode) kind() kernel.FileKind {
	if n.dir {
		return kernel.KindDirectory
	}
	return kernel.KindRegular
}

func (n *inode) stat() kernel.Stat {
	links := uint64(1)
	if n.parent == nil && n.name != "" {
		links = 0
	}
	return kernel.Stat{Kind: n.kind(), Inode: n.id, Size: n.size, Links: links, ModTime: n.modTime}
}

// readAt copies what is cached; 0 at or beyond the end.
func (n *inode) readAt(dst []byte, off int64) int {
	if off >= n.size {
		return 0
	}
	dst = dst[:min(int64(len(dst)), n.size-off)]
	for done := 0; done < len(dst); {
		i, in := int((off+int64(done))/PageSize), int((off+int64(done))%PageSize)
		to := dst[done:min(len(dst), done+PageSize-in)]
		if i < len(n.slots) && n.slots[i].cached != nil {
			copy(to, n.slots[i].cached.b[in:])
		} else {
			clear(to)
		}
		done += len(to)
	}
	return len(dst)
}

// writeAt puts src into the page cache. The count is short where space ran out.
func (fs *FS) writeAt(n *inode, src []byte, off int64) (int, kernel.Errno) {
	if off > FileSizeMax-int64(len(src)) {
		return 0, kernel.EFBIG
	}
	done, e := 0, kernel.OK
	for done < len(src) {
		i, in := int((off+int64(done))/PageSize), int((off+int64(done))%PageSize)
		pg := fs.own(n, i)
		if pg == nil {
			e = kernel.ENOSPC
			break
		}
		done += copy(pg.b[in:], src[done:])
	}
	if done == 0 {
		return 0, e
	}
	fs.changes++
	n.modTime = fs.k.Now()
	if end := off + int64(done); end > n.size {
		fs.setSize(n, end)
	}
	return done, kernel.OK
}

// own returns the cached page i, made writable and dirty, or nil if there is no space for it.
func (fs *FS) own(n *inode, i int) *page {
	var have *page
	if i < len(n.slots) {
		have = n.slots[i].cached
	}
	if have == nil {
		if !fs.fits(1) {
			return nil
		}
		fs.pages++
	}
	for len(n.slots) <= i {
		n.slots = append(n.slots, slot{})
	}
	n.markDirty(i)
	if have == nil {
		have = &page{}
	} else if have.shared {
		have = &page{b: have.b}
	}
	n.slots[i].cached = have
	return have
}

func (n *inode) markDirty(i int) {
	if !n.slots[i].dirty {
		n.slots[i].dirty = true
		n.dirty = append(n.dirty, i)
	}
}

// setSize records a new size as a change that is not durable.
func (fs *FS) setSize(n *inode, size int64) {
	fs.reached(size)
	low := min(n.stable, size)
	if len(n.sizings) > 0 {
		low = min(low, n.sizings[len(n.sizings)-1].low)
	}
	n.size = size
	n.lastSeq++
	if len(n.sizings) == sizingsMax {
		n.sizings = append(n.sizings[:0], n.sizings[1:]...)
	}
	n.sizings = append(n.sizings, sizing{seq: n.lastSeq, size: size, low: low})
}

// resize is ftruncate: pages behind a smaller size are gone, and what is left of the last page is zeroed.
func (fs *FS) resize(n *inode, size int64) {
	if size == n.size {
		return
	}
	fs.changes++
	n.modTime = fs.k.Now()
	if size < n.size {
		keep := int((size + PageSize - 1) / PageSize)
		for i := keep; i < len(n.slots); i++ {
			if n.slots[i].cached != nil {
				fs.pages--
				n.slots[i].cached = nil
				n.markDirty(i)
			}
		}
		if in := int(size % PageSize); in != 0 && keep <= len(n.slots) && n.slots[keep-1].cached != nil {
			clear(fs.own(n, keep-1).b[in:])
		}
	}
	fs.setSize(n, size)
}

// release gives back the space of a file that has neither a name nor a descriptor. Its pages stay, since a power cut
// may undo the loss of the name.
func (fs *FS) release(n *inode) {
	if n.opens > 0 || n.parent != nil || n.name == "" { // a root, of now or of before a Wipe, has no name
		return
	}
	fs.pages -= n.space()
}

// dirNames is how many names a page of a directory holds.
const dirNames = 64

// growth is how many pages a directory needs for one name more.
func (n *inode) growth() int64 {
	if len(n.names)%dirNames == 0 && len(n.names) > 0 {
		return 1
	}
	return 0
}

// rootSpace is what the root directory takes of what every other one does: a new filesystem has it.
const rootSpace = 1

// space is how many pages of the disk the node takes.
func (n *inode) space() int64 {
	if n.dir {
		return max(1, int64(len(n.names)+dirNames-1)/dirNames)
	}
	count := int64(0)
	for i := range n.slots {
		if n.slots[i].cached != nil {
			count++
		}
	}
	return count
}
