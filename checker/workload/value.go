package workload

import (
	"bytes"
	"fmt"
	"strings"
)

// payload is the value of the record called name: name and a bar, repeated and cut to size bytes, but at least once.
func payload(name string, size int) []byte {
	unit := name + "|"
	n := max(size, len(unit))
	return []byte(strings.Repeat(unit, n/len(unit)+1)[:n])
}

// nameOf is the name in a payload. A value without a bar is foreign, and its own name. damage says what is wrong with a
// payload that is not the repetition of its name.
func nameOf(value []byte) (name, damage string) {
	bar := bytes.IndexByte(value, '|')
	if bar < 0 {
		return string(value), ""
	}
	unit := value[:bar+1]
	for i, b := range value {
		if b != unit[i%len(unit)] {
			return string(value[:bar]), fmt.Sprintf("byte %d of %d of record %q is %q, want %q", i, len(value), value[:bar], b, unit[i%len(unit)])
		}
	}
	return string(value[:bar]), ""
}
