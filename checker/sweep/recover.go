package sweep

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trialog/checker/sweep/script"
	"trialog/core/kafka"
	"trialog/core/seglog/twin"
	"trialog/netsim/disk"
	"trialog/netsim/kernel"
	"trialog/netsim/world"
)

// recovered is what the guest made of one image.
type recovered struct {
	found  []found
	first  []seen // after the crash
	second []seen // after that, an append, a clean stop and a start
	wrong  string // what went wrong, "" for nothing: an error, a panic, an index that contradicts the batches
	steps  int    // that were done
	way    string // the calls that the recovery made
}

type found struct {
	tp kafka.TopicPartition
	id byte // the last of the topic id
}

type seen struct {
	tp      kafka.TopicPartition
	outcome twin.Outcome
}

// together is how many images one life of the guest recovers.
const together = 40

// recoverAll recovers images, each in a directory of its own. A guest that dies is started again with one image at a time, so
// that the one that killed it is known.
func (sw *sweep) recoverAll(ctx context.Context, s *script.Script, images []*image) ([]*recovered, error) {
	out := make([]*recovered, 0, len(images))
	for batch := range slices.Chunk(images, together) {
		list, died, err := sw.recoverSome(ctx, s, batch)
		if err != nil {
			return nil, err
		}
		if died != "" && len(batch) > 1 {
			list = list[:0]
			for i := range batch {
				one, died, err := sw.recoverSome(ctx, s, batch[i:i+1])
				if err != nil {
					return nil, err
				}
				if died != "" {
					one = []*recovered{{wrong: died}}
				}
				list = append(list, one...)
			}
		} else if died != "" {
			list = []*recovered{{wrong: died}}
		}
		out = append(out, list...)
	}
	return out, nil
}

// recoverSome is one life of the guest. died is not empty if it did not recover all.
func (sw *sweep) recoverSome(ctx context.Context, s *script.Script, images []*image) (list []*recovered, died string, err error) {
	spec := sw.spec(s.Declarations(), []string{"recover", scriptAt, imagesDir})
	spec.Procs[0].Prepare = func(fs *disk.FS) error {
		for i, im := range images {
			if err := im.put(fs, fmt.Sprintf("%s/%06d", imagesDir, i)); err != nil {
				return err
			}
		}
		return nil
	}
	ways := &wayWatcher{}
	spec.Procs[0].Watch = ways.watch
	res, err := world.Run(ctx, spec)
	if err != nil {
		return nil, "", err
	}
	r := &reader{script: s.Recovery(), intern: sw.intern}
	for _, line := range strings.Split(res.Text(hostName, sinkName), "\n") {
		if err := r.line(line); err != nil {
			return nil, "", fmt.Errorf("sweep: script %s: the guest said %.200q: %w", s.Name, line, err)
		}
	}
	if r.ended != len(images) {
		exit := "it goes on for ever"
		if e := res.Exit(hostName); e != nil {
			exit = fmt.Sprintf("%s %d", e.Reason, e.Code)
		}
		return nil, fmt.Sprintf("the program died: %s: %.1500s", exit, res.Text(hostName, "stderr")), nil
	}
	for i, way := range ways.list {
		if i < len(r.list) {
			r.list[i].way = way
		}
	}
	return r.list, "", nil
}

// wayWatcher notes the calls of each recovery up to the moment when it shows what it serves.
type wayWatcher struct {
	seen int
	on   bool
	list []string
}

func (w *wayWatcher) watch(p *kernel.Proc) {
	p.SetTrap(&kernel.Trap{Match: func(c kernel.Call) bool {
		outputs := p.Kernel().Outputs()
		for _, o := range outputs[w.seen:] {
			switch text := string(o.Data); {
			case o.Stream != sinkName:
			case strings.HasPrefix(text, "@ "):
				w.list, w.on = append(w.list, ""), true
			case strings.HasPrefix(text, "= "), strings.HasPrefix(text, "x "):
				w.on = false
			}
		}
		w.seen = len(outputs)
		if w.on && c.Name != "open" && writes(c) {
			w.list[len(w.list)-1] += shape(c) + "\n"
		}
		return false
	}})
}

// reader makes recovered images of what the guest says.
type reader struct {
	script *script.Script
	intern func([]byte) []byte
	list   []*recovered
	ended  int
}

func (r *reader) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	if word == "@" {
		r.list = append(r.list, &recovered{})
		return nil
	}
	if word == "" {
		return nil
	}
	if len(r.list) == 0 {
		return fmt.Errorf("no image was named")
	}
	now := r.list[len(r.list)-1]
	switch word {
	case ".":
		r.ended++
	case "<":
		now.steps++
	case "found":
		f, err := readFound(rest)
		if now.steps < 3 {
			now.found = append(now.found, f)
		}
		return err
	case "=":
		s, err := readSeen(rest, r.intern)
		if err != nil {
			return err
		}
		if now.steps < 3 {
			now.first = append(now.first, s)
		} else {
			now.second = append(now.second, s)
		}
	case "x", "bad", "panic":
		if now.wrong == "" {
			now.wrong = fmt.Sprintf("%s: %s", word, rest)
			if n, err := strconv.Atoi(strings.SplitN(rest, " ", 2)[0]); word == "x" && err == nil && n <= len(r.script.Steps) {
				now.wrong = fmt.Sprintf("%s failed: %s", r.script.Steps[n-1].Text, rest[strings.IndexByte(rest, ' ')+1:])
			}
		}
	}
	return nil
}

// readFound reads "t-0 ID".
func readFound(text string) (f found, err error) {
	name, id, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(id)
	if err != nil {
		return f, err
	}
	f.id = byte(n)
	f.tp, err = kafka.ParseTopicPartition(name)
	return f, err
}

// readSeen reads "t-0 JSON".
func readSeen(text string, intern func([]byte) []byte) (s seen, err error) {
	name, body, _ := strings.Cut(text, " ")
	if s.tp, err = kafka.ParseTopicPartition(name); err != nil {
		return s, err
	}
	if err = json.Unmarshal([]byte(body), &s.outcome); err != nil {
		return s, err
	}
	for i, b := range s.outcome.Batches {
		s.outcome.Batches[i] = intern(b)
	}
	return s, nil
}
