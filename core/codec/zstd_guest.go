//go:build guest

package codec

// zstdStores: in this build, zstd only stores.
const zstdStores = true

// zstdStep is 0: there are no levels.
func zstdStep(int) int { return 0 }

// zstdWriter makes a frame of blocks that are stored as they are. The library's encoder would be half a megabyte of a
// program that is loaded in every world, and nothing there depends on how small a batch becomes; any reader of zstd reads
// the frame.
type zstdWriter struct{}

// zstdBlockMax is the largest block of a frame.
const zstdBlockMax = 128 << 10

// begin writes the magic, flags for nothing, and a window of 1 MiB.
func (*zstdWriter) begin(to *sink, _ int) { to.append([]byte("\x28\xb5\x2f\xfd\x00\x50")) }

func (*zstdWriter) write(to *sink, p []byte) {
	for len(p) > 0 {
		n := min(len(p), zstdBlockMax)
		to.append([]byte{byte(n << 3), byte(n >> 5), byte(n >> 13)})
		to.append(p[:n])
		p = p[n:]
	}
}

// end writes the last block, which is empty.
func (*zstdWriter) end(to *sink) { to.append([]byte{1, 0, 0}) }
