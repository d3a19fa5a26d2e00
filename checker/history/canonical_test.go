package history

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// agree demands that a line which the canonical reader takes means the same to the library.
func agree(t require.TestingT, line []byte) (taken bool) {
	c := canonical{line: string(line)}
	op, has, ok := c.op()
	if !ok {
		return false
	}
	want, wantHas, err := decode(line)
	require.NoError(t, err, "%s", line)
	require.Equal(t, want, op, "%s", line)
	require.Equal(t, wantHas, has, "%s", line)
	return true
}

// TestCanonicalAgrees: on lines of every operation, with any text.
func TestCanonicalAgrees(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{0,6}`), rapid.StringMatching(`[\],a-c]{0,6}`))
	rapid.Check(t, func(t *rapid.T) {
		op := drawOp(t, text)
		agree(t, Append(nil, &op))
	})
}

// TestCanonicalAgreesOnEdits puts what JSON is made of into good lines, at any place.
func TestCanonicalAgreesOnEdits(t *testing.T) {
	pieces := []string{
		``, `{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, ` `, "\t", `0`, `1`, `-`, `.`, `e1`, `null`, `true`, `false`, `[]`, `[null]`, `""`, `"a"`,
		`99999999999999999`, `9223372036854775808`, `2147483648`, `,"offset":3`, `,"OFFSET":4`, `,"hw":null`, `,"values":["x"]`, `,"records":[[1,"z"]]`,
		`,"partition":1`, `,"idempotent":true`, `,"final":false`, `,"seq":1`, "\x00", "\x7f", "\x80", "é", "\u2028",
	}
	rng := rand.New(rand.NewSource(1))
	lines := strings.Split(strings.TrimSpace(good), "\n")
	taken := 0
	for range 50000 {
		line := lines[rng.Intn(len(lines))]
		for range 1 + rng.Intn(3) {
			from := rng.Intn(len(line) + 1)
			to := min(len(line), from+rng.Intn(6))
			line = line[:from] + pieces[rng.Intn(len(pieces))] + line[to:]
		}
		if agree(t, []byte(line)) {
			taken++
		}
	}
	require.Greater(t, taken, 1000, "some edits leave a line canonical")
}

// TestCanonicalTakesWhatAppendWrites: the fast reader is the one that reads runs. Escapes are left to the library.
func TestCanonicalTakesWhatAppendWrites(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(good), "\n") {
		require.Equal(t, !strings.Contains(line, `\`), agree(t, []byte(line)), line)
	}
	for _, op := range []Op{
		{Proc: "c1", Type: OK, F: Fetch, Topic: "t", Records: []Rec{}},
		{Proc: "c1", Type: Invoke, F: Produce, Topic: "t", Values: []string{"], [,", ""}},
		{Proc: "c1", Type: Fail, F: CreateTopic, Topic: "t", Error: "TOPIC_ALREADY_EXISTS", Final: true, Time: -1},
	} {
		require.True(t, agree(t, Append(nil, &op)), op)
	}
}

func FuzzCanonicalAgrees(f *testing.F) {
	for line := range strings.Lines(good) {
		f.Add([]byte(strings.TrimSpace(line)))
	}
	f.Fuzz(func(t *testing.T, line []byte) { agree(t, line) })
}

// TestQuoted compares with a quote of one byte or rune after the other.
func TestQuoted(t *testing.T) {
	obvious := func(v string) string {
		text := `"`
		for i, r := range v {
			switch {
			case v[i] == '"' || v[i] == '\\':
				text += `\` + v[i:i+1]
			case r < 0x20 || r == 0x7f:
				text += fmt.Sprintf(`\u%04x`, r)
			default:
				text += string(r) // U+FFFD for what is not UTF-8
			}
		}
		return text + `"`
	}
	for _, v := range []string{"", "a", "\xff", "a\xffb", "\xe2\x80", "\x7f", "é\"\\\n", "\ufffd"} {
		require.Equal(t, obvious(v), string(appendQuoted(nil, v)), "%q", v)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := string(rapid.SliceOf(rapid.Byte()).Draw(t, "v"))
		require.Equal(t, obvious(v), string(appendQuoted(nil, v)))
	})
}
