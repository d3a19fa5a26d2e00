package explore

import (
	"bytes"

	"github.com/zeebo/xxh3"
)

// canon makes fingerprints. It belongs to one goroutine.
type canon[S any] struct {
	world World[S]
	perms []Perm
	mode  Mode
	seed  uint64
	best  []byte
	other []byte
}

func newCanon[S any](w World[S], o *Options[S]) *canon[S] {
	perms := w.Perms()
	if o.NoSymmetry || len(perms) == 0 {
		perms = []Perm{nil}
	}
	return &canon[S]{world: w, perms: perms, mode: o.Mode, seed: o.Seed}
}

// encode is the smallest encoding of s under all renamings, valid until the next call.
func (c *canon[S]) encode(s *S) []byte {
	c.best = c.world.Encode(s, c.perms[0], c.best[:0])
	for _, p := range c.perms[1:] {
		c.other = c.world.Encode(s, p, c.other[:0])
		if bytes.Compare(c.other, c.best) < 0 {
			c.best, c.other = c.other, c.best
		}
	}
	return c.best
}

// fingerprint is the print of s, and its canonical bytes, valid until the next call.
func (c *canon[S]) fingerprint(s *S) (print64, []byte) {
	b := c.encode(s)
	if c.mode == Hash128 {
		h := xxh3.Hash128Seed(b, c.seed)
		return print64{lo: h.Lo, hi: h.Hi}, b
	}
	return print64{lo: xxh3.HashSeed(b, c.seed)}, b
}

// collision is the chance that among n states two have the same print: n^2 / 2^(bits+1).
func collision(mode Mode, n uint64) float64 {
	bits := 65
	switch mode {
	case Exact:
		return 0
	case Hash128:
		bits = 129
	}
	odds := float64(n) * float64(n)
	for range bits {
		odds /= 2
	}
	return odds
}
