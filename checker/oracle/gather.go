package oracle

import (
	"cmp"
	"slices"
	"sort"

	"trialog/checker/history"
)

// tp names a partition.
type tp struct {
	topic     string
	partition int32
}

func (a tp) compare(b tp) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}

// write is where a value came from: the produce that sent it and its place in the batch.
type write struct {
	op    *history.Operation
	index int
}

// record is one value at one offset.
type record struct {
	offset   int64
	value    string
	write    write // op is nil for a phantom
	acked    bool  // acknowledged at this offset
	read     bool
	lost     bool // within the documented bargain
	reused   bool // the offset also showed another value
	denied   bool // an answer that had to show it did not
	evidence []evidence
	shown    int     // how often, while evidence is gathered
	rank     int     // of its offset in its log
	other    *record // another value at the offset, while they are gathered
}

// evidence is one operation that showed a record: its acknowledgement, or a fetch.
type evidence struct {
	op  *history.Operation
	ret int64 // ns, when the client knew
}

// first is the evidence that returned first; the acknowledgement if there is one and ack is preferred.
func (r *record) first() evidence { return r.evidence[0] }

// log is everything that a history says about one partition.
type log struct {
	id      tp
	ops     []*history.Operation             // all operations on it, in order of invocation
	records []*record                        // in order of offset, then of first evidence
	offsets []int64                          // distinct offsets of records, rising
	at      [][]*record                      // records by rank of their offset
	of      map[*history.Operation][]*record // those that it sent
	shows   map[*history.Operation][]*record // those that its answer showed, in the order of the answer
	losses  []loss
	keys    map[string]*keyed // of a compacted topic
	holes   bool              // offsets without a record are legal
	// stop is the final fetch that read furthest, if no final operation says where the log ends: then it ends there.
	stop *history.Operation
}

// gathered is the whole history, sorted by partition.
type gathered struct {
	operations []history.Operation
	writes     map[string]write
	logs       []*log
	deleted    []string // topics that somebody tried to delete: their logs are left out
}

// gather builds the logs. Values that nobody sent become records without a writer; scan them with phantoms.
func gather(operations []history.Operation) *gathered {
	g := &gathered{operations: operations, writes: make(map[string]write, len(operations))}
	logs := map[tp]*log{}
	for i := range operations {
		if op := &operations[i]; op.Invoke.F == history.DeleteTopic && op.Outcome != history.Fail && !slices.Contains(g.deleted, op.Invoke.Topic) {
			g.deleted = append(g.deleted, op.Invoke.Topic)
		}
	}
	for i := range operations {
		op := &operations[i]
		in := &op.Invoke
		if slices.Contains(g.deleted, in.Topic) {
			continue
		}
		switch in.F {
		case history.Produce:
			for j, v := range in.Values {
				g.writes[v] = write{op, j}
			}
		case history.Fetch, history.ListOffsets:
		default:
			continue
		}
		id := tp{in.Topic, in.Partition}
		l := logs[id]
		if l == nil {
			l = &log{id: id}
			logs[id] = l
			g.logs = append(g.logs, l)
		}
		l.ops = append(l.ops, op)
	}
	slices.SortFunc(g.logs, func(a, b *log) int { return a.id.compare(b.id) })
	for _, l := range g.logs {
		l.collect(g.writes)
		l.stop = l.furthest()
	}
	return g
}

// shown is how many records op's answer showed: those it sent and knows the offset of, or those it read.
func shown(op *history.Operation) int {
	switch {
	case op.Acked() && op.Complete.Offset >= 0:
		return len(op.Invoke.Values)
	case op.Invoke.F == history.Fetch && op.Complete != nil:
		return len(op.Complete.Records)
	}
	return 0
}

// collect builds the records of one log from its acknowledgements and reads.
func (l *log) collect(writes map[string]write) {
	all, sent := 0, 0
	for _, op := range l.ops {
		all += shown(op)
		sent += len(op.Invoke.Values)
	}
	list := make([]*record, 0, all)
	l.shows = make(map[*history.Operation][]*record, len(l.ops))
	l.records = make([]*record, 0, sent)
	byOffset := make(map[int64]*record, sent)
	for _, op := range l.ops {
		from := len(list)
		switch n := shown(op); {
		case n == 0:
			continue
		case op.Invoke.F == history.Produce:
			for i, v := range op.Invoke.Values {
				list = append(list, l.record(byOffset, writes, op.Complete.Offset+int64(i), v))
				list[len(list)-1].acked = true
			}
		default:
			for _, rec := range op.Complete.Records {
				list = append(list, l.record(byOffset, writes, rec.Offset, rec.Value))
				list[len(list)-1].read = true
			}
		}
		l.shows[op] = list[from:len(list):len(list)]
	}
	l.testify(all)
	l.index()
}

// record is the record of a value at an offset, made when it is first shown.
func (l *log) record(byOffset map[int64]*record, writes map[string]write, offset int64, value string) *record {
	first := byOffset[offset]
	r := first
	for r != nil && r.value != value {
		r = r.other
	}
	if r == nil {
		r = &record{offset: offset, value: value, other: first}
		if w, ok := writes[value]; ok && l.id == (tp{w.op.Invoke.Topic, w.op.Invoke.Partition}) && w.op.Outcome != history.Fail {
			r.write = w
		}
		byOffset[offset] = r
		l.records = append(l.records, r)
	}
	r.shown++
	return r
}

// testify gives each record its evidence, of which there are all pieces.
func (l *log) testify(all int) {
	list := make([]evidence, all)
	for _, r := range l.records {
		r.evidence, list = list[:0:r.shown], list[r.shown:]
	}
	for _, op := range l.ops {
		for _, r := range l.shows[op] {
			r.evidence = append(r.evidence, evidence{op, op.Complete.Time})
		}
	}
}

// furthest is l.stop.
func (l *log) furthest() *history.Operation {
	var last *history.Operation
	for _, op := range l.ops {
		if !op.Invoke.Final || op.Outcome != history.OK || isEarliest(op) {
			continue
		}
		n := len(op.Complete.Records)
		if op.Invoke.F == history.ListOffsets || op.Complete.HW >= 0 || n == 0 || op.Complete.Corrupt != "" {
			return nil
		}
		if last == nil || op.Complete.Records[n-1].Offset >= last.Complete.Records[len(last.Complete.Records)-1].Offset {
			last = op
		}
	}
	return last
}

// index sorts records and evidence, and builds the lookups.
func (l *log) index() {
	for _, r := range l.records {
		slices.SortStableFunc(r.evidence, func(a, b evidence) int { return cmp.Compare(a.ret, b.ret) })
	}
	slices.SortStableFunc(l.records, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.first().ret, b.first().ret))
	})
	l.of = make(map[*history.Operation][]*record, len(l.ops))
	l.offsets = make([]int64, 0, len(l.records))
	l.at = make([][]*record, 0, len(l.records))
	from := 0
	for i, r := range l.records {
		if n := len(l.offsets); n == 0 || l.offsets[n-1] != r.offset {
			l.offsets = append(l.offsets, r.offset)
			l.at = append(l.at, nil)
			from = i
		}
		r.rank = len(l.at) - 1
		l.at[r.rank] = l.records[from : i+1 : i+1]
		if w := r.write.op; w != nil {
			if l.of[w] == nil {
				l.of[w] = make([]*record, 0, len(w.Invoke.Values))
			}
			l.of[w] = append(l.of[w], r)
		}
	}
}

// rank is the index in offsets of the first offset at or above o.
func (l *log) rank(o int64) int {
	return sort.Search(len(l.offsets), func(i int) bool { return l.offsets[i] >= o })
}

// known reports that every offset of [from, to) showed some value.
func (l *log) known(from, to int64) bool {
	return to <= from || int64(l.rank(to)-l.rank(from)) == to-from
}

// base is the lowest offset at which the batch of a produce can begin, judging by any of its values; ok is false if
// none was seen.
func (l *log) base(op *history.Operation) (offset int64, ok bool) {
	for _, r := range l.of[op] {
		if b := r.offset - int64(r.write.index); !ok || b < offset {
			offset, ok = b, true
		}
	}
	return offset, ok
}

// ended is when the client knew the answer; Forever if there is none.
func ended(op *history.Operation) int64 {
	if op.Complete == nil {
		return history.Forever
	}
	return op.Complete.Time
}

// mayCopy reports that more than one copy of the batch is legal: a producer without sequence numbers that retried, or
// of which nobody knows whether it did.
func mayCopy(op *history.Operation) bool {
	return !op.Invoke.Idempotent && (op.Retried() || op.Complete == nil)
}
