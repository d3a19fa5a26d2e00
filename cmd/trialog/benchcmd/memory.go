package benchcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// touched is page cache that the client fills before a round, and lets go just ahead of what a broker writes, which takes
// its place.
//
// A virtual machine gives memory that is free for a while back to its host, and the first touch of what it gets anew costs
// several times as much as all else that a broker does with a megabyte. Whoever is measured first, or last, would pay for
// it. None of this is part of what is measured.
type touched struct {
	dir     string
	pieces  int
	given   int
	ahead   chan int // so many pieces are to be gone
	working sync.WaitGroup
}

const (
	touchPiece = 8 << 20
	touchAhead = 64 << 20 // so much more than was written is free
	touchMax   = 1 << 30
)

// touch fills as much as will be written. A disk that is full is not this function's problem: there is less of it then.
func touch(until bound) *touched {
	t := &touched{ahead: make(chan int, touchMax/touchPiece)}
	if !until.touch {
		return t
	}
	var err error
	if t.dir, err = os.MkdirTemp(until.dir, "trialog-bench-"); err != nil {
		return t
	}
	piece := make([]byte, touchPiece)
	for int64(t.pieces)*touchPiece < min(until.bytes+touchAhead, touchMax) && err == nil {
		err = os.WriteFile(t.piece(t.pieces), piece, 0o600)
		t.pieces++
	}
	t.working.Go(t.work)
	t.letGo(0)
	return t
}

func (t *touched) piece(i int) string { return filepath.Join(t.dir, fmt.Sprint(i)) }

// work removes files beside the requests, not between them.
func (t *touched) work() {
	gone := 0
	for want := range t.ahead {
		for ; gone < want; gone++ {
			os.Remove(t.piece(gone))
		}
	}
}

// letGo gives free what will be needed when so many bytes have been written.
func (t *touched) letGo(written int64) {
	if want := min(int((written+touchAhead)/touchPiece), t.pieces); want > t.given {
		t.given = want
		t.ahead <- want
	}
}

// end removes what is left.
func (t *touched) end() {
	close(t.ahead)
	t.working.Wait()
	if t.dir != "" {
		os.RemoveAll(t.dir)
	}
}
