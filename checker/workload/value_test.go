package workload

import (
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
