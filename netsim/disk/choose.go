package disk

import "strings"

// Part is a kind of thing that becomes durable by itself.
type Part uint8

// The parts of a disk's state.
const (
	Name Part = iota // one operation on names
	Size             // the size of a file
	Page             // a page of a file
)

// Unsynced names one thing that is not durable.
type Unsynced struct {
	Part  Part
	Inode uint64 // of the file; of a name operation, what is named
	Path  string // of the file; of a name operation, its text
	Op    uint64 // number of the name operation
	Page  int    // its index
	Last  bool   // no later page of the file is dirty
}

// Fate is what a power cut does to one thing that is not durable.
type Fate uint8

// Fates. Torn is for pages: a seeded prefix of the sectors is kept. For others it is Kept.
const (
	Lost Fate = iota
	Kept
	Torn
)

func (op *nameOp) unsynced() Unsynced {
	return Unsynced{Part: Name, Inode: op.node.id, Path: op.String(), Op: op.seq}
}

func (n *inode) lastDirty() int {
	last := -1
	for _, i := range n.dirty {
		last = max(last, i)
	}
	return last
}

// Unsynced lists what a power cut may take now: name operations in their order, then file by file the size and the pages.
func (fs *FS) Unsynced() []Unsynced {
	var list []Unsynced
	for _, op := range fs.pending {
		if !op.durable {
			list = append(list, op.unsynced())
		}
	}
	seen := map[*inode]bool{}
	add := func(path string, n *inode) {
		if n.dir || seen[n] {
			return
		}
		seen[n] = true
		if len(n.sizings) > 0 {
			list = append(list, Unsynced{Part: Size, Inode: n.id, Path: path})
		}
		last := n.lastDirty()
		for i := range n.slots {
			if n.slots[i].dirty {
				list = append(list, Unsynced{Part: Page, Inode: n.id, Path: path, Page: i, Last: i == last})
			}
		}
	}
	fs.walk(add)
	fs.walkStable("", fs.root, add)
	return list
}

// walkStable visits what the durable state holds: names that were taken away are there until that is durable.
func (fs *FS) walkStable(prefix string, dir *inode, visit func(path string, n *inode)) {
	for _, e := range dir.stableNames {
		at := prefix + "/" + e.name
		visit(at, e.node)
		if e.node.dir {
			fs.walkStable(at, e.node, visit)
		}
	}
}

// Changes grows with everything that changes the page cache or the durable state. Two equal readings of one disk mean that
// a power cut between them would have found the same.
func (fs *FS) Changes() uint64 { return fs.changes }

// Used is how many bytes of the disk files and directories take, in whole pages.
func (fs *FS) Used() int64 { return fs.pages * PageSize }

// Each visits all files and directories below dir as a process sees them, in the order of the paths' components. data is
// nil for directories; the visitor owns it.
func (fs *FS) Each(dir string, visit func(path string, isDir bool, data []byte)) {
	dir = strings.TrimSuffix(dir, "/")
	fs.walk(func(path string, n *inode) {
		if path != dir && !strings.HasPrefix(path, dir+"/") {
			return
		}
		var data []byte
		if !n.dir {
			data = make([]byte, n.size)
			n.readAt(data, 0)
		}
		visit(path, n.dir, data)
	})
}
