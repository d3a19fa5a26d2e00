package logcmd

import (
	"unicode/utf8"
)

const replacement = "\uFFFD"

// javaString is the text that Java makes of bytes in UTF-8: for what is none, a replacement character for each maximal
// part that begins as a character does, where Go has one for each byte; a surrogate is one such part.
func javaString(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	var out []byte
	for len(b) > 0 {
		if _, size := utf8.DecodeRune(b); size > 1 || b[0] < utf8.RuneSelf {
			out, b = append(out, b[:size]...), b[size:]
			continue
		}
		out, b = append(out, replacement...), b[malformed(b):]
	}
	return out
}

// malformed is how many bytes of b, which begins with no character, become one replacement.
func malformed(b []byte) int {
	cont := func(i int) bool { return i < len(b) && b[i]&0xC0 == 0x80 }
	switch c := b[0]; {
	case c >= 0xE0 && c <= 0xEF:
		if !cont(1) || c == 0xE0 && b[1] < 0xA0 {
			return 1
		}
		if cont(2) { // well formed but for being a surrogate
			return 3
		}
		return 2
	case c >= 0xF0 && c <= 0xF4:
		if !cont(1) || c == 0xF0 && b[1] < 0x90 || c == 0xF4 && b[1] > 0x8F {
			return 1
		}
		if !cont(2) {
			return 2
		}
		return 3
	}
	return 1
}
