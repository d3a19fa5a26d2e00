package event

import (
	"strconv"
	"unicode/utf8"
)

// AppendTo appends the event as one line with its newline. An invalid kind panics. Bytes of strings that are not UTF-8
// become U+FFFD, everything else survives Parse.
func (e *Event) AppendTo(b []byte) []byte {
	if !e.Kind.Valid() {
		panic("event: " + e.Kind.String() + " has no text")
	}
	f := kinds[e.Kind].fields
	b = append(b, '{')
	if e.Time != 0 {
		b = append(b, `"time":`...)
		b = append(strconv.AppendInt(b, e.Time, 10), ',')
	}
	if e.Proc != "" {
		b = append(b, `"proc":`...)
		b = append(appendString(b, e.Proc), ',')
	}
	b = append(b, `"kind":"`...)
	b = append(b, kinds[e.Kind].name...)
	b = append(b, '"')
	b = appendInt(b, `,"node":`, int64(e.Node))
	if f&fTP != 0 {
		b = append(b, `,"topic":`...)
		b = appendString(b, e.Topic)
		b = appendInt(b, `,"partition":`, int64(e.Partition))
	}
	b = e.appendOffsets(b, f)
	if f&fText != 0 || e.Text != "" {
		b = append(b, `,"text":`...)
		b = appendString(b, e.Text)
	}
	return append(b, '}', '\n')
}

func (e *Event) appendOffsets(b []byte, f field) []byte {
	if f&fEpoch != 0 {
		b = appendInt(b, `,"epoch":`, int64(e.Epoch))
	}
	if f&fBase != 0 {
		b = appendInt(b, `,"base":`, e.Base)
	}
	if f&fNext != 0 {
		b = appendInt(b, `,"next":`, e.Next)
	}
	if f&fOffset != 0 {
		b = appendInt(b, `,"offset":`, e.Offset)
	}
	if f&fProducer != 0 {
		b = appendInt(b, `,"pid":`, e.ProducerID)
		b = appendInt(b, `,"pepoch":`, int64(e.ProducerEpoch))
		b = appendInt(b, `,"seq":`, int64(e.BaseSeq))
		b = appendInt(b, `,"lastseq":`, int64(e.LastSeq))
	}
	return b
}

// String is the line without its newline.
func (e *Event) String() string {
	b := e.AppendTo(nil)
	return string(b[:len(b)-1])
}

func appendInt(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(b, key...), n, 10)
}

const hex = "0123456789abcdef"

// appendString appends a JSON string. Control characters and U+2028/9 (line breaks to some readers) are escaped.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			b = appendASCII(b, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(b, `\ufffd`...)
		case r == 0x2028 || r == 0x2029:
			b = append(b, `\u202`...)
			b = append(b, hex[r&15])
		default:
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return append(b, '"')
}

func appendASCII(b []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case c == '\n':
		return append(b, '\\', 'n')
	case c == '\t':
		return append(b, '\\', 't')
	case c < 0x20 || c == 0x7f:
		return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
	return append(b, c)
}
