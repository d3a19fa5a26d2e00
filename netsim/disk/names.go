package disk

import (
	"slices"
	"strings"
)

// entry is one name of a directory.
type entry struct {
	name string
	node *inode
}

// entries is sorted by name.
type entries []entry

func (s entries) search(name string) (int, bool) {
	return slices.BinarySearchFunc(s, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
}

func (s entries) get(name string) *inode {
	if i, ok := s.search(name); ok {
		return s[i].node
	}
	return nil
}

func (s *entries) set(name string, node *inode) {
	i, ok := s.search(name)
	if ok {
		(*s)[i].node = node
		return
	}
	*s = slices.Insert(*s, i, entry{name, node})
}

func (s *entries) remove(name string) {
	if i, ok := s.search(name); ok {
		*s = slices.Delete(*s, i, i+1)
	}
}

// nameOp is one operation on names that a power cut may keep or lose as a whole: a name is taken away, a node gets a
// name, or both (rename).
type nameOp struct {
	seq     uint64
	durable bool
	node    *inode // that is named, or was

	gone     *inode // directory that loses a name; nil if none does
	goneName string
	got      *inode // directory that gains a name; nil if none does
	gotName  string
}

func (op *nameOp) touches(dir *inode) bool { return op.gone == dir || op.got == dir }

func (fs *FS) link(dir *inode, name string, node *inode) {
	fs.do(&nameOp{node: node, got: dir, gotName: name})
}

func (fs *FS) unlink(dir *inode, name string) {
	fs.do(&nameOp{node: dir.names.get(name), gone: dir, goneName: name})
}

func (fs *FS) rename(from, to place) {
	fs.do(&nameOp{node: from.node, gone: from.dir, goneName: from.name, got: to.dir, gotName: to.name})
}

// do applies an operation to the page cache and remembers it as not durable.
func (fs *FS) do(op *nameOp) {
	var lost *inode
	fs.changes++
	if op.gone != nil {
		fs.pages -= op.gone.space()
		op.gone.names.remove(op.goneName)
		fs.pages += op.gone.space()
		op.gone.modTime = fs.k.Now()
		lost = op.node
		op.node.parent = nil
	}
	if op.got != nil {
		lost = op.got.names.get(op.gotName)
		if lost != nil {
			lost.parent = nil
		}
		fs.pages -= op.got.space()
		op.got.names.set(op.gotName, op.node)
		fs.pages += op.got.space()
		op.got.modTime = fs.k.Now()
		op.node.parent, op.node.name = op.got, op.gotName
	}
	if lost != nil {
		fs.release(lost)
	}
	fs.lastName++
	op.seq = fs.lastName
	fs.pending = append(fs.pending, op)
	if len(fs.pending) > PendingMax {
		fs.pending[0].durable = true
		fs.fold()
	}
}

// fold moves the oldest operations into the durable state as long as they are durable. A durable operation behind one
// that is not has to wait, because order decides what the names mean.
func (fs *FS) fold() {
	done := 0
	for done < len(fs.pending) && fs.pending[done].durable {
		fs.pending[done].settle()
		fs.pending[done] = nil
		done++
	}
	fs.pending = fs.pending[done:]
}

// settle applies the operation to the durable state. Operations it was based on may have been lost.
func (op *nameOp) settle() {
	if op.got != nil && op.node.dir && op.node.contains(op.got, (*inode).stableDir) {
		return // a directory cannot move below itself; only a lost rename before this one makes it seem so
	}
	if op.gone != nil {
		op.gone.forget(op.goneName)
	}
	if op.got != nil {
		if op.node.stableParent != nil {
			op.node.stableParent.forget(op.node.stableName)
		}
		op.got.forget(op.gotName)
		op.got.stableNames.set(op.gotName, op.node)
		op.node.stableParent, op.node.stableName = op.got, op.gotName
	}
}

// forget removes a durable name, if it is there.
func (n *inode) forget(name string) {
	if node := n.stableNames.get(name); node != nil {
		node.stableParent = nil
		n.stableNames.remove(name)
	}
}
