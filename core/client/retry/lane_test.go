package retry

import (
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
)

var (
	first, second = Identity{7, 0}, Identity{8, 0}
	lost          = Failure{Outcome: Unknown}
	notEnough     = Failure{Outcome: Failed, Code: kafka.ErrNotEnoughReplicas}
	tooLarge      = Failure{Outcome: Failed, Code: kafka.ErrMessageTooLarge}
	outOfOrder    = Failure{Outcome: Unknown, Code: kafka.ErrOutOfOrderSequenceNumber}
)

// lane is an idempotent one with batches of one record: 'a', 'b', ... It sends the first one not alone (TestFirstAlone).
func lane(batches int, off ...string) *Lane[rune] {
	cfg := Config{Idempotent: true, MaxInFlight: 6, Retries: -1, Rules: AllRules()}
	for _, rule := range append(off, "first-alone") {
		if !cfg.Rules.Off(rule) {
			panic(rule)
		}
	}
	l := New[rune](cfg)
	for i := range batches {
		l.Add('a'+rune(i), 1)
	}
	return l
}

// send sends what may be sent, and tells what that was.
func send(l *Lane[rune], id Identity) string {
	var sent []rune
	for b, ok := l.Next(); ok; b, ok = l.Next() {
		l.Begin(b)
		if !l.Numbered(b) {
			l.Number(b, id)
		}
		l.Left(b)
		sent = append(sent, b)
	}
	return string(sent)
}

// ended tells what ended how, as "a:failed".
func ended(s Settled[rune]) (texts []string) {
	for _, e := range s.Ended {
		texts = append(texts, string(e.Batch.Payload)+":"+e.Outcome.String())
	}
	return texts
}

func numbers(l *Lane[rune]) (all []kafka.Sequence) {
	for _, b := range l.Batches() {
		all = append(all, b.Sequence)
	}
	return all
}

// A leader that does not know the producer takes its first batch whatever the number, and refuses what should have come
// before it: with two in flight, the first may meet a broker that does not lead yet, and the second one that does.
func TestFirstAlone(t *testing.T) {
	l := lane(4)
	l.cfg.Rules = AllRules()
	require.Equal(t, "a", send(l, first))
	l.Failed('a', lost)
	l.Resume()
	require.Equal(t, "a", send(l, first))
	l.Done('a')
	require.Equal(t, "bcd", send(l, first))
	late := lost
	late.Late = true
	require.True(t, l.Failed('b', late).Retired)
	l.Failed('c', outOfOrder)
	l.Done('d')
	l.Add('e', 1)
	l.Add('f', 1)
	require.Equal(t, "e", send(l, second), "another identity, another first")
	l.Done('e')
	require.Equal(t, "f", send(l, second))

	plain := New[rune](Config{MaxInFlight: 2, Rules: AllRules()})
	plain.Add('a', 1)
	plain.Add('b', 1)
	require.Equal(t, "ab", send(plain, NoIdentity), "there is nothing to know of a producer that has no id")
	require.Equal(t, "ab", send(lane(2, "first-alone"), first), "off")
}

func TestFiveInFlight(t *testing.T) {
	require.Equal(t, "abcde", send(lane(7), first))
	require.Equal(t, "abcdef", send(lane(7, "five-in-flight"), first), "off")
	plain := New[rune](Config{MaxInFlight: 6, Rules: AllRules()})
	for i := range 7 {
		plain.Add('a'+rune(i), 1)
	}
	require.Equal(t, "abcdef", send(plain, NoIdentity), "nobody recognises duplicates of a producer that has no id")
}

func TestRetryInOrder(t *testing.T) {
	l := lane(4)
	send(l, first)
	require.True(t, l.Failed('b', lost).Again)
	require.Empty(t, send(l, first), "a, c and d are in flight")
	l.Done('a')
	l.Failed('c', outOfOrder)
	require.False(t, l.Home())
	l.Done('d')
	require.True(t, l.Home())
	l.Resume()
	require.Equal(t, "bc", send(l, first))
	require.Equal(t, []kafka.Sequence{1, 2}, numbers(l), "under their numbers")

	l = lane(4, "retry-in-order")
	send(l, first)
	l.Failed('b', lost)
	require.Equal(t, "b", send(l, first), "off: it overtakes")
}

func TestOutOfOrder(t *testing.T) {
	l := lane(3)
	send(l, first)
	require.True(t, l.Failed('b', outOfOrder).Again, "a has no outcome yet")
	s := l.Failed('a', outOfOrder)
	require.Equal(t, []string{"a:unknown", "b:unknown"}, ended(s), "the broker does not know what it should")
	require.Equal(t, []any{true, first}, []any{s.Retired, s.Identity})

	l = lane(3, "out-of-order-behind-another")
	send(l, first)
	require.Equal(t, []string{"b:unknown"}, ended(l.Failed('b', outOfOrder)), "off")
}

func TestDoubtLasts(t *testing.T) {
	for off, want := range map[string]string{"": "a:unknown", "doubt-lasts": "a:failed"} {
		var rules []string
		if off != "" {
			rules = append(rules, off)
		}
		l := lane(1, rules...)
		send(l, first)
		l.Failed('a', lost)
		l.Resume()
		send(l, first)
		require.Equal(t, []string{want}, ended(l.Failed('a', tooLarge)))
	}
}

// Who gets the number of a batch that ended: nobody, unless it certainly was not appended and nothing comes behind it.
func TestNumbersOfWhatEnded(t *testing.T) {
	late := lost
	late.Late = true
	for _, c := range []struct {
		name  string
		end   Failure
		off   []string
		under Identity
		next  kafka.Sequence
	}{
		{"certain", tooLarge, nil, first, 0},
		{"in doubt", late, nil, second, 0},
		{"off: in doubt", late, []string{"give-up-in-doubt"}, first, 0},
	} {
		l := lane(1, c.off...)
		send(l, first)
		now := first
		if l.Failed('a', c.end).Retired {
			now = second
		}
		l.Add('b', 3)
		send(l, now)
		require.Equal(t, c.under, l.Batches()[0].Identity, c.name)
		require.Equal(t, c.next, l.Batches()[0].Sequence, c.name)
	}
	for off, want := range map[string]Identity{"": second, "give-up-at-gap": first} {
		var rules []string
		if off != "" {
			rules = append(rules, off)
		}
		l := lane(2, rules...)
		send(l, first)
		now := first
		if l.Failed('a', tooLarge).Retired {
			now = second
		}
		l.Done('b')
		l.Add('c', 1)
		send(l, now)
		require.Equal(t, want, l.Batches()[0].Identity, "off %q", off)
	}
}

// What waits under an identity that is given up: if it may have left it is in doubt, else it goes on under another.
func TestOneIdentity(t *testing.T) {
	waiting := func(off ...string) (*Lane[rune], Settled[rune]) {
		l := lane(4, off...)
		l.cfg.MaxInFlight = 2
		send(l, first)
		l.Failed('a', lost)
		l.Failed('b', lost)
		l.Resume()
		l.Begin('c')
		l.Number('c', first)
		l.Failed('c', Failure{Outcome: Failed}) // it could not be sent
		return l, l.Failed('a', Failure{Outcome: Failed, Late: true})
	}
	l, s := waiting()
	require.Equal(t, []string{"a:unknown", "b:unknown"}, ended(s))
	require.Equal(t, []kafka.Sequence{-1, -1}, numbers(l), "c never left: it may have another number")
	l.Resume()
	require.Equal(t, "cd", send(l, second))
	require.Equal(t, second, l.Batches()[0].Identity)
	require.Equal(t, []kafka.Sequence{0, 1}, numbers(l))

	l, s = waiting("one-identity")
	require.Equal(t, []string{"a:unknown"}, ended(s))
	l.Resume()
	require.Equal(t, "bc", send(l, second), "off: b leaves under two identities")
	require.Equal(t, Batch[rune]{Payload: 'b', Records: 1, Identity: second, Attempts: 2, Left: 2, inFlight: true, doubtful: true}, l.Batches()[0])
}

func TestVoidComesHome(t *testing.T) {
	gaveUp := func(off ...string) *Lane[rune] {
		l := lane(6, off...)
		send(l, first)
		l.Failed('a', tooLarge)
		return l
	}
	l := gaveUp()
	require.Empty(t, send(l, second))
	for _, b := range "bcd" {
		require.Equal(t, []string{string(b) + ":unknown"}, ended(l.Failed(b, outOfOrder)), "nothing is sent again under it")
	}
	l.Done('e')
	require.Equal(t, "f", send(l, second))
	require.Equal(t, second, l.Batches()[0].Identity)

	l = gaveUp("void-comes-home")
	require.Equal(t, "f", send(l, second))
	require.Equal(t, first, l.Batches()[4].Identity, "off: it goes on under what was given up")
}

func TestNumbersWrap(t *testing.T) {
	l := lane(0)
	l.Add('a', 7)
	l.Number('a', first)
	l.next = kafka.MaxSequence - 1
	l.Add('b', 5)
	require.Equal(t, kafka.MaxSequence-1, l.Number('b', first).Sequence)
	require.Equal(t, kafka.Sequence(3), l.next)
}

func TestBoundedRetries(t *testing.T) {
	l := New[rune](Config{MaxInFlight: 1, Retries: 1, Rules: AllRules()})
	l.Add('a', 1)
	send(l, NoIdentity)
	require.True(t, l.Failed('a', notEnough).Again)
	l.Resume()
	send(l, NoIdentity)
	s := l.Failed('a', notEnough)
	require.Equal(t, []string{"a:failed"}, ended(s))
	require.False(t, s.Retired)
	require.Equal(t, 1, l.Failures(), "the last one is followed by no pause")
	l.Add('b', 1)
	send(l, NoIdentity)
	l.MayHaveLeft('b')
	require.Equal(t, 2, l.Done('b').Left)
	require.Zero(t, l.Failures())
	require.Panics(t, func() { l.Begin('b') }, "it has its outcome")
}

func TestCloneAndBytes(t *testing.T) {
	payload := func(b []byte, p rune) []byte { return append(b, byte(p)) }
	l := lane(3)
	send(l, first)
	c := l.Clone()
	require.Equal(t, l.AppendTo(nil, payload), c.AppendTo(nil, payload))
	c.Failed('a', lost)
	require.NotEqual(t, l.AppendTo(nil, payload), c.AppendTo(nil, payload))
	require.Equal(t, 3, l.InFlight())
	require.Equal(t, 3, l.Len())
	l.Failed('a', lost)
	require.Equal(t, l.AppendTo(nil, payload), c.AppendTo(nil, payload))
}

// Every rule has a name, and every name a rule.
func TestRules(t *testing.T) {
	r := AllRules()
	require.False(t, r.Off("luck"))
	for _, d := range RuleDocs {
		require.Equal(t, "client", d.Room)
		require.True(t, r.Off(d.Name), d.Name)
	}
	require.Equal(t, Rules{}, r)
}
