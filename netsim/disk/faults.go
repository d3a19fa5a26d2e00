package disk

import "time"

// Lose says what a power cut takes of what is not durable.
type Lose uint8

// Modes of loss.
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
}

// PowerCut throws the page cache away and leaves the durable state, with what the cut keeps by seed. The processes of
// the host must be dead or die at the same moment; a call under way gives no promise.
func (fs *FS) PowerCut(c Cut) { panic("disk: PowerCut") }

// Slow makes every fsync, read and write take that much longer; reads and writes are then deferred like fsync.
// 0 ends it.
func (fs *FS) Slow(extra time.Duration) { panic("disk: Slow") }

// Stick makes every fsync, read and write hang until Release.
func (fs *FS) Stick() { panic("disk: Stick") }

// Release completes what hangs, in order, and ends Stick.
func (fs *FS) Release() { panic("disk: Release") }

// Full makes every write that needs a new page fail with ENOSPC, as if the disk were at its capacity.
func (fs *FS) Full(on bool) { panic("disk: Full") }

// FailWrites makes every write fail with EIO.
func (fs *FS) FailWrites(on bool) { panic("disk: FailWrites") }

// FailSyncs makes every fsync fail with EIO. As in Linux the dirty pages count as clean afterwards although they are
// not durable: a later fsync succeeds without them.
func (fs *FS) FailSyncs(on bool) { panic("disk: FailSyncs") }

// Heal ends Slow, Stick, Full, FailWrites and FailSyncs.
func (fs *FS) Heal() { panic("disk: Heal") }

// Side says which copy of a page a bit flip hits.
type Side uint8

// Sides of a flip.
const (
	FlipBoth    Side = iota // seen at once, and after a power cut
	FlipCached              // seen until the page is read from the disk again
	FlipDurable             // seen after a power cut only
)

// Flip inverts a seeded bit of the byte at offset in one file that the pattern means (a seeded choice of those long
// enough; see [Match]) and returns its path.
func (fs *FS) Flip(pattern string, offset int64, side Side) (string, error) { panic("disk: Flip") }

// Wipe empties the filesystem, durably. Open files keep their data.
func (fs *FS) Wipe() { panic("disk: Wipe") }
