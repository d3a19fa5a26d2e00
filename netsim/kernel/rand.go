package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Rand is the simulator's own generator (xoshiro256**), so that a seed means the same execution under every Go
// release. It is not safe for concurrent use and need not be: one process runs at a time.
type Rand struct{ s [4]uint64 }

// NewRand returns the stream named by the parts, for this seed. Streams with different names are independent: what
// one consumes shifts nothing in another.
func NewRand(seed uint64, name ...string) *Rand {
	h := sha256.New()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	h.Write(b[:])
	for _, n := range name {
		h.Write([]byte{0})
		h.Write([]byte(n))
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	r := &Rand{}
	for i := range r.s {
		r.s[i] = binary.LittleEndian.Uint64(sum[8*i:])
	}
	return r
}

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 {
	s := &r.s
	out := bits.RotateLeft64(s[1]*5, 7) * 9
	t := s[1] << 17
	s[2] ^= s[0]
	s[3] ^= s[1]
	s[1] ^= s[2]
	s[0] ^= s[3]
	s[2] ^= t
	s[3] = bits.RotateLeft64(s[3], 45)
	return out
}

// Intn returns a number in [0, n). It panics if n <= 0.
func (r *Rand) Intn(n int) int { return int(r.Int63n(int64(n))) }

// Int63n returns a number in [0, n). It panics if n <= 0.
func (r *Rand) Int63n(n int64) int64 {
	if n <= 0 {
		panic("kernel: Int63n of a bound that is not positive")
	}
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int64(hi)
}

// Between returns a number in [lo, hi]. It panics if hi < lo.
func (r *Rand) Between(lo, hi int64) int64 { return lo + r.Int63n(hi-lo+1) }

// Float64 returns a number in [0, 1).
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// Chance is true with probability num/den.
func (r *Rand) Chance(num, den int) bool { return r.Intn(den) < num }

// Fill overwrites b with random bytes.
func (r *Rand) Fill(b []byte) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, r.Uint64())
		b = b[8:]
	}
	if len(b) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], r.Uint64())
		copy(b, last[:])
	}
}
