package metalog

import (
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"

	"trialog/core/controller"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/meta"
	"trialog/core/record"
	"trialog/core/seglog"
)

// Name is the partition that holds the metadata. Clients do not see it.
var Name = kafka.TopicPartition{Topic: kafka.ClusterMetadataTopic, Partition: 0}

// Config is what a metadata log is told when it opens.
type Config struct {
	Controller controller.Config
	Now        func() kafka.Now
	Emit       func(event.Event) // nil: no events
	// Applied is told what was committed, in order, before it is answered. It must not call Submit.
	Applied func(delta *meta.Delta)
	// Failed is told, once, that the log cannot be written, in a goroutine of its own. nil: nobody wants to know.
	Failed func(error)
}

// Log is the metadata log with its controller.
type Log struct {
	cfg   Config
	log   *seglog.Log
	epoch kafka.LeaderEpoch
	image atomic.Pointer[meta.Image]

	mu      sync.Mutex // held while a decision is written
	machine *controller.Controller
	failed  error
	buf     []byte
}

// Open replays the log. removed is told every topic id that was removed by it.
func Open(log *seglog.Log, cfg Config, removed func(kafka.TopicID)) (*Log, error) {
	image := new(meta.Image)
	err := log.Walk(log.StartOffset(), log.EndOffset(), func(h *record.Header, batch []byte) error {
		return replay(image, h, batch, removed)
	})
	if err != nil {
		return nil, fmt.Errorf("broker: replaying %s: %w", Name, err)
	}
	l := &Log{cfg: cfg, log: log, epoch: log.LatestEpoch() + 1, machine: controller.New(cfg.Controller, image)}
	l.image.Store(l.machine.Image())
	if err := log.StartEpoch(l.epoch); err != nil {
		return nil, fmt.Errorf("broker: %s: leader epoch %d: %w", Name, l.epoch, err)
	}
	l.emit(event.Event{Kind: event.Leader, Topic: Name.Topic, Epoch: l.epoch, Next: log.EndOffset()})
	return l, nil
}

func replay(image *meta.Image, h *record.Header, batch []byte, removed func(kafka.TopicID)) error {
	if h.IsControl() {
		return nil
	}
	it := record.NewRecords(batch)
	for it.Next() {
		r := it.Record()
		change, err := meta.ParseRecord(r.Value)
		if err == nil {
			err = image.Apply(change)
		}
		if err != nil {
			return fmt.Errorf("offset %d: %w", r.Offset, err)
		}
		if gone, ok := change.(*meta.RemoveTopic); ok {
			removed(gone.Topic)
		}
	}
	return it.Err()
}

func (l *Log) emit(e event.Event) {
	if l.cfg.Emit == nil {
		return
	}
	e.Node = l.cfg.Controller.Node
	l.cfg.Emit(e)
}

// Image is the committed metadata; it never changes.
func (l *Log) Image() *meta.Image { return l.image.Load() }

// Submit decides a request and returns the response when the decision is durable
// and applied. An error means that nothing was decided, and nothing more will be.
func (l *Log) Submit(req controller.Request) (controller.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return nil, l.failed
	}
	now := l.cfg.Now()
	d := l.machine.Handle(now, req)
	if len(d.Records) > 0 {
		if err := l.write(&d, now); err != nil {
			l.machine.Drop()
			l.failed = fmt.Errorf("broker: %s: %w", Name, err)
			if l.cfg.Failed != nil {
				go l.cfg.Failed(l.failed)
			}
			return nil, l.failed
		}
	}
	records := l.machine.Committed(d.Seq)
	was, image := l.image.Load(), l.machine.Image()
	l.image.Store(image)
	for _, r := range records {
		l.emit(event.Event{Kind: event.Metadata, Text: r.String()})
	}
	if len(records) > 0 {
		l.cfg.Applied(meta.Diff(was, image))
	}
	return d.Response, nil
}

// write appends the decision's records as one batch and makes it durable.
func (l *Log) write(d *controller.Decision, now kafka.Now) error {
	var b record.Builder
	b.Reset(l.buf[:0])
	var value []byte
	for _, r := range d.Records {
		value = meta.AppendRecord(value[:0], r)
		b.Append(now.WallMs, nil, value)
	}
	l.buf = b.Finish()
	a, err := l.log.Append(l.buf, l.epoch, now)
	if err != nil {
		return err
	}
	if d.Durable {
		if err := l.log.Flush(a.Next); err != nil {
			return err
		}
	}
	l.log.SetHighWatermark(a.Next)
	return nil
}

// NewUUID draws a random version 4 UUID that Kafka would take for a topic.
func NewUUID() kafka.TopicID {
	for {
		var id kafka.TopicID
		_, _ = rand.Read(id[:]) // never fails
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if !id.IsReserved() {
			return id
		}
	}
}
