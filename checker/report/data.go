package report

import (
	"cmp"
	"fmt"
	"slices"

	"trialog/checker/history"
	"trialog/core/event"
)

// Data is the part of the file that the page's script draws. Its JSON is the same for the same input.
type Data struct {
	End     int64       `json:"end"` // ns; the last thing that happened
	Procs   []Proc      `json:"procs"`
	Parts   []Partition `json:"parts"`
	Ops     []Op        `json:"ops"` // in order of invocation
	Bands   []Band      `json:"bands"`
	Marks   []Mark      `json:"marks"`
	Output  []Said      `json:"output"`
	Stories []Story     `json:"stories"`

	OpsLeftOut   int `json:"opsLeftOut,omitempty"`
	RecsLeftOut  int `json:"recsLeftOut,omitempty"`
	LinesLeftOut int `json:"linesLeftOut,omitempty"`
}

// Proc is a lane of the timeline.
type Proc struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // broker, or a client's role
	Life []Life `json:"life"`
}

// Life is one life of a process.
type Life struct {
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	How   string `json:"how"` // it ended; empty: it was alive at the end
	Crash bool   `json:"crash,omitempty"`
}

// Op is one operation of a client.
type Op struct {
	Proc    int          `json:"p"` // index in Procs
	F       string       `json:"f"`
	Part    int          `json:"t"` // index in Parts; -1: none
	Call    int64        `json:"a"`
	Return  int64        `json:"b"` // -1: no answer
	Outcome history.Type `json:"o"`
	Text    string       `json:"x"`           // who, what and how it ended
	Records [][2]int     `json:"r,omitempty"` // runs of records that it wrote or saw: first and last index in the partition
	Witness bool         `json:"w,omitempty"`
	Final   bool         `json:"z,omitempty"`
}

// Band is a stretch of time in which a fault was in force.
type Band struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Proc int    `json:"proc"` // index in Procs; -1: no single process
	Kind string `json:"kind"` // down, pause, network, disk, clock
	Text string `json:"text"`
}

// Mark is a moment of a process: a fault that struck, or an event that is rare enough to show.
type Mark struct {
	Time int64  `json:"time"`
	Proc int    `json:"proc"` // -1: no single process
	Kind string `json:"kind"` // fault, or the kind of the event
	Text string `json:"text"`
}

// Said is a line of output.
type Said struct {
	Time   int64  `json:"time"` // -1: nobody knows
	Proc   int    `json:"proc"`
	Stream string `json:"stream"`
	Text   string `json:"text"`
}

// builder holds what the parts of the data are made from.
type builder struct {
	in         *Input
	operations []history.Operation
	events     []event.Event
	proc       map[string]int
	part       map[tp]int
	logs       []*log
	byText     map[string]int // operation by its designed form: how verdicts name witnesses
	data       *Data
}

// tp names a partition.
type tp struct {
	topic     string
	partition int32
}

func (a tp) String() string { return fmt.Sprintf("%s-%d", a.topic, a.partition) }

// Build makes the data of a report. An error means that the history is none.
func Build(in *Input) (*Data, error) {
	b, err := newBuilder(in)
	if err != nil {
		return nil, err
	}
	b.lives()
	b.bands()
	b.marks()
	b.partitions()
	b.stories()
	b.ops()
	b.output()
	return b.data, nil
}

func newBuilder(in *Input) (*builder, error) {
	b := &builder{in: in, proc: map[string]int{}, part: map[tp]int{}, byText: map[string]int{}, data: emptyData()}
	var err error
	if b.operations, err = history.Pair(in.History); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	b.events = slices.Clone(in.Events)
	slices.SortStableFunc(b.events, func(x, y event.Event) int { return cmp.Compare(x.Time, y.Time) })
	for i := range b.operations {
		b.byText[b.operations[i].String()] = i
	}
	b.name()
	b.data.End = b.end()
	return b, nil
}

func emptyData() *Data {
	return &Data{
		Procs: []Proc{}, Parts: []Partition{}, Ops: []Op{}, Bands: []Band{}, Marks: []Mark{}, Output: []Said{}, Stories: []Story{},
	}
}

// name finds the processes: those with events are brokers and come first, then the rest by name.
func (b *builder) name() {
	kinds := map[string]string{}
	for _, l := range b.in.Output {
		kinds[l.Proc] = "process"
	}
	for _, e := range b.in.Ends {
		kinds[e.Proc] = "process"
	}
	for i := range b.operations {
		kinds[b.operations[i].Invoke.Proc] = "client"
	}
	for proc, role := range b.in.Clients {
		kinds[proc] = role
	}
	for i := range b.events {
		kinds[b.events[i].Proc] = broker
	}
	for name, kind := range kinds {
		b.data.Procs = append(b.data.Procs, Proc{Name: name, Kind: kind, Life: []Life{}})
	}
	slices.SortFunc(b.data.Procs, func(x, y Proc) int {
		if (x.Kind == broker) != (y.Kind == broker) {
			return map[bool]int{true: -1, false: 1}[x.Kind == broker]
		}
		return cmp.Or(cmp.Compare(len(x.Name), len(y.Name)), cmp.Compare(x.Name, y.Name)) // c2 before c10
	})
	for i, p := range b.data.Procs {
		b.proc[p.Name] = i
	}
}

const broker = "broker"

// procOf is the index of a process; -1 if there is none of that name.
func (b *builder) procOf(name string) int {
	if i, ok := b.proc[name]; ok {
		return i
	}
	return -1
}

// end is the last moment that anything tells of.
func (b *builder) end() int64 {
	last := int64(1)
	for i := range b.in.History {
		last = max(last, b.in.History[i].Time)
	}
	for i := range b.events {
		last = max(last, b.events[i].Time)
	}
	for i := range b.in.Faults {
		last = max(last, b.in.Faults[i].Time)
	}
	for i := range b.in.Ends {
		last = max(last, b.in.Ends[i].Time)
	}
	for i := range b.in.Output {
		last = max(last, b.in.Output[i].Time)
	}
	return last
}
