//go:build !guest

package codec

import "github.com/klauspost/compress/zstd"

// zstdStores: in this build, zstd only stores.
const zstdStores = false

// zstdWindow is the window of what is compressed here: a batch is seldom larger, and a reader has to provide as much.
const zstdWindow = 1 << 20

// zstdStep is the library's level for Kafka's.
func zstdStep(level int) int { return int(zstd.EncoderLevelFromZstd(level)) }

// zstdWriter makes a frame with a window of zstdWindow.
type zstdWriter struct {
	encoder *zstd.Encoder
}

func (w *zstdWriter) begin(to *sink, step int) {
	if w.encoder != nil {
		w.encoder.Reset(to)
		return
	}
	var err error
	w.encoder, err = zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.EncoderLevel(step)),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstdWindow), zstd.WithEncoderCRC(false))
	if err != nil {
		panic("codec: zstd refuses its options: " + err.Error())
	}
}

// write, end: errors can only be the sink's, which remembers them.
func (w *zstdWriter) write(_ *sink, p []byte) { _, _ = w.encoder.Write(p) }

func (w *zstdWriter) end(*sink) { _ = w.encoder.Close() }
