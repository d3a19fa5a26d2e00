package config

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Pair is one setting as text. Lists of pairs are sorted by name, each name once.
type Pair struct {
	Name, Value string
}

// SortPairs returns a copy sorted by name; a name twice is an error.
func SortPairs(pairs []Pair) ([]Pair, error) {
	sorted := slices.Clone(pairs)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Name < sorted[j].Name })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].Name == sorted[i-1].Name {
			return nil, fmt.Errorf("config: %s is given twice", sorted[i].Name)
		}
	}
	return sorted, nil
}

// Get finds a name in sorted pairs.
func Get(pairs []Pair, name string) (val string, ok bool) {
	i, ok := slices.BinarySearchFunc(pairs, name, func(p Pair, name string) int { return strings.Compare(p.Name, name) })
	if !ok {
		return "", false
	}
	return pairs[i].Value, true
}

// Properties is a parsed properties file, or the overrides of a command line.
type Properties struct {
	Name    string // of the file, for messages
	entries []entry
}

type entry struct {
	name, value string
	where       string // file:line, or --override
}

// Pairs are the settings in the order of the file; a name may come twice, then the last one wins.
func (p *Properties) Pairs() []Pair {
	pairs := make([]Pair, len(p.entries))
	for i, e := range p.entries {
		pairs[i] = Pair{Name: e.name, Value: e.value}
	}
	return pairs
}

// ParseProperties reads java properties: key=value, key:value or key value; # and ! comments; a backslash at the end
// of a line continues it; escapes \t \n \r \f \uXXXX, and a backslash before anything else is dropped. A key twice is
// allowed, the last one wins. The error is name:line: what.
func ParseProperties(name, text string) (*Properties, error) {
	p := &Properties{Name: name}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		where := fmt.Sprintf("%s:%d", name, i+1)
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], " \t\f")
		}
		key, val := cutProperty(line)
		key, err := unescape(key)
		if err == nil {
			val, err = unescape(val)
		}
		if err == nil && key == "" {
			err = fmt.Errorf("a value without a key: %.40q", line)
		}
		if err != nil {
			return nil, fmt.Errorf("config: %s: %w", where, err)
		}
		p.entries = append(p.entries, entry{name: key, value: val, where: where})
	}
	return p, nil
}

// continues reports a line that ends in an odd number of backslashes.
func continues(line string) bool {
	bare := strings.TrimRight(line, `\`)
	return (len(line)-len(bare))%2 == 1
}

// cutProperty splits at the first =, : or white space that is not escaped; white space around = and : goes.
func cutProperty(line string) (key, val string) {
	i := 0
	for i < len(line) && !strings.ContainsRune("=: \t\f", rune(line[i])) {
		if line[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(line))
	rest := strings.TrimLeft(line[i:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return line[:i], rest
}

func unescape(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("not UTF-8: %.40q", s)
	}
	if !strings.ContainsRune(s, '\\') {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			break // a backslash at the end of the file continues nothing
		}
		if s[i] != 'u' {
			b.WriteByte(plainEscape(s[i]))
			continue
		}
		r, n := unicodeEscape(s[i+1:])
		if n == 0 {
			return "", fmt.Errorf(`bad \u escape in %.40q`, s)
		}
		b.WriteRune(r)
		i += n
	}
	return b.String(), nil
}

func plainEscape(c byte) byte {
	if i := strings.IndexByte("tnrf", c); i >= 0 {
		return "\t\n\r\f"[i]
	}
	return c
}

// unicodeEscape reads XXXX, or XXXX\uXXXX when that is a pair, and says how many bytes it took; 0 is a fault.
func unicodeEscape(s string) (rune, int) {
	high, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(high) {
		return high, 4
	}
	if low, ok := hex4(strings.TrimPrefix(s[4:], `\u`)); ok && strings.HasPrefix(s[4:], `\u`) {
		if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
			return r, 10
		}
	}
	return 0, 0
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(n), err == nil
}

// parseOverrides reads key=value words of a command line.
func parseOverrides(overrides []string) ([]entry, error) {
	var entries []entry
	for _, word := range overrides {
		key, val, ok := strings.Cut(word, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, fmt.Errorf("config: --override %q is not of the form key=value", word)
		}
		entries = append(entries, entry{name: key, value: strings.TrimSpace(val), where: "--override"})
	}
	return entries, nil
}
