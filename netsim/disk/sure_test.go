package disk

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
)

// faultsOfWrites are all faults that a write can meet, each begun and ended.
var faultsOfWrites = map[string]func(fs *FS, on bool){
	"slow": func(fs *FS, on bool) {
		d := time.Duration(0)
		if on {
			d = time.Millisecond
		}
		fs.Slow(d)
	},
	"stuck": func(fs *FS, on bool) {
		if on {
			fs.Stick()
		} else {
			fs.Release()
		}
	},
	"full": func(fs *FS, on bool) { fs.Full(on) },
	"room": func(fs *FS, on bool) {
		room := int64(-1)
		if on {
			room = 1 << 30
		}
		fs.Room(room)
	},
	"short":  func(fs *FS, on bool) { fs.ShortWrites(on) },
	"failed": func(fs *FS, on bool) { fs.FailWrites(on) },
}

// A disk with a fault is not calm; a write that was taken while it was is made all the same, and the next one is not.
func TestSureWritesMeetNoFault(t *testing.T) {
	for name, fault := range faultsOfWrites {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1, Options{})
			b.run(func(p *kernel.Proc) {
				fd := b.open(p, "/a", create)
				require.True(t, b.fs.Calm())
				fault(b.fs, true)
				require.False(t, b.fs.Calm())
				require.Equal(t, kernel.OK, p.WriteSure(fd, []byte("head "), -1))
				require.Equal(t, kernel.OK, p.WriteSure(fd, make([]byte, 5000), 10))
				require.Equal(t, kernel.OK, p.WriteSure(fd, []byte("tail"), -1))
				require.Equal(t, "head tail", string(b.content("/a")[:9]))
				require.Len(t, b.content("/a"), 5010)
				if name != "room" {
					n, e := p.Pwrite(fd, []byte("more"), 1<<20)
					require.False(t, n == 4 && e == kernel.OK, "the fault is there still")
				}
				fault(b.fs, false)
				require.True(t, b.fs.Calm())
			})
		})
	}
}

func TestCalmNeedsRoom(t *testing.T) {
	b := newBench(t, 1, Options{Capacity: (calmPages + 1) * PageSize})
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/a", create)
		b.write(p, fd, make([]byte, PageSize))
		require.True(t, b.fs.Calm())
		for i := range int64(calmBytes / calmEach) {
			require.Equal(t, kernel.OK, p.WriteSure(fd, []byte("xy"), (2*i+2)*PageSize-1), "write %d of the turn", i)
		}
		require.False(t, b.fs.Calm(), "less than calmPages are left")
	})
}

// A sure write never ends with EFBIG: the guest has long been told that it was made.
func TestNothingIsCalmNearTheEndOfAFile(t *testing.T) {
	for name, reach := range map[string]func(p *kernel.Proc, fd int){
		"position": func(p *kernel.Proc, fd int) { _, _ = p.Seek(fd, FileSizeMax-1, 0) },
		"size":     func(p *kernel.Proc, fd int) { _ = p.Truncate(fd, FileSizeMax) },
		"write":    func(p *kernel.Proc, fd int) { _, _ = p.Pwrite(fd, []byte("x"), FileSizeMax-1) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1, Options{})
			b.run(func(p *kernel.Proc) {
				fd := b.open(p, "/a", create)
				require.True(t, b.fs.Calm())
				reach(p, fd)
				require.False(t, b.fs.Calm())
				require.False(t, b.fs.Clone("c").Calm())
			})
		})
	}
}

func TestWhichFilesAreSure(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		b.open(p, "/a", create)
		for flags, want := range map[kernel.OpenFlags]bool{
			kernel.OpenRead: false, kernel.OpenWrite: true, kernel.OpenRead | kernel.OpenWrite: true,
			kernel.OpenWrite | kernel.OpenSync: false, kernel.OpenWrite | kernel.OpenAppend: true,
		} {
			require.Equal(t, want, p.File(b.open(p, "/a", flags)).(kernel.SureFile).Sure(), "flags %b", flags)
		}
		require.False(t, p.File(b.open(p, "/", kernel.OpenRead)).(kernel.SureFile).Sure())

		fd := b.open(p, "/a", kernel.OpenWrite|kernel.OpenAppend)
		require.Equal(t, kernel.OK, p.WriteSure(fd, []byte("one "), -1))
		require.Equal(t, kernel.OK, p.WriteSure(fd, []byte("two"), 0))
		require.Equal(t, "one two", string(b.content("/a")))
	})
}

// A trap in the middle of a sure write leaves a prefix, and what lives on has written everything.
func TestTrapInTheMiddleOfASureWrite(t *testing.T) {
	for _, off := range []int64{-1, 0} {
		b := newBench(t, 1, Options{})
		b.run(func(p *kernel.Proc) {
			fd, torn := b.open(p, "/a", create), ""
			p.SetTrap(&kernel.Trap{When: kernel.Middle, Fire: func(*kernel.Proc) { torn = string(b.content("/a")) }})
			before := p.CallNumber()
			require.Equal(t, kernel.OK, p.WriteSure(fd, []byte("0123456789"), off))
			require.Less(t, len(torn), 10)
			require.NotEmpty(t, torn)
			require.Equal(t, "0123456789", string(b.content("/a")))
			require.EqualValues(t, 2, p.CallNumber()-before)
		})
	}
}
