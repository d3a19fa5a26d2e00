package codec

import (
	"runtime"
	"sync"
)

// slots bounds the streams that are open at a time. More than the processors could work on would only cost memory.
var slots = sync.OnceValue(func() chan struct{} { return make(chan struct{}, 2*runtime.GOMAXPROCS(0)) })

// big is held by the one stream that keeps more than windowMax in memory: a raw snappy block that cannot be read in
// pieces, or a zstd frame with a larger window.
var big = make(chan struct{}, 1)

// windowMax is what a stream may keep in memory of what it decompresses: the window of zstd up to level 19.
const windowMax = 8 << 20
