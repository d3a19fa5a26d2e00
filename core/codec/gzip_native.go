//go:build !guest

package codec

import "github.com/klauspost/compress/gzip"

type (
	gzipReader = gzip.Reader
	gzipWriter = gzip.Writer
)

var newGzipWriter = gzip.NewWriterLevel
