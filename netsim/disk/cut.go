package disk

// Lose says what a power cut takes of what is not durable.
type Lose uint8

// Modes of loss. Pages that a failed fsync marked clean are lost in every mode.
const (
	LoseUnsynced Lose = iota // everything
	LoseSome                 // each page, size change and name operation is kept or lost by seed
	LoseNone                 // nothing
)

// Cut describes a power cut.
type Cut struct {
	Lose Lose
	// Torn lets pages be kept as a seeded prefix of their sectors. With LoseUnsynced the size changes of a file
	// are then drawn as with LoseSome, since a torn page behind the end of a file could not be seen.
	Torn bool
	// Choose, when set, decides instead of Lose and Torn, thing by thing.
	Choose func(Unsynced) Fate
}

// PowerCut throws the page cache away and leaves the durable state, with what the cut keeps by seed. The processes of
// the host must be dead or die at the same moment; a call under way gives no promise.
func (fs *FS) PowerCut(c Cut) {
	fs.k.Note(fs.host, "disk: power cut", int64(c.Lose), int64(len(fs.pending)), 0)
	fs.boot++
	fs.hung = nil
	for _, op := range fs.pending {
		if op.durable || fs.keepsName(op, c) {
			op.settle()
		}
	}
	fs.pending = nil
	fs.pages = -rootSpace
	fs.changes++
	fs.reload(fs.root, "", c)
	fs.k.Kick()
}

func (fs *FS) keepsName(op *nameOp, c Cut) bool {
	if c.Choose != nil {
		return c.Choose(op.unsynced()) != Lost
	}
	switch c.Lose {
	case LoseNone:
		return true
	case LoseSome:
		return fs.cuts.Chance(1, 2)
	default:
		return false
	}
}

// reload makes the page cache equal to the durable state, from n at this path down, in name order.
func (fs *FS) reload(n *inode, at string, c Cut) {
	n.opens, n.busy = 0, 0
	n.parent, n.name = n.stableParent, n.stableName
	if !n.dir {
		fs.settleFile(n, at, c)
		return
	}
	n.names = append(n.names[:0:0], n.stableNames...)
	fs.pages += n.space()
	for _, e := range n.names {
		fs.reload(e.node, at+"/"+e.name, c)
	}
}

// settleFile decides what is left of a file.
func (fs *FS) settleFile(n *inode, at string, c Cut) {
	size, low := fs.keptSize(n, at, c)
	odds := 4
	if c.Lose == LoseSome {
		odds = fs.cuts.Intn(9) // some files lose nearly all, some nearly nothing
	}
	for i := range n.slots {
		s := &n.slots[i]
		left := s.durable.upTo(low - int64(i)*PageSize)
		if s.dirty {
			left = fs.keptPage(left, n, i, at, c, odds)
		}
		left = left.upTo(size - int64(i)*PageSize)
		if left != nil {
			left.shared = true
			fs.pages++
		}
		*s = slot{cached: left, durable: left}
	}
	n.slots = n.slots[:min(len(n.slots), int((size+PageSize-1)/PageSize))]
	n.dirty, n.sizings = nil, nil
	n.size, n.stable = size, size
}

// keptSize draws the size that is left, and up to where the durable pages are still valid: what a kept truncation cut
// off does not come back.
func (fs *FS) keptSize(n *inode, at string, c Cut) (size, low int64) {
	kept := len(n.sizings) // how many of the changes, oldest first
	switch {
	case kept > 0 && c.Choose != nil:
		if c.Choose(Unsynced{Part: Size, Inode: n.id, Path: at}) == Lost {
			kept = 0
		}
	case kept == 0 || c.Lose == LoseNone:
	case c.Lose == LoseSome || c.Torn:
		switch fs.cuts.Intn(3) {
		case 0:
			kept = 0
		case 1:
			kept = fs.cuts.Intn(kept + 1)
		}
	default:
		kept = 0
	}
	if kept == 0 {
		return n.stable, n.stable
	}
	return n.sizings[kept-1].size, n.sizings[kept-1].low
}

// keptPage draws what is left of dirty page i of a file: old, what was written, or with a torn cut the first sectors of
// that over old.
func (fs *FS) keptPage(old *page, n *inode, i int, at string, c Cut, odds int) *page {
	fresh := n.slots[i].cached
	var keep, torn bool
	if c.Choose != nil {
		fate := c.Choose(Unsynced{Part: Page, Inode: n.id, Path: at, Page: i, Last: i == n.lastDirty()})
		keep, torn = fate == Kept, fate == Torn
	} else {
		keep = c.Lose == LoseNone || (c.Lose == LoseSome && fs.cuts.Chance(odds, 8))
		torn = c.Torn && fs.cuts.Chance(1, 3)
	}
	if torn {
		return tear(old, fresh, SectorSize*int(fs.cuts.Between(1, PageSize/SectorSize-1)))
	}
	if keep {
		return fresh
	}
	return old
}

// tear returns a page that begins with n bytes of fresh and goes on with old.
func tear(old, fresh *page, n int) *page {
	out := &page{}
	if old != nil {
		out.b = old.b
	}
	clear(out.b[:n])
	if fresh != nil {
		copy(out.b[:n], fresh.b[:n])
	}
	return out
}

// upTo returns the page with zeros from byte n on; itself if nothing changes.
func (p *page) upTo(n int64) *page {
	switch {
	case p == nil || n >= PageSize:
		return p
	case n <= 0:
		return nil
	}
	for _, b := range p.b[n:] {
		if b != 0 {
			out := &page{b: p.b}
			clear(out.b[n:])
			return out
		}
	}
	return p
}
