package workload

import (
	"context"
	"fmt"

	"trialog/checker/history"
	"trialog/core/client"
)

// fetchBytes bounds one fetch, and with it one line of the history.
const fetchBytes = 64 << 10

// What a reader does in a turn, in percent; the rest are fetches.
const (
	percentLatest   = 8
	percentEarliest = 4
	percentRestart  = 3
)

// reading is where a reader stands.
type reading struct {
	p      *process
	cfg    client.FetchConfig
	at     []int64 // next offset of each partition
	lost   []bool  // the offset does not exist (any more): ask for the earliest first
	finals bool    // operations belong to the final read-back
}

// read is the role Reader.
func (p *process) read(ctx context.Context) error {
	r := &reading{
		p: p, cfg: client.FetchConfig{MaxBytes: fetchBytes, PartitionBytes: fetchBytes, MaxWait: p.cfg.FetchWait},
		at: make([]int64, p.cfg.Partitions), lost: make([]bool, p.cfg.Partitions),
	}
	if p.prepare(ctx) {
		r.work(ctx)
	}
	wait(ctx, p.until(p.cfg.FinalAt))
	r.finals = true
	r.cfg.MaxWait = -1
	for partition := range p.cfg.Partitions {
		if err := r.all(ctx, partition); err != nil {
			return err
		}
	}
	return nil
}

// work reads here and there until the work is over.
func (r *reading) work(ctx context.Context) {
	p := r.p
	for n := 0; p.more(n); n++ {
		pause, partition, action := p.pause(), p.partition(), p.rng.IntN(100)
		if !p.sleep(ctx, pause) {
			return
		}
		switch {
		case action < percentLatest:
			r.list(ctx, partition, client.Latest)
		case action < percentLatest+percentEarliest || r.lost[partition]:
			r.restart(ctx, partition)
		case action < percentLatest+percentEarliest+percentRestart:
			r.at[partition] = 0
			r.fetch(ctx, partition)
		default:
			r.fetch(ctx, partition)
		}
	}
}

// restart asks for the earliest offset; a reader whose own is lost goes on from there.
func (r *reading) restart(ctx context.Context, partition int32) {
	if start, err := r.list(ctx, partition, client.Earliest); err == nil && r.lost[partition] {
		r.at[partition], r.lost[partition] = start, false
	}
}

// all reads one partition from its start to the end that it is told now. It tries for as long as the final read-back
// may take.
func (r *reading) all(ctx context.Context, partition int32) error {
	end := int64(-1)
	r.lost[partition] = true
	for tries := 0; ; tries++ {
		if tries > 0 {
			wait(ctx, turnPause)
		}
		if r.p.until(r.p.cfg.FinalAt+r.p.cfg.FinalWithin) <= 0 || ctx.Err() != nil || r.p.rec.failed() != nil {
			return fmt.Errorf("%w: %s-%d: read up to %d of %d within %s", ErrNotDrained,
				r.p.cfg.Topic, partition, r.at[partition], end, r.p.cfg.FinalWithin)
		}
		if r.lost[partition] {
			if end = r.bounds(ctx, partition); r.lost[partition] {
				continue
			}
		}
		if r.upTo(ctx, partition, end) {
			return nil
		}
	}
}

// bounds finds where to begin and where to end; the partition stays lost if it does not.
func (r *reading) bounds(ctx context.Context, partition int32) (end int64) {
	end, err := r.list(ctx, partition, client.Latest)
	if err != nil {
		return -1
	}
	r.restart(ctx, partition)
	return end
}

// upTo fetches until the end, or until a fetch brings nothing. Damage ends a partition: nothing can be read behind it,
// and the history has it.
func (r *reading) upTo(ctx context.Context, partition int32, end int64) bool {
	for r.at[partition] < end {
		before := r.at[partition]
		if damaged := r.fetch(ctx, partition); damaged {
			return true
		}
		if r.at[partition] == before {
			return false
		}
	}
	return true
}

// list is one list-offsets.
func (r *reading) list(ctx context.Context, partition int32, question int64) (int64, error) {
	op := r.p.rec.invoke(history.Op{
		F: history.ListOffsets, Topic: r.p.cfg.Topic, Partition: partition, Offset: question, Final: r.finals,
	})
	got, err := r.p.c.ListOffset(ctx, r.p.cfg.Topic, partition, question)
	if err == nil {
		op.Offset = got.Offset
	}
	r.p.rec.complete(op, failedRead(err), err)
	return got.Offset, err
}

// fetch is one fetch where the reader stands, and moves it.
func (r *reading) fetch(ctx context.Context, partition int32) (damaged bool) {
	position := client.Position{Topic: r.p.cfg.Topic, Partition: partition, Offset: r.at[partition]}
	op := r.p.rec.invoke(history.Op{
		F: history.Fetch, Topic: position.Topic, Partition: partition, Offset: position.Offset, Final: r.finals,
	})
	f := r.p.c.Fetch(ctx, r.cfg, []client.Position{position})[0]
	op.HW, op.LogStart, op.Corrupt = f.HighWatermark, f.LogStart, f.Corrupt
	if len(f.Records) > 0 {
		op.Records = make([]history.Rec, 0, len(f.Records))
	}
	for _, rec := range f.Records {
		name, damage := nameOf(rec.Value)
		if damage == "" {
			damage = misplacedKey(name, rec.Key)
		}
		if damage != "" && op.Corrupt == "" {
			op.Corrupt = fmt.Sprintf("offset %d: %s", rec.Offset, damage)
		}
		op.Records = append(op.Records, history.Rec{Offset: rec.Offset, Value: name})
	}
	r.p.rec.complete(op, failedRead(f.Err), f.Err)
	if client.NameOf(f.Err) == "OFFSET_OUT_OF_RANGE" {
		r.lost[partition] = true
	}
	r.at[partition] = f.Next
	return f.Corrupt != ""
}
