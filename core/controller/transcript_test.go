package controller

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/meta"
	"trialog/core/transcript"
)

func TestTranscripts(t *testing.T) {
	transcript.Run(t, func(t *testing.T) func(string) string {
		p := &player{t: t, c: newController(AllRules())}
		var c *cluster
		return func(command string) string {
			words := strings.Fields(command)
			if words[0] == "cluster" {
				c = newCluster(t, words[1:])
				return c.show()
			}
			if c != nil {
				return c.run(words)
			}
			return p.run(words)
		}
	})
}

func newController(rules Rules) *Controller {
	return New(Config{Node: 1, NumPartitions: 2, DefaultReplicationFactor: 1, Rules: rules}, &meta.Image{})
}

// player runs commands on one controller. Topic ids count up.
type player struct {
	t   require.TestingT
	c   *Controller
	ids byte
}

func (p *player) id() kafka.TopicID { p.ids++; return kafka.TopicID{0: p.ids} }

func (p *player) run(words []string) string {
	var d Decision
	switch words[0] {
	case "create", "validate":
		d = p.c.Handle(kafka.Now{}, p.create(words))
	case "delete":
		d = p.c.Handle(kafka.Now{}, p.delete(words[1:]))
	case "partitions", "validate-partitions":
		d = p.c.Handle(kafka.Now{}, p.partitions(words))
	case "alter", "replace", "validate-alter":
		d = p.c.Handle(kafka.Now{}, p.alter(words))
	case "producer-ids":
		d = p.c.Handle(kafka.Now{}, &AllocateProducerIDs{Broker: int32(p.int(words[1])), BrokerEpoch: int64(p.int(words[2]))})
	case "register":
		incarnation := kafka.TopicID{0: byte(p.int(words[2]))}
		d = p.c.Handle(kafka.Now{}, &RegisterBroker{Broker: int32(p.int(words[1])), Incarnation: incarnation,
			Endpoints: []meta.Endpoint{{Name: "PLAINTEXT", Host: "h", Port: 9092}}})
	case "commit":
		n := len(p.c.Committed(int64(p.int(words[1]))))
		return fmt.Sprintf("%d records\n", n)
	case "drop":
		p.c.Drop()
		return ""
	case "off":
		require.True(p.t, p.c.cfg.Rules.Off(words[1]))
		return ""
	case "show":
		return p.c.String()
	default:
		require.Fail(p.t, "unknown command", "%q", words[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "seq %d durable %t\n", d.Seq, d.Durable)
	for i, r := range d.Records {
		if i == 8 {
			fmt.Fprintf(&b, "  and %d more\n", len(d.Records)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", r)
	}
	b.WriteString(show(d.Response))
	return b.String()
}

func show(r Response) string {
	var b strings.Builder
	switch r := r.(type) {
	case *CreateTopicsResponse:
		for _, t := range r.Topics {
			if t.Code != kafka.ErrNone {
				fmt.Fprintf(&b, "%s: %s %s\n", t.Name, t.Code, t.Message)
			} else {
				fmt.Fprintf(&b, "%s: id=%s partitions=%d replication-factor=%d configs=%v\n", t.Name, t.ID, t.Partitions, t.ReplicationFactor, t.Configs)
			}
		}
	case *DeleteTopicsResponse:
		for _, t := range r.Topics {
			fmt.Fprintf(&b, "%s %s: %s %s\n", t.Name, t.ID, t.Code, t.Message)
		}
	case *CreatePartitionsResponse:
		for _, t := range r.Topics {
			fmt.Fprintf(&b, "%s: %s %s\n", t.Name, t.Code, t.Message)
		}
	case *AlterConfigsResponse:
		for _, t := range r.Resources {
			fmt.Fprintf(&b, "%d %q: %s %s\n", t.Type, t.Name, t.Code, t.Message)
		}
	default:
		fmt.Fprintf(&b, "%+v\n", r)
	}
	return b.String()
}

// partitions reads topics: name=count, then at=NODE+NODE for each new partition of that topic; at= alone is an empty list.
func (p *player) partitions(words []string) *CreatePartitions {
	req := &CreatePartitions{ValidateOnly: words[0] == "validate-partitions"}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		if key != "at" {
			req.Topics = append(req.Topics, MorePartitions{Topic: key, Count: int32(p.int(value))})
			continue
		}
		t := &req.Topics[len(req.Topics)-1]
		replicas := []kafka.NodeID{}
		for _, n := range strings.FieldsFunc(value, func(r rune) bool { return r == '+' }) {
			replicas = append(replicas, int32(p.int(n)))
		}
		t.Assignment = append(t.Assignment, replicas)
	}
	return req
}

// alter reads resources: topic:NAME or broker:NAME, then changes of it: key=value sets, key+=value appends, key-=value
// subtracts, key- deletes, key=null is a null value, key? is an unknown operation.
func (p *player) alter(words []string) *AlterConfigs {
	req := &AlterConfigs{Incremental: words[0] != "replace", ValidateOnly: words[0] == "validate-alter"}
	for _, w := range words[1:] {
		kind, name, isResource := strings.Cut(w, ":")
		if isResource {
			r := AlterResource{Resource: Resource{Type: map[string]int8{"topic": 2, "broker": 4, "group": 3}[kind], Name: name}}
			req.Resources = append(req.Resources, r)
			continue
		}
		r := &req.Resources[len(req.Resources)-1]
		key, value, set := strings.Cut(w, "=")
		ch := ConfigChange{Name: key, Value: value, Null: value == "null"}
		switch {
		case strings.HasSuffix(key, "?"):
			ch.Name, ch.Op = strings.TrimSuffix(key, "?"), 7
		case set && strings.HasSuffix(key, "+"):
			ch.Name, ch.Op = strings.TrimSuffix(key, "+"), ConfigAppend
		case set && strings.HasSuffix(key, "-"):
			ch.Name, ch.Op = strings.TrimSuffix(key, "-"), ConfigSubtract
		case !set:
			ch.Name, ch.Op, ch.Null = strings.TrimSuffix(key, "-"), ConfigDelete, true
		}
		r.Changes = append(r.Changes, ch)
	}
	return req
}

// create reads topics: name, then settings of that topic up to the next name: partitions=, rf=, at=P:NODE+NODE, key=value.
func (p *player) create(words []string) *CreateTopics {
	req := &CreateTopics{ValidateOnly: words[0] == "validate"}
	var t *NewTopic
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		switch {
		case w == "internal":
			req.Internal = true
		case !ok:
			req.Topics = append(req.Topics, NewTopic{Name: strings.Trim(w, `"`), ID: p.id(), Partitions: -1, ReplicationFactor: -1})
			t = &req.Topics[len(req.Topics)-1]
		case key == "partitions":
			t.Partitions = int32(p.int(value))
		case key == "rf":
			t.ReplicationFactor = int16(p.int(value))
		case key == "at":
			part, nodes, _ := strings.Cut(value, ":")
			a := Assignment{Partition: int32(p.int(part))}
			for _, n := range strings.FieldsFunc(nodes, func(r rune) bool { return r == '+' }) {
				a.Replicas = append(a.Replicas, int32(p.int(n)))
			}
			t.Assignment = append(t.Assignment, a)
		default:
			t.Configs = append(t.Configs, NewConfig{Name: key, Value: value, Null: value == "null"})
		}
	}
	return req
}

func (p *player) delete(words []string) *DeleteTopics {
	req := &DeleteTopics{}
	for _, w := range words {
		ref := TopicRef{Name: strings.Trim(w, `"`)}
		if id, ok := strings.CutPrefix(w, "id="); ok {
			ref = TopicRef{ID: kafka.TopicID{0: byte(p.int(id))}}
		}
		req.Topics = append(req.Topics, ref)
	}
	return req
}

func (p *player) int(s string) int {
	n, err := strconv.Atoi(s)
	require.NoError(p.t, err)
	return n
}
