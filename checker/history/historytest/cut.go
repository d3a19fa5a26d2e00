package historytest

import "trialog/checker/history"

// mark notes what the broker did, at a time of its own.
func (w *world) mark(kind string, base, next int64) {
	w.time++
	w.marks = append(w.marks, Mark{w.time, kind, base, next})
	w.time++
}

// cut takes the power: the log keeps what was flushed and any number of the batches behind it, and what the broker knew
// of producers is what its log tells. Answers on their way arrive before the recovery or never.
func (w *world) cut() {
	w.cuts--
	w.mark("cut", 0, 0)
	w.strays = nil
	for _, c := range w.clients {
		if c.op != nil {
			w.interrupt(c)
		}
	}
	keep := 0
	for keep < len(w.batches) && w.batches[keep].end() <= w.flushed {
		keep++
	}
	keep += w.src.Intn(len(w.batches) - keep + 1)
	w.batches = w.batches[:keep]
	w.high = 0
	w.lastSeq = map[int64]int32{}
	for _, b := range w.batches {
		w.high = b.end()
		if b.pid >= 0 {
			w.lastSeq[b.pid] = b.seq + int32(len(b.values))
		}
	}
	w.log = w.log[:w.high]
	w.mark("recover", 0, w.high)
}

func (b batch) end() int64 { return b.base + int64(len(b.values)) }

// interrupt breaks a client's connection.
func (w *world) interrupt(c *client) {
	switch {
	case c.reader:
		op := *c.op
		op.Type, op.Error = history.Info, history.ErrConnection
		c.op, c.position = nil, 0
		w.emit(op)
	case c.ready && w.src.Intn(2) == 0:
		w.complete(c, history.OK, c.base, "")
	default:
		if c.sent == nil {
			c.sent = &attempt{values: c.op.Values, pid: c.pid, seq: c.op.Seq}
		}
		c.waiting, c.ready = false, false
		w.again(c)
	}
}
