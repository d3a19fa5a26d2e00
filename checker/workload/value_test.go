package workload

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"trialog/checker/history"
	"trialog/core/client"
	"trialog/core/kafka"
)

func TestPayload(t *testing.T) {
	assert.Equal(t, "c1-1|c1-1|c1", string(payload("c1-1", 12)))
	assert.Equal(t, "c1-1|", string(payload("c1-1", 0)), "the name is always there")
	for size := range 40 {
		value := payload("c12-345", size)
		name, damage := nameOf(value)
		assert.Equal(t, "c12-345", name)
		assert.Empty(t, damage)
		for at := range value {
			spoiled := append([]byte(nil), value...)
			spoiled[at] ^= 1
			name, damage = nameOf(spoiled)
			assert.True(t, damage != "" || name != "c12-345", "a changed byte %d of %d is seen", at, len(value))
		}
	}
	name, damage := nameOf([]byte("from another client"))
	assert.Equal(t, "from another client", name)
	assert.Empty(t, damage)
}

// A record with a key has it in its name, and a key that is another is seen.
func TestKeys(t *testing.T) {
	p := &process{cfg: Defaults(), rng: rand.New(rand.NewPCG(1, 0))}
	p.cfg.Name, p.cfg.Keys = "c1", 3
	names, records := p.batch(0, 50)
	seen := map[string]bool{}
	for i, r := range records {
		assert.Equal(t, fmt.Sprintf("%s:c1-%d", r.Key, i+1), names[i])
		name, damage := nameOf(r.Value)
		assert.Equal(t, names[i], name)
		assert.Empty(t, damage)
		assert.Empty(t, misplacedKey(name, r.Key))
		assert.Contains(t, misplacedKey(name, []byte("k9")), "has the key")
		assert.Contains(t, misplacedKey(name, nil), "has the key")
		seen[string(r.Key)] = true
	}
	assert.Len(t, seen, 3)
	p.cfg.Keys = 0
	names, records = p.batch(50, 1)
	assert.Equal(t, "c1-51", names[0])
	assert.Nil(t, records[0].Key)
	assert.Empty(t, misplacedKey(names[0], nil))
}

// The client decides by Kafka's numbers, judges by names: the two tables are one.
func TestTheTwoTablesOfErrorsAgree(t *testing.T) {
	for code := kafka.ErrUnknownServerError; code < 300; code++ {
		if code != kafka.ErrNone {
			assert.Equal(t, client.Definite(code), history.Definite(code.String()), code)
		}
	}
	for ours, theirs := range map[string]string{
		client.NameDialFailed: history.ErrDial, client.NameNotSent: history.ErrNotSent,
		client.NameConnectionLost: history.ErrConnection, client.NameTimedOut: history.ErrTimeout,
	} {
		assert.Equal(t, theirs, ours)
	}
	assert.True(t, history.Definite(client.NameDialFailed) && history.Definite(client.NameNotSent))
	assert.False(t, history.Definite(client.NameConnectionLost) || history.Definite(client.NameTimedOut))
}

// TestNameOfIsTheObvious compares with a look at each byte.
func TestNameOfIsTheObvious(t *testing.T) {
	obvious := func(value []byte) (string, string) {
		name, _, named := bytes.Cut(value, []byte("|"))
		for i, b := range value {
			if want := value[i%(len(name)+1)]; named && b != want {
				return string(name), fmt.Sprintf("byte %d of %d of record %q is %q, want %q", i, len(value), name, b, want)
			}
		}
		return string(name), ""
	}
	for size := range 8 { // every value of so many bytes over a, b and the bar
		for n := range int(math.Pow(3, float64(size))) {
			value := make([]byte, size)
			for i := range value {
				value[i], n = "ab|"[n%3], n/3
			}
			name, damage := nameOf(value)
			wantName, wantDamage := obvious(value)
			assert.Equal(t, []string{wantName, wantDamage}, []string{name, damage}, "%q", value)
		}
	}
}

func BenchmarkNameOf(b *testing.B) {
	value := payload("c1-1234", 300)
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		nameOf(value)
	}
}

func BenchmarkPayload(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		payload("c1-1234", 300)
	}
}
