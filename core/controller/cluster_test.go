package controller

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// cluster is a controller with brokers b1, b2, ... and a topic t of one partition; a story says who sends what. Decisions
// are committed at once.
type cluster struct {
	t      require.TestingT
	cfg    Config
	base   *meta.Image
	c      *Controller
	log    [][]meta.Record // of every offset
	next   *Controller     // a standby
	heard  int             // how much of the log it has
	now    kafka.Now
	lives  byte
	topic  kafka.TopicID
	dirsOf int // how many log directories a broker has
	ids    player
}

// newCluster reads "3 brokers min.insync=2 elr unclean racks=a,b off=rule".
func newCluster(t require.TestingT, words []string) *cluster {
	c := &cluster{t: t, base: &meta.Image{}, topic: kafka.TopicID{1}, now: kafka.Now{MonoNs: 1},
		cfg: Config{Features: []meta.Feature{{Name: elrVersion, Max: 1}, {Name: metadataVersion, Min: 7, Max: 27}}, Node: 100, NumPartitions: 1, DefaultReplicationFactor: 1, SessionTimeoutMs: 9, Rules: AllRules()}}
	var racks []string
	for _, w := range words[2:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "min.insync":
			c.cfg.MinISR = int32(c.int(value))
		case "elr":
			c.level(elrVersion, 1)
		case "unclean":
			c.cfg.UncleanElection = true
		case "racks":
			racks = strings.Split(value, ",")
		case "off":
			require.True(t, c.cfg.Rules.Off(value), value)
		default:
			require.True(t, c.flag(name, value), w)
		}
	}
	c.c = New(c.cfg, c.base)
	n := c.int(words[0])
	for i := range n {
		rack := ""
		if len(racks) > 0 {
			rack = racks[i%len(racks)]
		}
		c.do(c.registration(kafka.NodeID(i+1), rack, false))
		c.do(&BrokerHeartbeat{Broker: kafka.NodeID(i + 1), BrokerEpoch: c.epoch(i + 1), MetadataOffset: int64(len(c.log))})
	}
	a := Assignment{}
	for i := range min(n, 3) {
		a.Replicas = append(a.Replicas, kafka.NodeID(i+1))
	}
	c.do(&CreateTopics{Topics: []NewTopic{{Name: "t", ID: c.topic, Partitions: -1, ReplicationFactor: -1, Assignment: []Assignment{a}}}})
	return c
}

func (c *cluster) int(s string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "b"))
	require.NoError(c.t, err)
	return n
}

func (c *cluster) epoch(node int) int64 {
	if b := c.c.Image().Broker(kafka.NodeID(node)); b != nil {
		return b.Epoch
	}
	return kafka.NoBrokerEpoch
}

func (c *cluster) registration(node kafka.NodeID, rack string, clean bool) *RegisterBroker {
	c.lives++
	r := &RegisterBroker{LogDirs: c.dirs(node), Broker: node, Incarnation: kafka.TopicID{2, c.lives}, Rack: rack, PreviousEpoch: kafka.NoBrokerEpoch,
		ClusterID: c.cfg.ClusterID}
	if clean {
		r.PreviousEpoch = c.epoch(int(node))
	}
	return r
}

// dirs is the log directories of a broker, where the story has some: dN1 and dN2.
func (c *cluster) dirs(node kafka.NodeID) (dirs []kafka.TopicID) {
	for i := range c.dirsOf {
		dirs = append(dirs, kafka.TopicID{4, byte(node), byte(i + 1)})
	}
	return dirs
}

// do decides and commits a request.
func (c *cluster) do(req Request) Decision {
	d := c.c.Handle(c.now, req)
	if records := c.c.Committed(d.Seq); len(records) > 0 {
		c.log = append(c.log, records)
		c.c.Reached(c.now, int64(len(c.log)))
	}
	return d
}

func (c *cluster) partition() *meta.PartitionImage { return &c.c.Image().Topic("t").Partitions[0] }

// show is the brokers that do not simply serve, and the partition.
func (c *cluster) show() string {
	var b strings.Builder
	for _, k := range c.c.Image().Brokers() {
		switch {
		case k.Fenced:
			fmt.Fprintf(&b, "b%d fenced; ", k.ID)
		case k.InControlledShutdown:
			fmt.Fprintf(&b, "b%d shuts down; ", k.ID)
		}
	}
	if c.c.Image().Topic("t") == nil {
		return b.String() + "no topic\n"
	}
	for line := range strings.Lines(c.c.Image().String()) {
		if rest, ok := strings.CutPrefix(line, "  0 "); ok {
			return b.String() + c.named(rest)
		}
	}
	return b.String() + "no partition\n"
}

// run does one line of a story.
func (c *cluster) run(words []string) string {
	var d Decision
	switch words[0] {
	case "elect":
		d = c.do(&ElectLeaders{Type: map[string]ElectionType{"preferred": Preferred, "unclean": Unclean}[words[1]],
			Partitions: []kafka.TopicPartition{of(words)}})
	case "balance":
		d = c.do(&BalanceLeaders{UncleanOnly: slices.Contains(words, "unclean")})
	case "reassign", "cancel":
		r := Reassignment{TopicPartition: of(words), Cancel: words[0] == "cancel"}
		if !r.Cancel {
			r.Replicas = c.nodes(words[1])
		}
		d = c.do(&Reassign{Partitions: []Reassignment{r}, SameFactor: slices.Contains(words, "same-factor")})
	case "reassigning":
		var b strings.Builder
		for _, m := range c.c.Reassignments(nil) {
			fmt.Fprintf(&b, "  %s to %v adding %v removing %v\n", m.TopicPartition, m.Replicas, m.Adding, m.Removing)
		}
		return b.String()
	case "place":
		return c.place(words[1:])
	case "alter", "features", "create", "grow":
		d = c.do(c.fromClient(words))
	case "delete":
		d = c.do(&DeleteTopics{Topics: []TopicRef{{Name: "t"}}})
	case "standby":
		return c.standby(words[1:])
	default:
		d = c.do(c.fromBroker(kafka.NodeID(c.int(words[0])), words[1], words[2:]))
	}
	return c.told(d) + c.show()
}

// told is the answer and the records.
func (c *cluster) told(d Decision) string {
	var b strings.Builder
	switch r := d.Response.(type) {
	case *AlterPartitionResponse:
		fmt.Fprintf(&b, "  %s", r.Code)
		for _, p := range r.Partitions {
			fmt.Fprintf(&b, " %s", p.Code)
			if p.Code == kafka.ErrNone {
				fmt.Fprintf(&b, " e%d p%d isr=%v", p.LeaderEpoch, p.PartitionEpoch, p.ISR)
			}
		}
	case *ElectLeadersResponse:
		fmt.Fprintf(&b, "  %s %s", r.Partitions[0].Code, r.Partitions[0].Message)
	case *CreateTopicsResponse:
		fmt.Fprintf(&b, "  %s %s", r.Topics[0].Code, r.Topics[0].Message)
	case *CreatePartitionsResponse:
		fmt.Fprintf(&b, "  %s %s", r.Topics[0].Code, r.Topics[0].Message)
	case *AlterConfigsResponse:
		fmt.Fprintf(&b, "  %s %s", r.Resources[0].Code, r.Resources[0].Message)
	case *UpdateFeaturesResponse:
		fmt.Fprintf(&b, "  %s %s", r.Code, r.Message)
	case *ReassignResponse:
		fmt.Fprintf(&b, "  %s %s", r.Partitions[0].Code, r.Partitions[0].Message)
	default:
		fmt.Fprintf(&b, "  %+v", r)
	}
	text := strings.TrimRight(b.String(), " ") + "\n"
	for _, r := range d.Records {
		text += "  + " + c.named(strings.ReplaceAll(r.String(), c.topic.String(), "t")) + "\n"
	}
	for _, at := range d.Timers {
		text += fmt.Sprintf("  timer b%d epoch %d at %d\n", at.Broker, at.BrokerEpoch, at.At)
	}
	return text
}

// named has directories by short names.
func (c *cluster) named(text string) string {
	text = strings.ReplaceAll(text, meta.DirUnassigned.String(), "?")
	text = strings.ReplaceAll(text, meta.DirMigrating.String(), "-")
	text = strings.ReplaceAll(text, meta.DirLost.String(), "lost")
	for node := range byte(4) {
		for dir := range byte(4) {
			text = strings.ReplaceAll(text, kafka.TopicID{4, node, dir}.String(), fmt.Sprintf("d%d%d", node, dir))
		}
	}
	return text
}

func (c *cluster) nodes(s string) (nodes []kafka.NodeID) {
	for _, w := range strings.Split(s, ",") {
		nodes = append(nodes, kafka.NodeID(c.int(w)))
	}
	return nodes
}

// fromBroker is what a broker sends: registers [clean] | beats [behind] [life=E] [fence] [shutdown] | expires | unregisters |
// alters isr=1,2@4 [e=] [p=] [recovering].
func (c *cluster) fromBroker(node kafka.NodeID, verb string, args []string) Request {
	arg := func(name string, def int64) int64 {
		for _, w := range args {
			if v, ok := strings.CutPrefix(w, name+"="); ok {
				return int64(c.int(v))
			}
		}
		return def
	}
	is := func(name string) bool { return slices.Contains(args, name) }
	switch verb {
	case "registers":
		return c.registers(node, args)
	case "beats":
		offset := int64(len(c.log))
		if is("behind") {
			offset = 0
		}
		var offline []kafka.TopicID
		if failed := arg("failed", 0); failed != 0 {
			offline = []kafka.TopicID{{4, byte(node), byte(failed)}}
		}
		return &BrokerHeartbeat{OfflineDirs: offline, Broker: node, BrokerEpoch: arg("life", c.epoch(int(node))), MetadataOffset: arg("at", offset),
			WantFence: is("fence"), WantShutDown: is("shutdown")}
	case "expires":
		return &SessionExpired{Broker: node, BrokerEpoch: arg("life", c.epoch(int(node)))}
	case "keeps": // b1 keeps t in=2
		dir := kafka.TopicID{4, byte(node), byte(arg("in", 0))}
		if is("nowhere") {
			dir = meta.DirLost
		}
		return &AssignDirs{Broker: node, BrokerEpoch: c.epoch(int(node)), Replicas: []ReplicaDir{{Topic: c.topic, Partition: int32(arg("p", 0)), Dir: dir}}}
	case "unregisters":
		return &UnregisterBroker{Broker: node}
	case "alters":
		p := c.partition()
		a := AlterISR{Topic: c.topic, LeaderEpoch: int32(arg("e", int64(p.LeaderEpoch))), PartitionEpoch: int32(arg("p", int64(p.PartitionEpoch))),
			Recovering: is("recovering")}
		for _, w := range args {
			isr, ok := strings.CutPrefix(w, "isr=")
			if !ok {
				continue
			}
			for _, m := range strings.Split(isr, ",") {
				n, life, held := strings.Cut(m, "@")
				in := InSync{Node: kafka.NodeID(c.int(n)), BrokerEpoch: c.epoch(c.int(n))}
				if held {
					in.BrokerEpoch = int64(c.int(life))
				}
				a.ISR = append(a.ISR, in)
			}
		}
		return &AlterPartition{Broker: node, BrokerEpoch: arg("life", c.epoch(int(node))), Partitions: []AlterISR{a}}
	}
	require.Fail(c.t, verb)
	return nil
}

// standby is: standby | standby hears N (offsets) | standby leads
func (c *cluster) standby(args []string) string {
	switch {
	case len(args) == 0:
		cfg := c.cfg
		cfg.Standby = true
		c.next, c.heard = New(cfg, c.base), 0
		return ""
	case args[0] == "hears":
		n := len(c.log) - c.heard
		if len(args) > 1 {
			n = c.int(args[1])
		}
		for range n {
			if err := c.next.Replay(c.log[c.heard]...); err != nil {
				return fmt.Sprintf("  offset %d does not fit\n", c.heard)
			}
			c.heard++
		}
		timers := c.next.Reached(c.now, int64(c.heard))
		return fmt.Sprintf("  heard %d of %d, active %t, %d timers\n", c.heard, len(c.log), c.next.Active(), len(timers))
	}
	c.c.Resign()
	c.c = c.next
	timers := c.c.Lead(c.now, 2, int64(len(c.log)))
	return fmt.Sprintf("  active %t, %d timers\n", c.c.Active(), len(timers))
}

// place makes topics until one is refused: place PARTITIONS FACTOR [draw]
func (c *cluster) place(args []string) string {
	req := &CreateTopics{Topics: []NewTopic{{Name: "p", ID: kafka.TopicID{3}, Partitions: int32(c.int(args[0])), ReplicationFactor: int16(c.int(args[1]))}}}
	if len(args) > 2 {
		req.Draw = uint64(c.int(args[2]))
	}
	d := c.do(req)
	made := d.Response.(*CreateTopicsResponse).Topics[0]
	if made.Code != kafka.ErrNone {
		return fmt.Sprintf("  %s %s\n", made.Code, made.Message)
	}
	var b strings.Builder
	for _, p := range c.c.Image().Topic("p").Partitions {
		fmt.Fprintf(&b, "  %v leader %d", p.Replicas, p.Leader)
		if len(p.ISR) < len(p.Replicas) {
			fmt.Fprintf(&b, " isr %v", p.ISR)
		}
		b.WriteString("\n")
	}
	c.do(&DeleteTopics{Topics: []TopicRef{{Name: "p"}}})
	return b.String()
}

// TestStoriesBite: each rule has a story that is told twice, the second time with the rule off, and the machine then tells
// another one.
func TestStoriesBite(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	bitten := map[string]bool{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		stories := strings.Split(string(raw), "> cluster ")
		for i := 1; i < len(stories); i++ {
			head, off, _ := strings.Cut(stories[i], "\n")
			_, rule, ok := strings.Cut(head, " off=")
			if !ok {
				continue
			}
			require.Greater(t, i, 1, f)
			_, on, _ := strings.Cut(stories[i-1], "\n")
			require.Equal(t, commandsOf(on), commandsOf(off), "%s: the stories of %s have different commands", f, rule)
			require.NotEqual(t, answersOf(on), answersOf(off), "%s: rule %s off tells the same", f, rule)
			bitten[rule] = true
		}
	}
	for _, doc := range RuleDocs {
		if doc.Name != "producer-ids-durable" { // TestProducerIDsDurableBites
			require.True(t, bitten[doc.Name], "no story switches %s off", doc.Name)
		}
	}
}

func commandsOf(story string) string {
	var b strings.Builder
	for line := range strings.Lines(story) {
		if strings.HasPrefix(line, "> ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func answersOf(story string) string {
	var b strings.Builder
	answering := true
	for line := range strings.Lines(story) {
		switch {
		case strings.HasPrefix(line, "> "):
			answering = true
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			answering = false
		case answering:
			b.WriteString(line)
		}
	}
	return b.String()
}
