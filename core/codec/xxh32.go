package codec

import (
	"encoding/binary"
	"math/bits"
)

const (
	xxPrime1 = 2654435761
	xxPrime2 = 2246822519
	xxPrime3 = 3266489917
	xxPrime4 = 668265263
	xxPrime5 = 374761393
)

// xxh32 is xxHash of 32 bits with seed 0, which lz4 frames are checked with.
func xxh32(b []byte) uint32 {
	n := uint32(len(b))
	h := uint32(xxPrime5)
	if len(b) >= 16 {
		var one uint32 = xxPrime1
		lanes := [4]uint32{one + xxPrime2, xxPrime2, 0, -one}
		for ; len(b) >= 16; b = b[16:] {
			for i := range lanes {
				x := lanes[i] + binary.LittleEndian.Uint32(b[4*i:])*xxPrime2
				lanes[i] = bits.RotateLeft32(x, 13) * xxPrime1
			}
		}
		h = bits.RotateLeft32(lanes[0], 1) + bits.RotateLeft32(lanes[1], 7) + bits.RotateLeft32(lanes[2], 12) +
			bits.RotateLeft32(lanes[3], 18)
	}
	h += n
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*xxPrime3, 17) * xxPrime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*xxPrime5, 11) * xxPrime1
	}
	h ^= h >> 15
	h *= xxPrime2
	h ^= h >> 13
	h *= xxPrime3
	return h ^ h>>16
}
