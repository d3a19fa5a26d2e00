package inspect

import (
	"errors"
	"io/fs"
	"os"

	"trialog/core/codec"
	"trialog/core/epochs"
	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// deepMax bounds what one batch may grow to when its records are looked at.
const deepMax = 1 << 30

// segment checks the i-th segment: its batches, and what the indexes say of them.
func (p *partition) segment(i int) error {
	base := p.bases[i]
	limit := kafka.Offset(-1) // the base of the next one
	if i+1 < len(p.bases) {
		limit = p.bases[i+1]
	}
	b, err := OpenBatches(p.file(base, layout.LogSuffix))
	if err != nil {
		return err
	}
	defer b.Close()
	ix, err := p.openIndexes(base, limit < 0)
	if err != nil {
		return err
	}
	path := p.file(base, layout.LogSuffix)
	for b.Next() {
		p.r.Batches++
		p.r.Bytes += int64(b.Header().Size())
		if err := p.compareSnapshots(max(b.Header().BaseOffset, p.next)); err != nil {
			return err
		}
		p.batch(b, path, base, limit)
		ix.batch(b.Header(), b.Pos())
	}
	if b.Err() != nil {
		return b.Err()
	}
	if pos, why := b.Tail(); why != nil {
		p.r.add(p.level(p.next), path, pos, "%v; the last %d bytes of the file are no batch", why, b.Size()-pos)
		p.replay.broken = true
	} else if limit > p.next {
		p.gap(path, pos, p.next, limit, "the next segment begins")
	}
	if limit >= 0 && limit > p.next {
		p.next = limit
	}
	ix.end(p.indexLevel(limit))
	return nil
}

// indexLevel is of what is wrong with the indexes of a segment that ends before limit: those of segments that a recovery
// reads are made anew by it.
func (p *partition) indexLevel(limit kafka.Offset) Level {
	if p.clean || p.facts.recoveryPoint < 0 || limit >= 0 && limit <= p.facts.recoveryPoint {
		return Damage
	}
	return Recoverable
}

// batch checks one batch and moves p.next behind it.
func (p *partition) batch(b *Batches, path string, base, limit kafka.Offset) {
	h, pos := b.Header(), b.Pos()
	level := p.level(p.next)
	if _, err := record.Validate(b.Bytes()); err != nil {
		p.r.add(level, path, pos, "%v", err)
		p.replay.broken = true
		if errors.As(err, new(*record.Error)) && h.NextOffset() > p.next && h.BaseOffset == p.next {
			p.next = h.NextOffset()
		}
		return
	}
	switch {
	case h.BaseOffset < p.next:
		p.r.add(level, path, pos, "base offset %d, but the batches before it end at %d", h.BaseOffset, p.next)
		p.replay.broken = true
	case h.BaseOffset > p.next:
		p.gap(path, pos, p.next, h.BaseOffset, "a batch begins")
	}
	if h.LastOffset()-base > 1<<31-1 {
		p.r.add(level, path, pos, "last offset %d is too far from the base of the segment for its index", h.LastOffset())
	}
	if limit >= 0 && h.NextOffset() > limit {
		p.r.add(level, path, pos, "last offset %d, but the next segment begins at %d", h.LastOffset(), limit)
	}
	if h.Count != h.LastOffsetDelta+1 {
		p.thin(path, pos, h)
	}
	p.checkEpoch(path, pos, h)
	if p.opts.Deep {
		p.records(path, pos, b.Bytes())
	}
	if h.BaseOffset >= p.next && !p.replay.broken {
		p.replay.take(h, b.Bytes())
	}
	p.next = max(p.next, h.NextOffset())
}

// gap reports offsets that are in no batch. Compaction leaves such, and the cleaner's checkpoint says how far it came; above
// it, a follower of a compacted topic has what its leader had.
func (p *partition) gap(path string, pos int64, from, to kafka.Offset, what string) {
	switch {
	case from < p.cleaned:
	case p.bare || p.cleaned >= 0:
		p.r.add(Note, path, pos, "%s at %d, but the one before it ends at %d", what, to, from)
	default:
		p.r.add(p.level(from), path, pos, "%s at %d, but the one before it ends at %d, and the partition was never compacted", what, to, from)
	}
}

// thin reports a batch that has fewer records than offsets.
func (p *partition) thin(path string, pos int64, h *record.Header) {
	switch {
	case h.BaseOffset < p.cleaned:
	case p.bare || p.cleaned >= 0:
		p.r.add(Note, path, pos, "%d records, but %d offsets", h.Count, h.LastOffsetDelta+1)
	default:
		p.r.add(p.level(h.BaseOffset), path, pos, "%d records, but %d offsets, and the partition was never compacted", h.Count, h.LastOffsetDelta+1)
	}
}

// checkEpoch compares the batch's leader epoch with those before it, and with the checkpoint.
func (p *partition) checkEpoch(path string, pos int64, h *record.Header) {
	level := p.level(h.BaseOffset)
	if h.LeaderEpoch < p.epoch {
		p.r.add(level, path, pos, "leader epoch %d after %d", h.LeaderEpoch, p.epoch)
		return
	}
	p.epoch = h.LeaderEpoch
	if p.epochs == nil {
		return
	}
	want := p.epochs.EpochAt(h.BaseOffset)
	if want == epochs.Undefined && (h.LeaderEpoch < 0 || p.epochs.Len() > 0 && h.BaseOffset < p.epochs.Entries()[0].Start && p.belowStart(h)) {
		return // epochs are forgotten below the log start
	}
	if h.LeaderEpoch != want {
		p.r.add(level, path, pos, "leader epoch %d, but %s says %d at offset %d", h.LeaderEpoch, layout.EpochFile, want, h.BaseOffset)
	}
}

// belowStart is whether the batch may begin below the log start: epochs begin there.
func (p *partition) belowStart(h *record.Header) bool {
	first := p.epochs.Entries()[0]
	return h.LeaderEpoch <= first.Epoch && (p.logStart < 0 || first.Start <= max(p.logStart, p.bases[0]))
}

// records looks into the batch.
func (p *partition) records(path string, pos int64, batch []byte) {
	it, err := codec.Records(batch, deepMax)
	if err == nil {
		for it.Next() {
		}
		err = it.Err()
	}
	if err != nil {
		p.r.add(Damage, path, pos, "the CRC is right, but the records cannot be read: %v", err)
	}
}

// readIfListed is the content of a segment's file, or nil when the directory has none.
func (p *partition) readIfListed(base kafka.Offset, suffix string) ([]byte, error) {
	if !p.files[layout.FileName(base, suffix)] {
		return nil, nil
	}
	b, err := os.ReadFile(p.file(base, suffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if b == nil && err == nil {
		b = []byte{}
	}
	return b, err
}
