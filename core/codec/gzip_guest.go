//go:build guest

package codec

import "compress/gzip"

// A guest has Go's own gzip: slower, and a quarter of a megabyte less to load in every world.
type (
	gzipReader = gzip.Reader
	gzipWriter = gzip.Writer
)

var newGzipWriter = gzip.NewWriterLevel
