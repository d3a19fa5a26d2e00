package workload

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	"trialog/checker/history"
	"trialog/core/client"
)

// turnPause is between attempts at something that the workload cannot go on without.
const turnPause = 200 * time.Millisecond

// process is a workload process under way.
type process struct {
	cfg   Config
	began time.Time
	c     *client.Client
	rec   *recorder
	rng   *rand.Rand
}

// Run does what cfg says and returns when it is done. It writes the history to w, a line with each Write; now stamps it
// (ns, one clock for all processes of the workload; the simulator stamps its own over it). The summary counts the
// operations by outcome. Errors other than ErrNotDrained are of usage.
func Run(ctx context.Context, cfg Config, w io.Writer, now func() int64) (summary string, err error) {
	began := time.Now()
	cfg, err = cfg.withDefaults()
	if err != nil {
		return "", err
	}
	c, err := client.New(cfg.client())
	if err != nil {
		return "", err
	}
	defer c.Close()
	p := &process{
		cfg: cfg, began: began.Add(-cfg.Start), c: c,
		rec: newRecorder(w, cfg.Name, now),
		rng: rand.New(rand.NewPCG(cfg.Seed, 0)),
	}
	switch cfg.Role {
	case Producer:
		err = p.produce(ctx)
	case Reader:
		err = p.read(ctx)
	case Admin:
		err = p.administer(ctx)
	}
	if failed := p.rec.failed(); failed != nil {
		err = failed
	}
	return p.rec.String(), err
}

// until is how long it is until the world has run for d.
func (p *process) until(d time.Duration) time.Duration { return time.Until(p.began.Add(d)) }

// sleep waits d, or until the work is over; false if it is, or if ctx ended.
func (p *process) sleep(ctx context.Context, d time.Duration) bool {
	left := p.until(p.cfg.Work)
	wait(ctx, min(d, left))
	return d < left && ctx.Err() == nil && p.rec.failed() == nil
}

func wait(ctx context.Context, d time.Duration) {
	switch {
	case d <= 0:
	case ctx.Done() == nil:
		time.Sleep(d) // NB: reads the clock less often than a timer with a channel, and in a guest every reading is a system call
	default:
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// between draws from lo..hi, both included.
func between[T ~int | ~int64](rng *rand.Rand, lo, hi T) T { return lo + T(rng.Int64N(int64(hi-lo)+1)) }

func (p *process) pause() time.Duration { return between(p.rng, p.cfg.PauseMin, p.cfg.PauseMax) }

func (p *process) partition() int32 { return int32(p.rng.IntN(int(p.cfg.Partitions))) }

// prepare sees to it that the topic exists; false if the work was over before.
func (p *process) prepare(ctx context.Context) bool {
	for {
		_, err := p.metadata(ctx)
		if err == nil {
			return true
		}
		if client.NameOf(err) == "UNKNOWN_TOPIC_OR_PARTITION" {
			if err = p.create(ctx); err == nil || client.NameOf(err) == "TOPIC_ALREADY_EXISTS" {
				return true
			}
		}
		if !p.sleep(ctx, turnPause) {
			return false
		}
	}
}

func (p *process) metadata(ctx context.Context) (*client.Cluster, error) {
	op := p.rec.invoke(history.Op{F: history.Metadata, Topic: p.cfg.Topic})
	cluster, err := p.c.Metadata(ctx, p.cfg.Topic)
	p.rec.complete(op, failedRead(err), err)
	return cluster, err
}

// failedRead is the outcome of an operation that changes nothing: if it brought no answer, it did not happen.
func failedRead(err error) client.Outcome {
	if err != nil {
		return client.Failed
	}
	return client.OK
}

func (p *process) create(ctx context.Context) error {
	op := p.rec.invoke(history.Op{F: history.CreateTopic, Topic: p.cfg.Topic})
	err := p.c.CreateTopic(ctx, client.NewTopic{Name: p.cfg.Topic, Partitions: p.cfg.Partitions})
	p.rec.complete(op, client.OutcomeOf(err), err)
	return err
}

// administer asks for the topic's metadata now and then.
func (p *process) administer(ctx context.Context) error {
	if !p.prepare(ctx) {
		return nil
	}
	for n := 0; p.more(n); n++ {
		if !p.sleep(ctx, p.pause()) {
			break
		}
		p.metadata(ctx)
	}
	return nil
}

// more reports whether another operation may follow n.
func (p *process) more(n int) bool { return p.cfg.Count == 0 || n < p.cfg.Count }
