package epochs

import (
	"bytes"
	"fmt"
	"strconv"

	"trialog/core/kafka"
)

// checkpointVersion is the first line of the file.
const checkpointVersion = "0"

// AppendCheckpoint appends the text of Kafka's file leader-epoch-checkpoint:
//
//	0            version
//	<n>          number of entries
//	<epoch> <start offset>
func (c *Cache) AppendCheckpoint(b []byte) []byte {
	b = append(b, checkpointVersion+"\n"...)
	b = strconv.AppendInt(b, int64(len(c.entries)), 10)
	b = append(b, '\n')
	for _, e := range c.entries {
		b = strconv.AppendInt(b, int64(e.Epoch), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.Start, 10)
		b = append(b, '\n')
	}
	return b
}

// ParseCheckpoint reads what AppendCheckpoint writes. Anything else, an empty or half-written file for one, is an
// error with the line number: the caller must then rebuild the cache from the batches, never go on with an empty one
// (KAFKA-16541).
func ParseCheckpoint(text []byte) (*Cache, error) {
	if !bytes.HasSuffix(text, []byte("\n")) {
		return nil, fmt.Errorf("epochs: checkpoint of %d bytes does not end in a newline", len(text))
	}
	lines := bytes.Split(text[:len(text)-1], []byte("\n"))
	if len(lines) < 2 {
		return nil, fmt.Errorf("epochs: checkpoint has %d lines, want 2 at least", len(lines))
	}
	if string(lines[0]) != checkpointVersion {
		return nil, fmt.Errorf("epochs: checkpoint line 1: version %q, want %q", lines[0], checkpointVersion)
	}
	entries := lines[2:]
	if n, err := number(lines[1], 63); err != nil || n != int64(len(entries)) {
		return nil, fmt.Errorf("epochs: checkpoint line 2: count %q, but %d entries follow", lines[1], len(entries))
	}
	c := &Cache{entries: make([]Entry, 0, len(entries))}
	for i, line := range entries {
		e, err := parseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("epochs: checkpoint line %d: %w", i+3, err)
		}
		if last, ok := c.Latest(); ok && (e.Epoch <= last.Epoch || e.Start <= last.Start) {
			return nil, fmt.Errorf("epochs: checkpoint line %d: %q does not follow %d@%d", i+3, line, last.Epoch, last.Start)
		}
		c.entries = append(c.entries, e)
	}
	return c, nil
}

func parseEntry(line []byte) (Entry, error) {
	left, right, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return Entry{}, fmt.Errorf("%q is not of the form epoch offset", line)
	}
	epoch, err := number(left, 31)
	if err != nil {
		return Entry{}, err
	}
	start, err := number(right, 63)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Epoch: kafka.LeaderEpoch(epoch), Start: start}, nil
}

// number reads a decimal of that many bits as AppendInt writes it: no sign, no leading zeros.
func number(digits []byte, bits int) (int64, error) {
	n, err := strconv.ParseUint(string(digits), 10, bits)
	if err != nil || strconv.FormatUint(n, 10) != string(digits) {
		return 0, fmt.Errorf("%q is not a number of %d bits", digits, bits)
	}
	return int64(n), nil
}
