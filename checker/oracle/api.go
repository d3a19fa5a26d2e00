package oracle

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"trialog/checker/history"
	"trialog/core/event"
)

// Result is the outcome of judging one run.
type Result string

const (
	Valid          Result = "valid"
	Invalid        Result = "invalid"
	DocumentedLoss Result = "documented loss" // records lost that were never fsynced, after a power cut, and nothing worse
	Unknown        Result = "unknown"         // the history proves neither; Verdict.Reasons says why
)

// Promises narrows or widens what a cell claims. The zero value is the strictest: one replica, nothing may be missing.
type Promises struct {
	DocumentedLoss bool // records that were never fsynced may be lost by a power cut (Kafka's default flushing)
	Retention      bool // the log start may move: records below it are excused
	Holes          bool // offsets without a record (control records, compaction) are legal
	StaleReads     bool // several replicas: end offsets and empty reads are lower bounds, except in the final read
	Compacted      bool // the topic is compacted: a record may go when a later one of its key is committed. Widens Holes
	FlushFirst     bool // a record is acknowledged and visible only after its fsync (flush.messages=1, one replica); stricter
}

// ParsePromises reads a list of documented-loss, retention, holes, compacted, stale-reads, flush-first, separated by
// commas.
func ParsePromises(list string) (Promises, error) {
	var p Promises
	for name := range strings.SplitSeq(list, ",") {
		switch strings.TrimSpace(name) {
		case "":
		case "documented-loss":
			p.DocumentedLoss = true
		case "retention":
			p.Retention = true
		case "holes":
			p.Holes = true
		case "compacted":
			p.Compacted, p.Holes = true, true
		case "stale-reads":
			p.StaleReads = true
		case "flush-first":
			p.FlushFirst = true
		default:
			return p, &PromiseError{Name: name}
		}
	}
	return p, nil
}

// PromiseError names a promise that does not exist.
type PromiseError struct{ Name string }

func (e *PromiseError) Error() string {
	return "oracle: unknown promise " + e.Name + " (documented-loss, retention, holes, compacted, stale-reads, flush-first)"
}

// Fault is one fault that was really injected.
type Fault struct {
	Time   int64  `json:"time"` // ns, same clock as history and events
	Target string `json:"proc"` // the process
	Text   string `json:"text"` // as the plan prints it
	Verb   string `json:"-"`    // kill, powercut, restart, pause, ...: the first word of Text
}

// ParseFault splits the text of a fault: "powercut b1 lose=unsynced torn=1". proc names the process that it hit, and
// stands for the text's own target when it is not empty.
func ParseFault(time int64, proc, text string) Fault {
	f := Fault{Time: time, Target: proc, Text: text}
	words := strings.Fields(text)
	if len(words) > 0 {
		f.Verb = words[0]
	}
	if f.Target == "" && len(words) > 1 {
		f.Target = words[1]
	}
	return f
}

// ReadFaults reads faults, one JSON object {time, proc, text} a line, as run directories store them.
func ReadFaults(name string, r io.Reader) ([]Fault, error) {
	var out []Fault
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var f Fault
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return nil, fmt.Errorf("oracle: %s:%d: %w", name, n, err)
		}
		out = append(out, ParseFault(f.Time, f.Target, f.Text))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("oracle: %s: %w", name, err)
	}
	return out, nil
}

// Input is what one run left behind.
type Input struct {
	History  []history.Op  // merged, as history.Read or history.Merge return it
	Events   []event.Event // with Time and Proc, in order of time; may be empty
	Faults   []Fault       // in order of time
	Promises Promises
	// TrueTime: one clock stamped history, events and faults as they happened (the simulator). Otherwise events are only
	// ordered within their process, and the scans that compare an event with an operation are left out.
	TrueTime bool
	Linear   Layer
}

// Layer says when the linear judge runs.
type Layer uint8

const (
	LinearAfter  Layer = iota // when the scans found nothing; the default
	LinearNever               // not at all
	LinearAlways              // even when the scans convict
)

// Witness is one line of evidence: an operation, an event or a fault.
type Witness struct {
	Kind string `json:"kind"` // op, event, fault
	Time int64  `json:"time"` // ns: of the invocation, the event or the fault
	Text string `json:"text"` // its designed form
}

// Anomaly is one violation. Class and Invariant are stable.
type Anomaly struct {
	Class      string    `json:"class"`
	Invariant  string    `json:"invariant"`
	Judge      string    `json:"judge"` // oracle or linear
	Topic      string    `json:"topic,omitempty"`
	Partition  int32     `json:"partition"`
	Time       int64     `json:"time"` // ns, when it first showed
	About      *About    `json:"about,omitempty"`
	Text       string    `json:"text"` // one sentence
	Witnesses  []Witness `json:"witnesses"`
	Documented bool      `json:"documented,omitempty"` // follows from losing records that were never fsynced
}

// About is the record that an anomaly is about, where it is about one: that which is missing, stands twice, stands
// elsewhere, or was there too early.
type About struct {
	Offset int64  `json:"offset"`
	Value  string `json:"value,omitempty"` // empty if nobody knows it
}

// Verdict is the judgement of one run.
type Verdict struct {
	Result    Result         `json:"result"`
	Judge     string         `json:"judge,omitempty"`   // who convicted: oracle or linear
	Class     string         `json:"class,omitempty"`   // class of the first anomaly that convicts
	Reasons   []string       `json:"reasons,omitempty"` // why unknown
	Anomalies []Anomaly      `json:"anomalies,omitempty"`
	Counts    map[string]int `json:"classes,omitempty"` // anomalies per class, those beyond MaxShown included
	Lost      int            `json:"lost"`              // records lost within the documented bargain
	Asserts   []string       `json:"asserts,omitempty"` // assertions of the broker: a column of their own, no conviction
	Coverage  Coverage       `json:"coverage"`
}

// Coverage says how much a verdict rests on.
type Coverage struct {
	Operations int `json:"operations"`
	Acked      int `json:"acked"`   // records acknowledged
	Read       int `json:"read"`    // distinct records read
	Unknown    int `json:"unknown"` // produce operations with an unknown outcome
	Produces   int `json:"produces"`
	Partitions int `json:"partitions"`
	Drained    int `json:"drained"` // partitions with a complete final read
}
