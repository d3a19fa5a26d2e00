package disk

import (
	"bytes"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
)

func TestKillKeepsThePageCache(t *testing.T) {
	b := newBench(t, 1, Options{})
	var victim *kernel.Proc
	b.run(func(p *kernel.Proc) {
		victim = p
		fd := b.open(p, "/a", create)
		b.write(p, fd, []byte("unsynced"))
		p.PollWait(nil, -1)
	}, func(p *kernel.Proc) {
		p.PollWait(nil, p.Monotonic()+1e6)
		b.k.Kill(victim, kernel.ReasonKill)
	})
	require.Equal(t, "unsynced", string(b.content("/a")))
}

func TestPowerCutLosesWhatWasNotSynced(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.durable(p, "/synced", fill('a', PageSize))
		p.Pwrite(fd, []byte("XX"), 10)
		b.write(p, fd, []byte("tail"))

		nameless := b.open(p, "/nameless", create)
		b.write(p, nameless, []byte("data and size are durable, the name is not"))
		b.sync(p, nameless)

		dataless := b.open(p, "/dataless", create)
		b.syncDir(p, "/")
		b.write(p, dataless, []byte("the name is durable, the data is not"))
		p.Close(b.open(p, "/late", create))
	})
	fork := b.fs.Clone("fork")
	b.fs.PowerCut(Cut{Lose: LoseUnsynced})
	require.Equal(t, []string{"/dataless", "/nameless", "/synced"}, b.fs.Files(),
		"the directory's fsync came after the creation of /nameless")
	require.Equal(t, fill('a', PageSize), b.content("/synced"))
	require.Empty(t, b.content("/dataless"))

	fork.PowerCut(Cut{Lose: LoseNone})
	require.Len(t, fork.Files(), 4)
	data, _ := fork.ReadFile("/synced")
	require.Equal(t, "XX", string(data[10:12]))
	require.Len(t, data, PageSize+4)
}

func TestNameWithoutDirectorySyncVanishes(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		p.Mkdir("/d")
		fd := b.open(p, "/d/f", create)
		b.sync(p, fd)
		b.syncDir(p, "/d") // but not "/"
		p.Mkdir("/e")
		b.syncDir(p, "/")
		fd = b.open(p, "/e/f", create)
		b.sync(p, fd)
	})
	b.fs.PowerCut(Cut{})
	require.Equal(t, []string{"/d/f"}, b.fs.Files(), "the second fsync of / made /d durable; /e lost its entry")
}

func TestSyncCoversWhatWasThereWhenItBegan(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.durable(p, "/a", []byte("one"))
		p.Pwrite(fd, []byte("two"), 0)
		require.Equal(t, kernel.EAGAIN, p.Sync(fd))
		token := p.Deferred()
		p.Pwrite(fd, []byte("three"), 0) // while the fsync is under way
		p.PollWait([]kernel.Poll{p.PollOn(token, kernel.Readable)}, -1)
		p.ResumeWith(token)
		require.Equal(t, kernel.OK, p.Sync(fd))
	})
	b.fs.PowerCut(Cut{})
	require.Equal(t, "two", string(b.content("/a")))
}

func TestSyncUnderWayPromisesNothing(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.durable(p, "/a", []byte("one"))
		p.Pwrite(fd, []byte("two"), 0)
		require.Equal(t, kernel.EAGAIN, p.Sync(fd))
		b.fs.PowerCut(Cut{})
		b.k.Kill(p, kernel.ReasonPowerCut)
		p.Yield()
	})
	require.Equal(t, "one", string(b.content("/a")))
}

func TestLaterSyncMayOvertake(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.durable(p, "/a", []byte("one"))
		p.Pwrite(fd, []byte("two"), 0)
		b.fs.Slow(1e9)
		require.Equal(t, kernel.EAGAIN, p.Sync(fd))
		slow := p.Deferred()
		b.fs.Slow(0)
		p.Pwrite(fd, []byte("six"), 0)
		b.fs.Stick()
		require.Equal(t, kernel.EAGAIN, p.Sync(fd))
		fast := p.Deferred()
		b.fs.Release()
		for _, token := range []int32{fast, slow} {
			p.PollWait([]kernel.Poll{p.PollOn(token, kernel.Readable)}, -1)
			p.ResumeWith(token)
			require.Equal(t, kernel.OK, p.Sync(fd))
		}
	})
	b.fs.PowerCut(Cut{})
	require.Equal(t, "six", string(b.content("/a")), "the older fsync must not bring older data back")
}

func TestKilledSyncLeavesPagesDirty(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.durable(p, "/a", []byte("one"))
		p.Pwrite(fd, []byte("two"), 0)
		require.Equal(t, kernel.EAGAIN, p.Sync(fd))
	}, func(p *kernel.Proc) {
		p.PollWait(nil, p.Monotonic()+1e9)
		b.sync(p, b.open(p, "/a", rdwr))
	})
	b.fs.PowerCut(Cut{})
	require.Equal(t, "two", string(b.content("/a")))
}

// outcomes prepares the same disk for many seeds, cuts its power, and counts what is left under names that see gives.
func outcomes(t *testing.T, seeds int, c Cut, prepare func(*bench, *kernel.Proc), see func(*bench) string) []string {
	t.Helper()
	count := map[string]int{}
	for seed := range seeds {
		b := newBench(t, uint64(seed), Options{})
		b.run(func(p *kernel.Proc) { prepare(b, p) })
		b.fs.PowerCut(c)
		count[see(b)]++
	}
	var list []string
	for s := range count {
		list = append(list, s)
	}
	sort.Strings(list)
	return list
}

// pages names each page of a file by what it holds: a letter, 0 for zeros, or a mix.
func pages(data []byte) string {
	var s []byte
	for len(data) > 0 {
		pg := data[:min(len(data), PageSize)]
		data = data[len(pg):]
		switch c := pg[0]; {
		case !bytes.Equal(pg, fill(c, len(pg))):
			s = append(s, '~')
		case c == 0:
			s = append(s, '0')
		default:
			s = append(s, c)
		}
	}
	return string(s)
}

func seePages(path string) func(*bench) string {
	return func(b *bench) string { return pages(b.content(path)) }
}

func TestLoseSomePages(t *testing.T) {
	got := outcomes(t, 100, Cut{Lose: LoseSome}, func(b *bench, p *kernel.Proc) {
		fd := b.durable(p, "/a", fill('a', 2*PageSize))
		p.Pwrite(fd, fill('b', 2*PageSize), 0)
	}, seePages("/a"))
	require.Equal(t, []string{"aa", "ab", "ba", "bb"}, got)
}

func TestLoseSomeSizes(t *testing.T) {
	got := outcomes(t, 300, Cut{Lose: LoseSome}, func(b *bench, p *kernel.Proc) {
		fd := b.durable(p, "/a", fill('a', PageSize))
		b.write(p, fd, fill('b', PageSize))
		b.write(p, fd, fill('c', PageSize))
	}, seePages("/a"))
	require.Equal(t, []string{"a", "a0", "a00", "a0c", "ab", "ab0", "abc"}, got, "a kept size of lost pages reads as zeros")
}

func TestLostTruncationAndWhatFollowedIt(t *testing.T) {
	got := outcomes(t, 300, Cut{Lose: LoseSome}, func(b *bench, p *kernel.Proc) {
		fd := b.durable(p, "/a", fill('a', 2*PageSize))
		p.Truncate(fd, 0)
		p.Pwrite(fd, fill('b', 2*PageSize), 0)
	}, seePages("/a"))
	require.Equal(t, []string{"", "00", "0b", "aa", "ab", "b0", "ba", "bb"}, got)
	// 00 0b b0 bb: the truncation was kept, so nothing of the old pages comes back next to the new ones.
}

func TestLoseSomeNames(t *testing.T) {
	see := func(b *bench) string {
		s := ""
		for _, path := range b.fs.Files() {
			s += path + "=" + string(b.content(path)) + " "
		}
		return s
	}
	got := outcomes(t, 100, Cut{Lose: LoseSome}, func(b *bench, p *kernel.Proc) {
		b.durable(p, "/x", []byte("1"))
		fd := b.open(p, "/tmp", create)
		b.write(p, fd, []byte("2"))
		b.sync(p, fd)
		p.Rename("/tmp", "/x")
	}, see)
	require.Equal(t, []string{"/tmp=2 /x=1 ", "/x=1 ", "/x=2 "}, got, "a rename is kept as a whole or not at all")

	got = outcomes(t, 100, Cut{Lose: LoseSome}, func(b *bench, p *kernel.Proc) {
		b.durable(p, "/a", []byte("1"))
		b.durable(p, "/b", []byte("2"))
		p.Unlink("/a")
		p.Unlink("/b")
	}, see)
	require.Equal(t, []string{"", "/a=1 ", "/a=1 /b=2 ", "/b=2 "}, got)
}

func TestDirectoriesNeverVanishIntoEachOther(t *testing.T) {
	got := outcomes(t, 100, Cut{Lose: LoseSome}, func(b *bench, p *kernel.Proc) {
		require.NoError(t, b.fs.WriteFile("/a/1", nil))
		require.NoError(t, b.fs.WriteFile("/b/2", nil))
		p.Rename("/a", "/b/a")
		p.Rename("/b/a", "/a")
		p.Rename("/b", "/a/b")
	}, func(b *bench) string {
		require.Len(t, b.fs.Files(), 2)
		return strings.Join(b.fs.Files(), " ")
	})
	require.Equal(t, []string{"/a/1 /a/b/2", "/a/1 /b/2", "/b/2 /b/a/1"}, got)
}

func TestTornPages(t *testing.T) {
	prepare := func(b *bench, p *kernel.Proc) {
		fd := b.durable(p, "/a", fill('a', PageSize))
		p.Pwrite(fd, fill('b', PageSize), 0)
	}
	see := func(b *bench) string {
		data := b.content("/a")
		fresh := bytes.IndexByte(data, 'a')
		if fresh < 0 {
			return "8"
		}
		require.Zero(t, fresh%SectorSize)
		require.Equal(t, append(fill('b', fresh), fill('a', PageSize-fresh)...), data, "a prefix of sectors")
		return string(rune('0' + fresh/SectorSize))
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}, outcomes(t, 200, Cut{Lose: LoseSome, Torn: true}, prepare, see))
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5", "6", "7"}, outcomes(t, 200, Cut{Torn: true}, prepare, see))
	require.Equal(t, []string{"0"}, outcomes(t, 20, Cut{}, prepare, see))
	require.Equal(t, []string{"0", "8"}, outcomes(t, 20, Cut{Lose: LoseSome}, prepare, see))
}

func TestTornAppend(t *testing.T) {
	got := outcomes(t, 200, Cut{Torn: true}, func(b *bench, p *kernel.Proc) {
		fd := b.durable(p, "/a", nil)
		b.write(p, fd, fill('b', 2*PageSize))
	}, seePages("/a"))
	require.Equal(t, []string{"", "00", "0~", "~0", "~~"}, got)
}

func TestZerosBehindTheEnd(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.durable(p, "/a", fill('a', 100))
		p.Truncate(fd, 50)
		b.sync(p, fd)
	})
	b.fs.PowerCut(Cut{})
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/a", rdwr)
		p.Truncate(fd, 100)
	})
	require.Equal(t, append(fill('a', 50), fill(0, 50)...), b.content("/a"))
}
