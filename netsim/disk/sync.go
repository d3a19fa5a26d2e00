package disk

import "trialog/netsim/kernel"

// later defers a call on a node by d, or until Release if the disk is stuck. Calls on one node complete in order.
// do does not run if the power is cut or the process dies before. It answers EAGAIN, for the caller to return.
func (fs *FS) later(p *kernel.Proc, n *inode, d int64, do func() (int, kernel.Errno)) kernel.Errno {
	boot := fs.boot
	run := func() (int, kernel.Errno) {
		if fs.boot != boot {
			return 0, kernel.EIO
		}
		return do()
	}
	if fs.stuck {
		complete := p.DeferUntil()
		fs.hung = append(fs.hung, func() {
			if p.Alive() {
				complete(run())
			}
		})
		return kernel.EAGAIN
	}
	n.busy = max(n.busy, fs.k.Now()+d)
	p.Defer(n.busy-fs.k.Now(), run)
	return kernel.EAGAIN
}

// beginData notes what a file's fsync must make durable, and returns what ends it.
func (fs *FS) beginData(n *inode) (finish func(ok bool)) {
	fs.lastSync++
	number, size, upTo := fs.lastSync, n.size, n.lastSeq
	index := append([]int(nil), n.dirty...)
	pages := make([]*page, len(index))
	for j, i := range index {
		pages[j] = n.slots[i].cached
		if pages[j] != nil {
			pages[j].shared = true
		}
	}
	return func(ok bool) {
		if n.synced > number {
			return // a later fsync was faster, and did all of this
		}
		for j, i := range index {
			if ok {
				n.slots[i].durable = pages[j]
			}
			if n.slots[i].cached == pages[j] {
				n.slots[i].dirty = false
			}
		}
		n.sweepDirty()
		fs.changes++
		if ok {
			n.synced = number
			n.settleSize(size, upTo)
		}
	}
}

// sweepDirty drops from the list what is no longer dirty.
func (n *inode) sweepDirty() {
	keep := n.dirty[:0]
	for _, i := range n.dirty {
		if n.slots[i].dirty {
			keep = append(keep, i)
		}
	}
	n.dirty = keep
}

// settleSize makes the size durable that the file had after change upTo.
func (n *inode) settleSize(size int64, upTo uint64) {
	n.stable = size
	keep, low := n.sizings[:0], size
	for _, s := range n.sizings {
		if s.seq > upTo {
			low = min(low, s.size)
			keep = append(keep, sizing{seq: s.seq, size: s.size, low: low})
		}
	}
	n.sizings = keep
}

// beginNames is beginData for a directory.
func (fs *FS) beginNames(dir *inode) (finish func(ok bool)) {
	upTo := fs.lastName
	return func(ok bool) {
		if ok {
			fs.changes++
			fs.settleNames(dir, upTo)
		}
	}
}

// settleNames makes the operations on the entries of dir up to number upTo durable.
func (fs *FS) settleNames(dir *inode, upTo uint64) {
	for _, op := range fs.pending {
		if op.seq <= upTo && op.touches(dir) {
			op.durable = true
		}
	}
	fs.fold()
}
