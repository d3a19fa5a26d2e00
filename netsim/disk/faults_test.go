package disk

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
)

func TestSyncTakesSeededTime(t *testing.T) {
	opt := Options{SyncNsMin: 1e6, SyncNsMax: 2e6}
	took := func(seed uint64) (ns int64) {
		b := newBench(t, seed, opt)
		b.run(func(p *kernel.Proc) {
			fd := b.open(p, "/a", create)
			start := b.k.Now()
			b.sync(p, fd)
			ns = b.k.Now() - start
		})
		require.GreaterOrEqual(t, ns, opt.SyncNsMin)
		require.Less(t, ns, opt.SyncNsMax+100_000)
		return ns
	}
	require.Equal(t, took(1), took(1))
	require.NotEqual(t, took(1), took(2))
}

func TestSlowDefersReadsAndWrites(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/a", create)
		b.fs.Slow(50 * time.Millisecond)
		start := b.k.Now()
		src := []byte("data")
		require.Equal(t, kernel.EAGAIN, second(p.Write(fd, src)))
		token := p.Deferred()
		copy(src, "XXXX") // the disk must have its own copy by now
		require.Empty(t, b.content("/a"), "a deferred write applies its data at the end")
		p.PollWait([]kernel.Poll{p.PollOn(token, kernel.Readable)}, -1)
		p.ResumeWith(token)
		n, e := p.Write(fd, src)
		require.Equal(t, []any{4, kernel.OK}, []any{n, e})
		require.GreaterOrEqual(t, b.k.Now()-start, int64(50*time.Millisecond))
		require.Equal(t, "data", string(b.content("/a")))

		start = b.k.Now()
		buf := make([]byte, 9)
		require.Equal(t, kernel.OK, wait(p, func() (e kernel.Errno) { n, e = p.Pread(fd, buf, 0); return e }))
		require.Equal(t, "data", string(buf[:n]))
		b.sync(p, fd)
		require.GreaterOrEqual(t, b.k.Now()-start, int64(100*time.Millisecond))

		b.fs.Slow(0)
		b.write(p, fd, []byte("!"))
		require.Zero(t, p.Deferred())
	})
}

func TestOthersRunWhileOneWaits(t *testing.T) {
	b := newBench(t, 1, Options{})
	ticks := 0
	synced := false
	b.fs.Slow(10 * time.Second)
	b.run(func(p *kernel.Proc) {
		b.sync(p, b.open(p, "/a", create))
		synced = true
	}, func(p *kernel.Proc) {
		for !synced {
			p.PollWait(nil, p.Monotonic()+int64(10*time.Millisecond))
			ticks++
		}
	})
	require.InDelta(t, 1000, ticks, 10)
}

func TestStuckUntilReleased(t *testing.T) {
	b := newBench(t, 1, Options{})
	var order []string
	release := int64(30 * time.Second)
	b.fs.Stick()
	b.k.After(release, b.fs.Release)
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/a", create)
		b.write(p, fd, []byte("x"))
		order = append(order, "write")
		b.fs.Stick()
		require.GreaterOrEqual(t, b.k.Now(), release)
		b.k.After(1e9, b.fs.Heal)
		b.sync(p, fd)
		require.GreaterOrEqual(t, b.k.Now(), release+1e9)
	}, func(p *kernel.Proc) {
		p.PollWait(nil, p.Monotonic()+1e9)
		order = append(order, "other")
	})
	require.Equal(t, []string{"other", "write"}, order)
}

func TestKilledWhileStuck(t *testing.T) {
	b := newBench(t, 1, Options{})
	var victim *kernel.Proc
	b.fs.Stick()
	b.run(func(p *kernel.Proc) {
		victim = p
		fd := b.open(p, "/a", create)
		wait(p, func() kernel.Errno { return second(p.Write(fd, []byte("x"))) })
		t.Error("the write cannot have ended")
	}, func(p *kernel.Proc) {
		p.PollWait(nil, p.Monotonic()+1e9)
		b.k.Kill(victim, kernel.ReasonKill)
		b.fs.Release()
	})
	require.Empty(t, b.content("/a"))
}

func TestFullDisk(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/a", create)
		b.write(p, fd, fill('a', 100))
		b.fs.Full(true)
		n, e := p.Write(fd, fill('b', PageSize))
		require.Equal(t, []any{PageSize - 100, kernel.OK}, []any{n, e}, "what fits in the last page is written")
		require.Equal(t, kernel.ENOSPC, second(p.Write(fd, []byte("c"))))
		b.fs.Full(false)
		b.write(p, fd, []byte("c"))
	})
}

func TestWriteFails(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/a", create)
		b.fs.FailWrites(true)
		require.Equal(t, kernel.EIO, second(p.Write(fd, []byte("x"))))
		require.Equal(t, kernel.EIO, second(p.Pwrite(fd, []byte("x"), 0)))
		b.fs.Heal()
		b.write(p, fd, []byte("y"))
	})
	require.Equal(t, "y", string(b.content("/a")))
}

func TestFailedSyncForgetsDirtyPages(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.durable(p, "/a", fill('a', PageSize))
		p.Pwrite(fd, fill('b', 2*PageSize), 0)
		b.fs.FailSyncs(true)
		require.Equal(t, kernel.EIO, wait(p, func() kernel.Errno { return p.Sync(fd) }))
		b.fs.Heal()
		b.sync(p, fd) // succeeds, and does not help
		require.Equal(t, "bb", pages(b.content("/a")))
		require.Contains(t, b.fs.String(), "/a  8192 bytes, clean but not durable 0-1")
	})
	b.fs.PowerCut(Cut{Lose: LoseNone})
	require.Equal(t, "a0", pages(b.content("/a")))
}

func TestFailedDirectorySyncKeepsNamesPending(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		b.open(p, "/a", create)
		dir := b.open(p, "/", kernel.OpenRead)
		b.fs.FailSyncs(true)
		require.Equal(t, kernel.EIO, wait(p, func() kernel.Errno { return p.Sync(dir) }))
	})
	b.fs.PowerCut(Cut{})
	require.Empty(t, b.fs.Files())
}

func TestBitFlips(t *testing.T) {
	for _, c := range []struct {
		side               Side
		now, afterwardsBad bool
	}{{FlipBoth, true, true}, {FlipCached, true, false}, {FlipDurable, false, true}} {
		b := newBench(t, 1, Options{})
		b.run(func(p *kernel.Proc) { b.durable(p, "/t-0.log", fill('a', 100)) })
		path, err := b.fs.Flip("*.log", 17, c.side)
		require.NoError(t, err)
		require.Equal(t, "/t-0.log", path)
		require.Equal(t, c.now, b.content(path)[17] != 'a')
		b.fs.PowerCut(Cut{})
		got := b.content(path)
		require.Equal(t, c.afterwardsBad, got[17] != 'a')
		got[17] = 'a'
		require.Equal(t, fill('a', 100), got, "nothing else changed")
	}
	b := newBench(t, 1, Options{})
	_, err := b.fs.Flip("*.log", 17, FlipBoth)
	require.EqualError(t, err, `disk: flip on b1: no file matches "*.log" and has a byte at offset 17`)
}

func TestWipe(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.durable(p, "/a", []byte("data"))
		b.fs.Wipe()
		require.Empty(t, b.fs.Files())
		buf := make([]byte, 4)
		n, _ := p.Pread(fd, buf, 0)
		require.Equal(t, "data", string(buf[:n]))
	})
	require.Zero(t, b.fs.pages)
	b.fs.PowerCut(Cut{})
	require.Empty(t, b.fs.Files())
}

func TestRoomIsExactAndNamesNeedSome(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		b.fs.Room(2*PageSize + 1)
		fd := b.open(p, "/a", create)
		n, e := p.Write(fd, fill('a', 3*PageSize))
		require.Equal(t, []any{2 * PageSize, kernel.OK}, []any{n, e})
		require.Equal(t, kernel.ENOSPC, second(p.Write(fd, []byte("x"))))
		require.Equal(t, kernel.ENOSPC, p.Mkdir("/d"))
		for i := 1; i < dirNames; i++ {
			b.open(p, "/n"+string(rune('A'+i)), create)
		}
		require.Equal(t, kernel.ENOSPC, second(p.Open("/one-too-many", create)))
		require.Equal(t, kernel.OK, p.Rename("/a", "/b"), "a name for a name")
		b.fs.Room(-1)
		require.Equal(t, kernel.OK, p.Mkdir("/d"))
		b.fs.Room(0)
		require.Equal(t, kernel.OK, p.Rmdir("/d"))
		require.Equal(t, kernel.OK, p.Mkdir("/e"), "what was given back can be had again")
		require.Equal(t, kernel.OK, p.Rename("/b", "/e/b"))
	})
}

func TestReadsFail(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.durable(p, "/a", []byte("data"))
		b.fs.FailReads(true)
		require.Equal(t, kernel.EIO, second(p.Pread(fd, make([]byte, 4), 0)))
		b.fs.Heal()
		require.Equal(t, kernel.OK, second(p.Pread(fd, make([]byte, 4), 0)))
	})
}

func TestShortWrites(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/a", create)
		b.fs.ShortWrites(true)
		n, e := p.Write(fd, fill('a', 1000))
		require.Equal(t, kernel.OK, e)
		require.Less(t, n, 1000)
		require.Len(t, b.content("/a"), n)
		n, _ = p.Pwrite(fd, []byte("b"), 0)
		require.Equal(t, 1, n)
	})
}

func TestWriteThrough(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/a", create|kernel.OpenSync)
		b.syncDir(p, "/")
		b.write(p, fd, []byte("data"))
		b.fs.FailSyncs(true)
		require.Equal(t, kernel.EIO, wait(p, func() kernel.Errno { return second(p.Write(fd, []byte("lost"))) }))
	})
	b.fs.PowerCut(Cut{})
	require.Equal(t, "data", string(b.content("/a")))
}

func TestChosenLosses(t *testing.T) {
	for _, c := range []struct {
		lost Part
		want string
	}{{Name, "a: b:1bb"}, {Size, "a: b:1 c:"}, {Page, "a: b:100 c:0"}} {
		b := newBench(t, 1, Options{})
		b.run(func(p *kernel.Proc) {
			b.durable(p, "/a", nil)
			fd := b.durable(p, "/b", fill('1', PageSize))
			p.Pwrite(fd, fill('b', 2*PageSize), PageSize)
			p.Write(b.open(p, "/c", create), fill('c', PageSize))
		})
		require.Len(t, b.fs.Unsynced(), 6, "the name of c, two sizes, three pages")
		b.fs.PowerCut(Cut{Choose: func(u Unsynced) Fate {
			if u.Part == c.lost {
				return Lost
			}
			return Kept
		}})
		var got []string
		b.fs.Each("/", func(path string, _ bool, data []byte) { got = append(got, path[1:]+":"+pages(data)) })
		require.Equal(t, c.want, strings.Join(got, " "))
		require.Empty(t, b.fs.Unsynced())
	}
}
