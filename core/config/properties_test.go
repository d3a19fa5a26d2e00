package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseProperties(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Pair
	}{
		{"", nil},
		{"# c\n! c\n \t\n", nil},
		{"a=1\nb:2\nc 3\n  d = 4  \ne", []Pair{{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4  "}, {"e", ""}}},
		{"a=1=2:3", []Pair{{"a", "1=2:3"}}},
		{"a==1", []Pair{{"a", "=1"}}},
		{"a=1\r\nb=2\r\n", []Pair{{"a", "1"}, {"b", "2"}}},
		{"a=1,\\\n   2,\\\n 3\nb=4", []Pair{{"a", "1,2,3"}, {"b", "4"}}},
		{"a=1\\\\\nb=2", []Pair{{"a", `1\`}, {"b", "2"}}},
		{"a=1\\", []Pair{{"a", "1"}}},
		{`a\=b\:c\ d=x`, []Pair{{"a=b:c d", "x"}}},
		{`a=\t\n\r\f\q\\\u00e9\ud83d\ude00`, []Pair{{"a", "\t\n\r\fq\\é😀"}}},
		{"a=1\na=2", []Pair{{"a", "1"}, {"a", "2"}}},
		{"a=1 # no comment", []Pair{{"a", "1 # no comment"}}},
	} {
		p, err := ParseProperties("f", c.text)
		require.NoError(t, err, "%q", c.text)
		got := p.Pairs()
		if len(got) == 0 {
			got = nil
		}
		assert.Equal(t, c.want, got, "%q", c.text)
	}
}

func TestBadProperties(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a=1\n=2", "config: f:2: a value without a key"},
		{`a=\u12`, `config: f:1: bad \u escape`},
		{`a=\u12g4`, `config: f:1: bad \u escape`},
		{`a=\ud83d`, `config: f:1: bad \u escape`},
		{`a=\ud83dx`, `config: f:1: bad \u escape`},
		{`a=\ude00\ud83d`, `config: f:1: bad \u escape`},
		{"b=1\\\n2\na=\xff", "config: f:3: not UTF-8"},
	} {
		_, err := ParseProperties("f", c.text)
		assert.ErrorContains(t, err, c.want, "%q", c.text)
	}
}

// TestPropertiesRoundTrip writes pairs as java.util.Properties does.
func TestPropertiesRoundTrip(t *testing.T) {
	escape := strings.NewReplacer(`\`, `\\`, "=", `\=`, ":", `\:`, " ", `\ `, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\f", `\f`, "#", `\#`, "!", `\!`)
	rapid.Check(t, func(t *rapid.T) {
		var want []Pair
		var text strings.Builder
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			p := Pair{rapid.StringN(1, 8, -1).Draw(t, "key"), rapid.String().Draw(t, "value")}
			want = append(want, p)
			text.WriteString(escape.Replace(p.Name) + "=" + escape.Replace(p.Value) + "\n")
		}
		p, err := ParseProperties("f", text.String())
		require.NoError(t, err)
		require.ElementsMatch(t, want, p.Pairs())
	})
}

func TestAnyTextIsReadOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune(`ab=: \u0d8#`+"\n\r\t"))).Draw(t, "text")
		_, _ = ParseProperties("f", text)
	})
}

func TestSortPairs(t *testing.T) {
	pairs := []Pair{{"b", "2"}, {"a", "1"}}
	sorted, err := SortPairs(pairs)
	require.NoError(t, err)
	assert.Equal(t, []Pair{{"a", "1"}, {"b", "2"}}, sorted)
	assert.Equal(t, "b", pairs[0].Name)
	_, err = SortPairs([]Pair{{"a", "1"}, {"a", "2"}})
	assert.EqualError(t, err, "config: a is given twice")
	_, ok := Get(sorted, "c")
	assert.False(t, ok)
}
