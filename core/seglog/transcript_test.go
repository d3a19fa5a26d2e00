package seglog

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/seglog/layout"
	"trialog/core/transcript"
)

func TestTranscripts(t *testing.T) {
	transcript.Run(t, func(t *testing.T) func(string) string {
		p := &player{t: t, dir: newDir(t)}
		t.Cleanup(func() {
			if p.l != nil {
				p.l.abandon()
			}
		})
		return func(command string) string { return strings.ReplaceAll(p.run(command), p.dir, "t-0") }
	})
}

// player runs commands on one log in a temporary directory.
type player struct {
	t     *testing.T
	dir   string
	l     *Log
	tr    trace
	seen  int
	words []string
}

func (p *player) num(name string, def int64) int64 {
	if v, ok := p.word(name); ok {
		n, err := strconv.ParseInt(v, 10, 64)
		require.NoError(p.t, err)
		return n
	}
	return def
}

func (p *player) word(name string) (string, bool) {
	for _, w := range p.words[1:] {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

func (p *player) has(flag string) bool {
	for _, w := range p.words[1:] {
		if w == flag {
			return true
		}
	}
	return false
}

func (p *player) run(cmd string) string {
	p.words = strings.Fields(cmd)
	before := p.seen
	text, err := p.do()
	p.l.settle()
	var b strings.Builder
	if !p.has("quietly") {
		for _, e := range p.tr.events[before:] {
			fmt.Fprintf(&b, "  %s\n", strings.TrimPrefix(strings.Replace(e.String(), `,"node":1,"topic":"t","partition":0`, "", 1), `{"kind":`))
		}
	}
	p.seen = len(p.tr.events)
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	return b.String() + text
}

// settle waits for what runs in the background.
func (l *Log) settle() {
	if l != nil {
		l.background.Wait()
	}
}

func (p *player) do() (string, error) {
	switch p.words[0] {
	case "open":
		return p.open()
	case "append":
		return p.append()
	case "flush":
		return "", p.l.Flush(p.num("to", p.l.EndOffset()))
	case "start-epoch":
		return "", p.l.StartEpoch(int32(p.num("epoch", 0)))
	case "read":
		return p.read()
	case "truncate":
		return "", p.l.Truncate(p.num("to", 0))
	case "truncate-fully":
		return "", p.l.TruncateFully(p.num("start", 0))
	case "hw":
		p.l.SetHighWatermark(p.num("at", p.l.EndOffset()))
		return "", nil
	case "delete-records":
		start, err := p.l.DeleteRecords(p.num("before", 0), p.num("now", 0))
		return fmt.Sprintf("start=%d\n", start), err
	case "retain":
		n, err := p.l.Retain(p.num("now", 0))
		return fmt.Sprintf("deleted=%d start=%d end=%d\n", n, p.l.StartOffset(), p.l.EndOffset()), err
	case "remove-deleted":
		next, err := p.l.RemoveDeleted(p.num("now", 1<<60))
		if next > 0 {
			return fmt.Sprintf("next at %d\n", next), err
		}
		return "", err
	case "close":
		err := p.l.Close()
		p.l = nil
		return "", err
	case "kill":
		p.l.abandon()
		p.l = nil
		return "", nil
	case "fresh":
		p.dir = newDir(p.t)
		return "", nil
	case "damage":
		return "", p.damage()
	case "find":
		f, err := p.l.OffsetForTimestamp(p.num("at", 0), p.l.EndOffset())
		return fmt.Sprintf("%+v\n", f), err
	case "ls":
		return p.ls(), nil
	}
	p.t.Fatalf("unknown command %q", p.words[0])
	return "", nil
}

func (p *player) open() (string, error) {
	cfg := testConfig(small())
	cfg.Settings.SegmentBytes = int32(p.num("segment.bytes", 1000))
	cfg.Settings.SegmentMs = p.num("segment.ms", 1<<60)
	cfg.Settings.RetentionMs = p.num("retention.ms", -1)
	cfg.Settings.RetentionBytes = p.num("retention.bytes", -1)
	cfg.Settings.SegmentIndexBytes = int32(p.num("segment.index.bytes", 10<<20))
	cfg.Emit = p.tr.emit
	if rule, ok := p.word("off"); ok {
		require.True(p.t, cfg.Rules.Off(rule))
	}
	l, err := Open(p.dir, cfg, Start{
		Clean: p.has("clean"), RecoveryPoint: p.num("recovery-point", 0), LogStart: p.num("log-start", 0), HighWatermark: p.num("hw", 0),
	})
	if err != nil {
		return "", err
	}
	p.l = l
	return fmt.Sprintf("start=%d hw=%d flushed=%d end=%d epochs=%s producers=%d\n", l.StartOffset(), l.HighWatermark(), l.FlushedTo(),
		l.EndOffset(), l.epochs, l.producers.Len()), nil
}

func (p *player) append() (string, error) {
	times := p.num("times", 1)
	for i := range times {
		ts := p.num("ts", 1000+10*p.l.EndOffset())
		b := batchOf(int(p.num("n", 2)), int(p.num("size", 30)), ts, p.num("pid", -1), int16(p.num("pepoch", 0)), int32(p.num("seq", 0)+i*p.num("n", 2)))
		var a Appended
		var err error
		if p.has("follower") {
			a, err = p.l.AppendFollower(at(b, p.num("base", 0), int32(p.num("epoch", 0))), now(p.num("now", ts)))
		} else {
			a, err = p.l.Append(b, int32(p.num("epoch", 0)), now(p.num("now", ts)))
		}
		if err != nil {
			return "", err
		}
		if a.Code != kafka.ErrNone || a.Duplicate {
			return fmt.Sprintf("%s base=%d next=%d duplicate=%t\n", a.Code, a.Base, a.Next, a.Duplicate), nil
		}
	}
	return "", nil
}

func (p *player) read() (string, error) {
	s, err := p.l.Read(p.num("offset", 0), int(p.num("max-bytes", 1<<20)), p.num("to", p.l.EndOffset()), p.has("min-one-batch"))
	if err != nil || s.Len() == 0 {
		return "empty\n", err
	}
	b := readAll(p.t, s)
	out := fmt.Sprintf("%d bytes:", len(b))
	it := record.NewBatches(b)
	for it.Next() {
		h := it.Header()
		out += fmt.Sprintf(" [%d,%d)", h.BaseOffset, h.NextOffset())
		if _, err := record.Validate(it.Batch()); err != nil {
			out += "!" + err.Error()
		}
	}
	if tail := it.Tail(); len(tail) > 0 {
		out += fmt.Sprintf(" and %d bytes", len(tail))
	}
	return out + "\n", it.Err()
}

// damage changes a file: cut=N bytes from its end, add=N zeros, flip=POSITION, zero=FROM..TO, text=..., remove.
func (p *player) damage() error {
	path := filepath.Join(p.dir, p.words[1])
	if p.has("remove") {
		return os.Remove(path)
	}
	b, _ := os.ReadFile(path)
	b = b[:int64(len(b))-p.num("cut", 0)]
	b = append(b, make([]byte, p.num("add", 0))...)
	if i := p.num("flip", -1); i >= int64(len(b)) {
		return fmt.Errorf("flip %d of %d bytes", i, len(b))
	} else if i >= 0 {
		b[i] ^= 0x10
	}
	if span, ok := p.word("zero"); ok {
		var from, to int
		_, err := fmt.Sscanf(span, "%d..%d", &from, &to)
		require.NoError(p.t, err)
		clear(b[from:to])
	}
	if n := p.num("garbage", 0); n > 0 {
		g := at(batch(3, 50, 1), p.num("base", 0), 0)
		b = append(b, g[:n]...)
	}
	if text, ok := p.word("text"); ok {
		b = []byte(strings.ReplaceAll(text, `\n`, "\n"))
	}
	return os.WriteFile(path, b, 0o644)
}

// ls shows each file: its size, and what it says.
func (p *player) ls() string {
	var b strings.Builder
	for _, name := range files(p.t, p.dir) {
		data := readFile(p.t, p.dir, name)
		fmt.Fprintf(&b, "%s %d", name, len(data))
		base, suffix, ok := layout.ParseFileName(name)
		switch {
		case !ok:
			fmt.Fprintf(&b, " %q", data)
		case suffix == layout.LogSuffix:
			it := record.NewBatches(data)
			for it.Next() {
				h := it.Header()
				fmt.Fprintf(&b, " [%d,%d)", h.BaseOffset, h.NextOffset())
			}
			if n := len(it.Tail()); n > 0 {
				fmt.Fprintf(&b, " and %d bytes", n)
			}
		case suffix == layout.IndexSuffix:
			for ; len(data) >= 8; data = data[8:] {
				fmt.Fprintf(&b, " %d@%d", base+int64(binary.BigEndian.Uint32(data)), binary.BigEndian.Uint32(data[4:]))
			}
		case suffix == layout.TimeIndexSuffix:
			for ; len(data) >= 12; data = data[12:] {
				fmt.Fprintf(&b, " %dms@%d", int64(binary.BigEndian.Uint64(data)), base+int64(binary.BigEndian.Uint32(data[8:])))
			}
		case suffix == layout.SnapshotSuffix:
			if s, err := producers.ParseSnapshot(producers.AllRules(), base, data); err != nil {
				fmt.Fprintf(&b, " %v", err)
			} else if s.Len() > 0 {
				fmt.Fprintf(&b, " %d producers", s.Len())
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
