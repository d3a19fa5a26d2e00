package workload

import (
	"bytes"
	"fmt"
	"strings"
)

// payload is the value of the record called name: name and a bar, repeated and cut to size bytes, but at least once.
func payload(name string, size int) []byte {
	b := make([]byte, max(size, len(name)+1))
	n := copy(b, name)
	b[n] = '|'
	for n++; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
	return b
}

// misplacedKey says what is wrong with the key of the record called name: a name with a colon begins with its key.
func misplacedKey(name string, key []byte) string {
	if want, _, keyed := strings.Cut(name, ":"); keyed && want != string(key) {
		return fmt.Sprintf("record %q has the key %q", name, key)
	}
	return ""
}

// nameOf is the name in a payload. A value without a bar is foreign, and its own name. damage says what is wrong with a
// payload that is not the repetition of its name.
func nameOf(value []byte) (name, damage string) {
	bar := bytes.IndexByte(value, '|')
	if bar < 0 {
		return string(value), ""
	}
	name = string(value[:bar])
	unit := bar + 1
	if bytes.Equal(value[unit:], value[:len(value)-unit]) { // each byte is the one a unit before it: the unit repeats
		return name, ""
	}
	for i, b := range value {
		if want := value[i%unit]; b != want {
			return name, fmt.Sprintf("byte %d of %d of record %q is %q, want %q", i, len(value), name, b, want)
		}
	}
	panic(fmt.Sprintf("workload: %q repeats and does not", value))
}
