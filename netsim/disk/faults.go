package disk

import (
	"fmt"
	"time"
)

// Slow makes every fsync, read and write take that much longer; reads and writes are then deferred like fsync.
// 0 ends it.
func (fs *FS) Slow(extra time.Duration) {
	fs.k.Note(fs.host, "disk: slow", int64(extra), 0, 0)
	fs.slow = max(int64(extra), 0)
}

// Stick makes every fsync, read and write that begins from now on hang until Release.
func (fs *FS) Stick() {
	fs.k.Note(fs.host, "disk: stuck", 0, 0, 0)
	fs.stuck = true
}

// Release completes what hangs, in order, and ends Stick.
func (fs *FS) Release() {
	fs.k.Note(fs.host, "disk: released", int64(len(fs.hung)), 0, 0)
	fs.stuck = false
	hung := fs.hung
	fs.hung = nil
	for _, complete := range hung {
		complete()
	}
}

// Full makes every call that needs a new page fail with ENOSPC, as if the disk were at its capacity: writes, a directory,
// and every 64th name in one.
func (fs *FS) Full(on bool) { fs.toggle(&fs.full, "disk: full", on) }

// Room leaves so many bytes for new pages, rounded down, whatever the capacity: then the disk is full. A negative number
// ends it.
func (fs *FS) Room(bytes int64) {
	fs.k.Note(fs.host, "disk: room", bytes, 0, 0)
	fs.limit = noLimit
	if bytes >= 0 {
		fs.limit = fs.pages + bytes/PageSize
	}
}

// noLimit is the limit of a disk that ends at its capacity.
const noLimit = -1

// fits tells whether there is room for so many more pages.
func (fs *FS) fits(pages int64) bool {
	if pages <= 0 {
		return true
	}
	return !fs.full && (fs.pages+pages)*PageSize <= fs.opt.Capacity && (fs.limit == noLimit || fs.pages+pages <= fs.limit)
}

// The writes of one turn of a guest are at most calmBytes, each of which counts for calmEach at least and so may lie in
// two pages. A calm disk has that room, and no file or position lies so far that its end could be reached.
const (
	calmBytes = 256 << 10
	calmEach  = 48
	calmPages = 2*calmBytes/calmEach + calmBytes/PageSize
	calmEnd   = FileSizeMax / 2
)

// Calm tells whether writes are taken whole and at once, and will be for the next 256 KiB in pieces of any length.
func (fs *FS) Calm() bool {
	return fs.slow == 0 && !fs.stuck && !fs.short && !fs.failWrites && !fs.far && fs.limit == noLimit && fs.fits(calmPages)
}

// reached notes how far a file or the position in one lies. There is no way back: such disks are rare.
func (fs *FS) reached(off int64) { fs.far = fs.far || off > calmEnd }

// FailReads makes every read of a file fail with EIO, as if nothing of it were in the page cache.
func (fs *FS) FailReads(on bool) { fs.toggle(&fs.failReads, "disk: reads fail", on) }

// ShortWrites makes every write of 2 bytes or more write a seeded proper prefix only, and say so: what write(2) may always
// do and hardly ever does.
func (fs *FS) ShortWrites(on bool) { fs.toggle(&fs.short, "disk: short writes", on) }

// FailWrites makes every write fail with EIO.
func (fs *FS) FailWrites(on bool) { fs.toggle(&fs.failWrites, "disk: writes fail", on) }

// FailSyncs makes every fsync that ends meanwhile fail with EIO. As in Linux the dirty pages count as clean
// afterwards although they are not durable: a later fsync succeeds without them.
func (fs *FS) FailSyncs(on bool) { fs.toggle(&fs.failSyncs, "disk: fsyncs fail", on) }

func (fs *FS) toggle(fault *bool, what string, on bool) {
	*fault = on
	v := int64(0)
	if on {
		v = 1
	}
	fs.k.Note(fs.host, what, v, 0, 0)
}

// Heal ends Slow, Stick, Full, Room, ShortWrites, FailReads, FailWrites and FailSyncs.
func (fs *FS) Heal() {
	fs.k.Note(fs.host, "disk: healed", 0, 0, 0)
	fs.slow, fs.full, fs.limit = 0, false, noLimit
	fs.short, fs.failReads, fs.failWrites, fs.failSyncs = false, false, false, false
	if fs.stuck {
		fs.Release()
	}
}

// Side says which copy of a page a bit flip hits.
type Side uint8

// Sides of a flip.
const (
	FlipBoth    Side = iota // seen at once, and after a power cut
	FlipCached              // seen until the page is read from the disk again
	FlipDurable             // seen after a power cut only
)

// Flip inverts a seeded bit of the byte at offset in one file that the pattern means (a seeded choice of those long
// enough on that side; see [Match]) and returns its path.
func (fs *FS) Flip(pattern string, offset int64, side Side) (string, error) {
	var at []string
	var nodes []*inode
	fs.walk(func(path string, n *inode) {
		size := n.size
		if side == FlipDurable {
			size = n.stable
		}
		if !n.dir && offset >= 0 && offset < size && Match(pattern, path) {
			at, nodes = append(at, path), append(nodes, n)
		}
	})
	if len(at) == 0 {
		return "", fmt.Errorf("disk: flip on %s: no file matches %q and has a byte at offset %d", fs.host, pattern, offset)
	}
	pick := fs.flips.Intn(len(at))
	bit := byte(1) << fs.flips.Intn(8)
	nodes[pick].flip(offset, bit, side)
	fs.k.Note(fs.host, "disk: bit flip", int64(nodes[pick].id), offset, int64(bit))
	return at[pick], nil
}

// flip changes a bit in a copy of the page, since others may share it. It makes nothing dirty.
func (n *inode) flip(offset int64, bit byte, side Side) {
	i, in := int(offset/PageSize), int(offset%PageSize)
	for len(n.slots) <= i {
		n.slots = append(n.slots, slot{})
	}
	flipped := func(p *page) *page {
		out := &page{shared: true}
		if p != nil {
			out.b = p.b
		}
		out.b[in] ^= bit
		return out
	}
	s := &n.slots[i]
	both := s.cached == s.durable && side == FlipBoth
	if side != FlipDurable {
		s.cached = flipped(s.cached)
	}
	if both {
		s.durable = s.cached
	} else if side != FlipCached && offset < n.stable {
		s.durable = flipped(s.durable)
	}
}

// Wipe empties the filesystem, durably. Open files keep their data.
func (fs *FS) Wipe() {
	fs.k.Note(fs.host, "disk: wiped", 0, 0, 0)
	fs.walk(func(_ string, n *inode) {
		n.parent, n.stableParent = nil, nil
		if n.opens == 0 {
			fs.pages -= n.space()
		}
	})
	fs.pages -= fs.root.space() - rootSpace
	fs.pending = nil
	fs.root = fs.newInode(true)
	fs.changes++
}
