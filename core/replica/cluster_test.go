package replica

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/controller"
	"trialog/core/epochs"
	"trialog/core/kafka"
)

// cluster is brokers b1, b2, ... with one partition, and a controller that a story speaks for: it says what is decided and
// which message arrives when. A log is a list of records; of the protocol only the machines know anything.
type cluster struct {
	brokers  []*broker
	requests map[kafka.LeaderEpoch]decision
	partEp   int32
	rules    Rules
	minISR   int
	replicas []kafka.NodeID
	racks    []string
	fenced   []kafka.NodeID
	now      kafka.Now
	quiet    bool // nothing is told

	shell faults
	ctl   *control // the controller that ships, where the story does not speak for it
	acked map[kafka.Offset][]stored
	read  map[kafka.Offset][]stored // by consumers
}

// faults are what a shell may do wrong with the epochs of its log. A story switches them on like a rule that is off.
type faults struct {
	startUnnoted bool // a leader's epoch begins with its first append (KAFKA-7415)
	nothingCut   bool // a truncation that cuts no byte leaves the epochs alone (KAFKA-10706)
}

func (f *faults) off(name string) bool {
	switch name {
	case "shell.epoch-noted-at-election":
		f.startUnnoted = true
	case "shell.epochs-cut-with-log":
		f.nothingCut = true
	default:
		return false
	}
	return true
}

// decision is what the controller says about an epoch.
type decision struct {
	leader kafka.NodeID
	isr    []kafka.NodeID
	partEp int32
}

// stored is a record in a log: its name, and the epoch in which it was appended.
type stored struct {
	name  string
	epoch kafka.LeaderEpoch
}

type broker struct {
	node   kafka.NodeID
	life   int64
	m      *Replica
	start  kafka.Offset
	log    []stored // from start on
	epochs epochs.Cache
	hw     kafka.Offset // checkpointed
	heard  map[kafka.NodeID]Broker

	asked  *Fetch   // sent, not arrived
	before *Fetch   // sent in an earlier life
	answer *arrived // answered, not arrived
	alter  *Effect  // the newest proposal
	// committed is the newest answer to a proposal that was committed: heard late, the metadata may have come before.
	committed *Altered
}

type arrived struct {
	asked   Fetch
	answer  Answer
	records []stored
}

// newCluster reads "3 brokers min.insync=2 off=rule,rule"; with "controller" the one that ships decides, with "elr" it keeps
// eligible leader replicas.
func newCluster(t *testing.T, words []string) *cluster {
	c := &cluster{requests: map[kafka.LeaderEpoch]decision{}, rules: AllRules(), minISR: 1, now: kafka.Now{MonoNs: 1}}
	c.acked, c.read = map[kafka.Offset][]stored{}, map[kafka.Offset][]stored{}
	rules := controller.AllRules()
	n, err := strconv.Atoi(words[0])
	require.NoError(t, err)
	for _, w := range words[2:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "min.insync":
			c.minISR, err = strconv.Atoi(value)
			require.NoError(t, err)
		case "off":
			for _, rule := range strings.Split(value, ",") {
				require.True(t, c.shell.off(rule) || c.rules.Off(rule) || rules.Off(rule), rule)
			}
		case "controller", "elr":
		case "racks":
			c.racks = strings.Split(value, ",")
		case "replicas":
			c.replicas = nodes(t, value)
		default:
			t.Fatalf("cluster: %q", w)
		}
	}
	for i := range n {
		b := &broker{node: kafka.NodeID(i + 1), life: 1, heard: map[kafka.NodeID]Broker{}}
		b.m = New(c.config(b.node))
		c.brokers = append(c.brokers, b)
	}
	if c.replicas == nil {
		for _, b := range c.brokers {
			c.replicas = append(c.replicas, b.node)
		}
	}
	if slices.Contains(words, "controller") {
		c.ctl = newControl(t, c, slices.Contains(words, "elr"), rules)
	}
	return c
}

func (c *cluster) config(node kafka.NodeID) Config {
	return Config{Node: node, FlushMessages: NoFlushPolicy, FlushMs: NoFlushPolicy, MinISR: c.minISR, LagMs: 10, Rules: c.rules}
}

func (c *cluster) lives() []Broker {
	var all []Broker
	for _, b := range c.brokers {
		gone := slices.Contains(c.fenced, b.node)
		all = append(all, Broker{Node: b.node, Epoch: b.life, Barred: gone, Fenced: gone})
	}
	return all
}

// run does one line of a story.
func (c *cluster) run(t *testing.T, words []string) string {
	text := c.line(t, words)
	c.noteAcks()
	return text
}

func (c *cluster) line(t *testing.T, words []string) string {
	switch words[0] {
	case "controller":
		return c.decide(t, words[1:])
	case "logs":
		return c.show(c.brokers...)
	case "promises":
		return c.promises()
	}
	node, err := strconv.Atoi(strings.TrimPrefix(words[0], "b"))
	require.NoError(t, err, "%q", words)
	b := c.brokers[node-1]
	verb, args := words[1], words[2:]
	var text string
	switch verb {
	case "hears":
		if c.ctl != nil {
			text = c.ctl.hear(t, c, b)
		} else {
			text = c.hears(t, b, args[0])
		}
	case "appends":
		text = c.appends(b, args)
	case "fetches":
		if text = c.asks(t, b); b.asked != nil {
			text += c.answers(t, b, "") + c.takes(t, b)
		}
	case "asks":
		return c.asks(t, b)
	case "answers": // b1 answers b2
		return c.answers(t, c.brokers[number(t, args[0])-1], fmt.Sprint(node))
	case "takes":
		text = c.takes(t, b)
	case "lags": // b1 lags b2: b2 has been behind for too long
		text = c.do(t, b, b.m.Expired(LagTimer(kafka.NodeID(number(t, args[0]))), nil), nil)
	case "dies": // b2 dies keeping=1: what is not kept of the log is lost
		c.dies(t, b, args)
	case "produce":
		return fmt.Sprintf("acks=all %s, acks=1 %s\n", b.m.CheckProduce(-1), b.m.CheckProduce(1))
	case "acked":
		done, code := b.m.AckAll(int64(number(t, args[0])))
		return fmt.Sprintf("%t %s\n", done, code)
	case "end":
		return fmt.Sprintf("hw %d, known %t\n", b.m.HW(), b.m.EndKnown())
	case "learns": // b1 learns from the metadata which lives the brokers are in
		text = c.learns(t, b, c.lives())
	case "bars": // b1 bars b3: b1 knows from the metadata that b3 is fenced
		peer := c.brokers[number(t, args[0])-1]
		lives := c.lives()
		lives[peer.node-1].Barred = true
		text = c.learns(t, b, lives)
	case "serves": // b1 serves: a consumer reads what b1 shows
		return c.serves(b)
	default:
		if text, ok := c.more(t, b, verb, args); ok {
			return text
		}
		require.NotNil(t, c.ctl, "unknown verb %q", verb)
		text = c.ctl.fromBroker(t, c, b, verb, args)
	}
	return text + c.show(b)
}

// learns has a leader hear what the metadata says of brokers, and of its partition nothing new.
func (c *cluster) learns(t *testing.T, b *broker, brokers []Broker) string {
	a := Assignment{PartitionEpoch: b.m.PartitionEpoch(), Replicas: c.replicas, ISR: b.m.ISR(), Brokers: brokers}
	return c.do(t, b, b.m.Assigned(c.now, a, nil), nil)
}

func number(t require.TestingT, text string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(text, "b"))
	require.NoError(t, err)
	return n
}

// decide is: controller elects b1 in e2 isr=1,2 | controller commits b1 | controller answers b1 CODE | controller loses b1
func (c *cluster) decide(t *testing.T, words []string) string {
	if c.ctl != nil {
		return c.ctl.decides(t, c, words)
	}
	switch words[0] {
	case "elects":
		c.partEp++
		d := decision{leader: kafka.NoNode, partEp: c.partEp}
		if words[1] != "nobody" {
			d.leader = kafka.NodeID(number(t, words[1]))
		}
		d.isr = nodes(t, strings.TrimPrefix(words[4], "isr="))
		if len(words) > 5 {
			c.replicas = nodes(t, strings.TrimPrefix(words[5], "replicas="))
		}
		c.requests[int32(number(t, strings.TrimPrefix(words[3], "e")))] = d
		return ""
	case "commits":
		b := c.brokers[number(t, words[1])-1]
		if b.alter == nil {
			return "  nothing is proposed\n"
		}
		c.partEp++
		var isr []kafka.NodeID
		for _, m := range b.alter.ISR {
			isr = append(isr, m.Node)
		}
		a := Altered{Asked: b.alter.PartitionEpoch, Epoch: b.alter.Epoch, PartitionEpoch: c.partEp, ISR: isr}
		b.committed = &a
		if slices.Contains(words, "unheard") {
			return ""
		}
		return c.do(t, b, b.m.ProposalAnswered(c.now, a, nil), nil) + c.show(b)
	case "published": // controller published b1: the metadata tells b1 what was committed
		b := c.brokers[number(t, words[1])-1]
		a := Assignment{PartitionEpoch: b.committed.PartitionEpoch, Replicas: c.replicas, ISR: b.committed.ISR, Brokers: c.lives()}
		return c.do(t, b, b.m.Assigned(c.now, a, nil), nil) + c.show(b)
	case "late": // controller late b1: the answer that b1 has not heard arrives
		b := c.brokers[number(t, words[1])-1]
		return c.do(t, b, b.m.ProposalAnswered(c.now, *b.committed, nil), nil) + c.show(b)
	case "answers":
		b := c.brokers[number(t, words[1])-1]
		code := map[string]kafka.ErrorCode{
			"INELIGIBLE_REPLICA": kafka.ErrIneligibleReplica, "INVALID_UPDATE_VERSION": kafka.ErrInvalidUpdateVersion,
			"REQUEST_TIMED_OUT": kafka.ErrRequestTimedOut,
		}[words[2]]
		require.NotZero(t, code)
		return c.do(t, b, b.m.ProposalAnswered(c.now, Altered{Code: code, Asked: b.alter.PartitionEpoch}, nil), nil) + c.show(b)
	}
	return c.tells(t, words)
}

// hears has a broker take up what the controller decided for an epoch.
func (c *cluster) hears(t require.TestingT, b *broker, epoch string) string {
	e := int32(number(t, strings.TrimPrefix(epoch, "e")))
	d, ok := c.requests[e]
	require.True(t, ok, "epoch %d", e)
	if e <= b.m.Epoch() {
		return "  that is over\n"
	}
	leo := b.leo()
	if d.leader != b.node {
		f := Following{Epoch: e, PartitionEpoch: d.partEp, Leader: d.leader, LogStart: b.start, LEO: leo, Flushed: leo, HW: b.hw}
		return c.do(t, b, b.m.BecomeFollower(c.now, f, nil), nil)
	}
	if !c.shell.startUnnoted {
		b.epochs.Assign(e, leo)
	}
	l := Leadership{
		Epoch: e, PartitionEpoch: d.partEp, ISR: d.isr, Brokers: c.lives(), LogStart: b.start, LEO: leo, Flushed: leo, HW: b.hw,
	}
	l.Replicas = c.replicas
	return c.do(t, b, b.m.BecomeLeader(c.now, l, nil), nil)
}

func (c *cluster) appends(b *broker, names []string) string {
	if b.m.Role() != Leader {
		return "  " + kafka.ErrNotLeaderOrFollower.String() + "\n"
	}
	base := b.leo()
	for _, n := range names {
		b.epochs.Assign(b.m.Epoch(), b.leo())
		b.log = append(b.log, stored{n, b.m.Epoch()})
	}
	return c.do(nil, b, b.m.Appended(c.now, base, b.leo(), nil), nil)
}

func (b *broker) leo() kafka.Offset { return b.start + int64(len(b.log)) }

func (c *cluster) asks(t *testing.T, b *broker) string {
	f, ok := b.m.NextFetch(b.epochs.LatestEpoch(), b.life)
	if !ok {
		return fmt.Sprintf("  b%d has nobody to ask\n", b.node)
	}
	b.asked = &f
	return fmt.Sprintf("  b%d asks b%d: e%d from %d, last e%d\n", b.node, b.m.LeaderID(), f.Epoch, f.Offset, f.LastEpoch)
}

// answers has the leader handle what b asked; by names another broker that the request reached.
func (c *cluster) answers(t *testing.T, b *broker, by string) string {
	if b.asked == nil {
		return "  nobody asks\n"
	}
	at := b.m.LeaderID()
	if by != "" {
		at = kafka.NodeID(number(t, by))
	}
	l := c.brokers[at-1]
	f := *b.asked
	b.asked = nil
	var ours EpochEnd
	ours.Epoch, ours.End = l.epochs.EndOffsetFor(f.LastEpoch, l.leo())
	a, effects := l.m.Fetched(c.now, f, ours, nil)
	b.answer = &arrived{asked: f, answer: a}
	text := fmt.Sprintf("  b%d answers: %s", l.node, a.Code)
	switch {
	case a.Diverging:
		text = fmt.Sprintf("  b%d answers: diverging, e%d ends at %d", l.node, a.Ours.Epoch, a.Ours.End)
	case a.Code == kafka.ErrNone:
		b.answer.records = slices.Clone(l.log[f.Offset-l.start:])
		text += fmt.Sprintf(", %d records", len(b.answer.records))
	}
	return text + fmt.Sprintf(", hw %d\n", a.HW) + c.do(t, l, effects, nil)
}

// takes has the follower handle the answer that it waits for.
func (c *cluster) takes(t *testing.T, b *broker) string {
	if b.answer == nil {
		return "  there is no answer\n"
	}
	a := *b.answer
	b.answer = nil
	var mine EpochEnd
	mine.Epoch, mine.End = b.epochs.EndOffsetFor(a.answer.Ours.Epoch, b.leo())
	return c.do(t, b, b.m.FetchAnswered(a.asked, a.answer, mine, nil), &a)
}

// do does what a machine wants done.
func (c *cluster) do(t require.TestingT, b *broker, effects []Effect, a *arrived) string {
	text := ""
	for _, e := range effects {
		if e.Kind == SetTimer || e.Kind == StopTimer || e.Kind == AckLocal {
			continue
		}
		if !c.quiet {
			text += fmt.Sprintf("  b%d: %s\n", b.node, e)
		}
		switch e.Kind {
		case AdvanceHW:
			b.hw = e.Offset
		case ProposeISR:
			b.alter = &e
		case Truncate:
			if e.Offset < b.leo() || !c.shell.nothingCut {
				b.epochs.TruncateFromEnd(e.Offset)
			}
			b.log = b.log[:e.Offset-b.start]
			b.m.Truncated(e.Offset)
		case Restart:
			b.log, b.start = nil, e.Offset
			b.epochs.Clear()
			text += c.do(t, b, b.m.Restarted(e.Offset, nil), nil)
		case AppendFetched:
			for _, r := range a.records {
				if r.epoch > e.Epoch {
					break
				}
				b.epochs.Assign(r.epoch, b.leo())
				b.log = append(b.log, r)
			}
			if b.leo() > e.Offset {
				text += c.do(t, b, b.m.FollowerAppended(c.now, b.leo(), a.answer.HW, nil), nil)
			}
		case MoveLogStart:
			b.startAt(e.Offset)
			text += c.do(t, b, b.m.LogStartMoved(e.Offset, nil), nil)
		}
	}
	return text
}

// dies loses the process, and what is not kept of the log.
func (c *cluster) dies(t *testing.T, b *broker, args []string) {
	for _, w := range args {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "keeping":
			keep := int64(number(t, value))
			b.log = b.log[:keep-b.start]
			b.epochs.TruncateFromEnd(keep)
		case "hw":
			b.hw = int64(number(t, value))
		default:
			t.Fatalf("dies: %q", w)
		}
	}
	b.hw = min(b.hw, b.leo())
	b.life++
	b.before = b.asked
	b.m, b.asked, b.answer, b.alter = New(c.config(b.node)), nil, nil, nil
}

// show prints brokers: the machine, and the log with the HW as |.
func (c *cluster) show(brokers ...*broker) string {
	text := ""
	for _, b := range brokers {
		m := b.m
		text += fmt.Sprintf("b%d %s e%d", b.node, m.Role(), m.Epoch())
		switch {
		case m.Role() == Follower && m.LeaderID() == kafka.NoNode:
			text += " of nobody"
		case m.Role() == Follower:
			text += fmt.Sprintf(" of b%d", m.LeaderID())
		}
		if m.Role() == Leader {
			text += fmt.Sprintf(" isr %v", m.ISR())
			text += string(m.appendMembers(nil, " holds ", func(p *member) bool { return p.node != b.node }))
		}
		text += fmt.Sprintf("  %d [", b.start)
		for o := b.start; o <= b.leo(); o++ {
			if o == m.HW() {
				text += "|"
			}
			if o < b.leo() {
				r := b.log[o-b.start]
				text += fmt.Sprintf(" %s@%d ", r.name, r.epoch)
			}
		}
		text += "]\n"
	}
	return text
}
