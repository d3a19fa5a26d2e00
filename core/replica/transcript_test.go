package replica

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/transcript"
)

func TestTranscripts(t *testing.T) {
	transcript.Run(t, func(t *testing.T) func(string) string {
		var p player
		var c *cluster
		return func(command string) string {
			words := strings.Fields(command)
			if words[0] == "cluster" {
				c = newCluster(t, words[1:])
				return ""
			}
			if c != nil {
				return c.run(t, words)
			}
			return p.run(t, words)
		}
	})
}

type player struct {
	r   *Replica
	now kafka.Now
}

func (p *player) run(t *testing.T, words []string) string {
	arg := func(name string, def int64) int64 {
		for _, w := range words[1:] {
			if v, ok := strings.CutPrefix(w, name+"="); ok {
				n, err := strconv.ParseInt(v, 10, 64)
				require.NoError(t, err)
				return n
			}
		}
		return def
	}
	var out []Effect
	switch words[0] {
	case "new", "config":
		cfg := Config{Node: 1, FlushMessages: arg("flush.messages", NoFlushPolicy), FlushMs: arg("flush.ms", NoFlushPolicy), Rules: AllRules()}
		for _, w := range words[1:] {
			if rule, ok := strings.CutPrefix(w, "off="); ok {
				require.True(t, cfg.Rules.Off(rule))
			}
		}
		if words[0] == "config" {
			out = p.r.SetConfig(p.now, cfg, nil)
		} else {
			p.r = New(cfg)
		}
	case "lead":
		leo := arg("leo", 0)
		l := Leadership{Epoch: int32(arg("epoch", 0)), ISR: []kafka.NodeID{1}, LogStart: arg("start", 0), LEO: leo, Flushed: arg("flushed", leo), HW: arg("hw", 0)}
		if with := arg("with", 0); with != 0 {
			l.ISR = append(l.ISR, kafka.NodeID(with))
		}
		l.Replicas = l.ISR
		out = p.r.BecomeLeader(p.now, l, nil)
	case "append":
		out = p.r.Appended(p.now, p.r.LEO(), p.r.LEO()+arg("n", 1), nil)
	case "flushed":
		out = p.r.Flushed(p.now, arg("to", 0), nil)
	case "expired":
		out = p.r.Expired(FlushTimer, nil)
	case "start":
		out = p.r.LogStartMoved(arg("to", 0), nil)
	case "truncated":
		p.r.Truncated(arg("to", 0))
	case "decided":
		p.r.TransactionDecided(arg("first", 0), arg("marker", 0))
	case "found":
		tell, code := p.r.CheckFound(kafka.ReadUncommitted, arg("at", 0))
		return fmt.Sprintf("%t %s\n", tell, code)
	case "undecided":
		p.r.SetFirstUndecided(arg("at", -1))
	case "pass":
		p.now.MonoNs += arg("ms", 0) * 1e6
	case "visible":
		return fmt.Sprintf("consumer %d, read committed %d, broker %d, end known %t\n", p.r.VisibleTo(-1, kafka.ReadUncommitted),
			p.r.VisibleTo(-1, kafka.ReadCommitted), p.r.VisibleTo(2, kafka.ReadUncommitted), p.r.EndKnown())
	case "check":
		return p.r.CheckEpoch(int32(arg("epoch", -1))).String() + "\n"
	default:
		t.Fatalf("unknown command %q", words[0])
	}
	var b strings.Builder
	for _, e := range out {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	return b.String() + p.r.String() + "\n"
}
