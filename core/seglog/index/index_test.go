package index

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/seglog/layout"
	"trialog/core/seglog/openfiles"
)

// segment is an owner that ends where it is told.
type segment struct{ end, size int64 }

func (s *segment) RelativeEnd() (int64, int64) { return s.end, s.size }

func place(dir string) Place { return Place{Files: openfiles.New(3), Dir: dir} }

func offsetAt(i int) layout.OffsetEntry {
	return layout.OffsetEntry{Last: uint32(3*i + 1), Pos: uint32(100 * (i + 1))}
}

func timeAt(i int) layout.TimeEntry {
	return layout.TimeEntry{Timestamp: int64(5 * (i + 1)), Last: uint32(3*i + 1)}
}

// model is an index as two lists, beside one.
type model struct {
	dir     string
	owner   *segment
	x       *Index
	offsets []layout.OffsetEntry
	times   []layout.TimeEntry
	next    int
	sealed  bool
}

func (m *model) add(t require.TestingT, n int) {
	for range n {
		o, ts := offsetAt(m.next), timeAt(m.next)
		require.NoError(t, m.x.AddOffset(o))
		m.offsets = append(m.offsets, o)
		if m.next%3 != 0 { // not every entry has a larger timestamp
			require.NoError(t, m.x.AddTime(ts))
			m.times = append(m.times, ts)
		}
		m.next++
		m.owner.end, m.owner.size = int64(o.Last)+1, int64(o.Pos)+100
		m.sealed = false
	}
}

func (m *model) cut(t require.TestingT, end, pos int64) {
	require.NoError(t, m.x.Cut(end, pos))
	m.offsets = slices.DeleteFunc(m.offsets, func(e layout.OffsetEntry) bool { return int64(e.Pos) >= pos })
	m.times = slices.DeleteFunc(m.times, func(e layout.TimeEntry) bool { return int64(e.Last) >= end })
	m.next = len(m.offsets)
	m.sealed = false
}

func (m *model) check(t require.TestingT, rel, ts int64) {
	var sc Scratch
	e, found, err := m.x.Offset(rel, &sc)
	require.NoError(t, err)
	require.LessOrEqual(t, sc.Preads, 1)
	i := slices.IndexFunc(m.offsets, func(e layout.OffsetEntry) bool { return int64(e.Last) > rel })
	if i < 0 {
		i = len(m.offsets)
	}
	require.Equal(t, i > 0, found, "offset %d", rel)
	if i > 0 {
		require.Equal(t, m.offsets[i-1], e)
	}
	sc = Scratch{}
	te, found, err := m.x.Time(ts, &sc)
	require.NoError(t, err)
	require.LessOrEqual(t, sc.Preads, 1)
	i = slices.IndexFunc(m.times, func(e layout.TimeEntry) bool { return e.Timestamp > ts })
	if i < 0 {
		i = len(m.times)
	}
	require.Equal(t, i > 0, found, "time %d", ts)
	if i > 0 {
		require.Equal(t, m.times[i-1], te)
	}
	last, found, err := m.x.LastTime()
	require.NoError(t, err)
	require.Equal(t, len(m.times) > 0, found)
	if found {
		require.Equal(t, m.times[len(m.times)-1], last)
	}
}

func TestAgainstLists(t *testing.T) {
	root := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		m := &model{dir: filepath.Join(root, fmt.Sprint(runs)), owner: &segment{}}
		require.NoError(t, os.Mkdir(m.dir, 0o755))
		defer os.RemoveAll(m.dir)
		var err error
		m.x, err = Empty(m.owner, place(m.dir))
		require.NoError(t, err)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) { m.add(t, rapid.SampledFrom([]int{1, 7, 100, 700}).Draw(t, "n")) },
			"cut": func(t *rapid.T) {
				i := rapid.IntRange(0, m.next).Draw(t, "at")
				m.cut(t, int64(3*i), int64(100*i+50))
			},
			"seal": func(t *rapid.T) {
				require.NoError(t, m.x.Seal())
				m.sealed = true
			},
			"open": func(t *rapid.T) {
				if !m.sealed || len(m.times) == 0 {
					t.Skip()
				}
				m.x.Forget()
				m.x = Open(m.owner, place(m.dir))
			},
			"resume": func(t *rapid.T) {
				if !m.sealed || len(m.times) == 0 {
					t.Skip()
				}
				m.x.Forget()
				x, o, ts, ok, err := Resume(m.owner, place(m.dir))
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, m.offsets[len(m.offsets)-1], o)
				require.Equal(t, m.times[len(m.times)-1], ts)
				m.x = x
			},
			"rebuild": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "not now") {
					t.Skip()
				}
				require.NoError(t, m.x.Rebuild(m.owner, place(m.dir), func(x *Index) error {
					for i := range m.offsets {
						require.NoError(t, x.AddOffset(m.offsets[i]))
					}
					for i := range m.times {
						require.NoError(t, x.AddTime(m.times[i]))
					}
					return nil
				}))
			},
			"": func(t *rapid.T) {
				m.check(t, rapid.Int64Range(0, m.owner.end+3).Draw(t, "rel"), rapid.Int64Range(0, int64(5*m.next+3)).Draw(t, "ts"))
			},
		})
	})
}

func emptyModel(t *testing.T) *model {
	m := &model{dir: t.TempDir(), owner: &segment{}}
	var err error
	m.x, err = Empty(m.owner, place(m.dir))
	require.NoError(t, err)
	return m
}

// built is a sealed index of n entries.
func built(t *testing.T, n int) (*segment, string) {
	m := emptyModel(t)
	m.add(t, n)
	require.NoError(t, m.x.Seal())
	return m.owner, m.dir
}

// What is in memory is one entry in 512, and of an active segment 128 more at most.
func TestSampleIsSparse(t *testing.T) {
	const n = 20_000
	owner, dir := built(t, n)
	x := Open(owner, place(dir))
	require.Zero(t, x.Sampled())
	_, _, err := x.Offset(5, &Scratch{})
	require.NoError(t, err)
	_, _, err = x.Time(5, &Scratch{})
	require.NoError(t, err)
	require.LessOrEqual(t, x.Sampled(), 2*(n/Every+1))
	m := emptyModel(t)
	m.add(t, n)
	require.LessOrEqual(t, m.x.Sampled(), 2*(n/Every+1+tailMax))
}

func TestDamage(t *testing.T) {
	owner, dir := built(t, 2000)
	for _, k := range []struct {
		suffix string
		size   int
	}{{layout.IndexSuffix, layout.OffsetEntrySize}, {layout.TimeIndexSuffix, layout.TimeEntrySize}} {
		path := filepath.Join(dir, layout.FileName(0, k.suffix))
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		look := func(trust bool) error {
			at := place(dir)
			at.Trust = trust
			x := Open(owner, at)
			defer x.Forget()
			_, _, err := x.Offset(3000, &Scratch{})
			if err == nil {
				_, _, err = x.Time(3000, &Scratch{})
			}
			return err
		}
		for what, change := range map[string]func([]byte) []byte{
			"half an entry":  func(b []byte) []byte { return b[:len(b)-5] },
			"backwards":      func(b []byte) []byte { return append(b[len(b)/2/k.size*k.size:], b[:len(b)/2/k.size*k.size]...) },
			"a hole":         func(b []byte) []byte { clear(b[600*k.size : 700*k.size]); return b },
			"beyond the end": func(b []byte) []byte { b[len(b)-4] = 0x7f; return b },
		} {
			require.NoError(t, os.WriteFile(path, change(slices.Clone(good)), 0o644))
			require.ErrorIs(t, look(false), ErrDamaged, "%s %s", k.suffix, what)
			require.NoError(t, look(true), "%s %s", k.suffix, what)
		}
		require.NoError(t, os.WriteFile(path, append(slices.Clone(good), make([]byte, 4096*3)...), 0o644))
		require.NoError(t, look(false), "a tail of zeros is no part of it")
		require.NoError(t, os.Remove(path))
		require.ErrorIs(t, look(false), ErrDamaged)
		require.NoError(t, os.WriteFile(path, good, 0o644))
		require.NoError(t, look(false))
	}
	path := filepath.Join(dir, layout.FileName(0, layout.TimeIndexSuffix))
	require.NoError(t, os.WriteFile(path, make([]byte, 1200), 0o644))
	_, _, err := Open(owner, place(dir)).LastTime()
	require.ErrorIs(t, err, ErrDamaged, "zeros are no timestamps (KAFKA-10207)")
	at := place(dir)
	at.Trust = true
	e, found, err := Open(owner, at).LastTime()
	require.NoError(t, err)
	require.True(t, found)
	require.Zero(t, e.Timestamp)
}

// A file that changes after its sample was taken is noticed.
func TestChangeUnderTheSample(t *testing.T) {
	owner, dir := built(t, 2000)
	x := Open(owner, place(dir))
	_, _, err := x.Offset(3000, &Scratch{})
	require.NoError(t, err)
	require.NoError(t, os.Truncate(filepath.Join(dir, layout.FileName(0, layout.IndexSuffix)), 100))
	_, _, err = x.Offset(3000, &Scratch{})
	require.ErrorIs(t, err, ErrDamaged)
}
