package workload

import (
	"context"
	"strconv"

	"trialog/checker/history"
	"trialog/core/client"
)

// produce is the role Producer.
func (p *process) produce(ctx context.Context) error {
	producer, err := p.c.NewProducer(p.cfg.producer(p.recordInit))
	if err != nil {
		return err
	}
	if !p.prepare(ctx) {
		return nil
	}
	for p.cfg.Idempotent {
		if _, err := producer.Init(ctx); err == nil {
			break
		}
		if !p.sleep(ctx, turnPause) {
			return nil
		}
	}
	window := make(chan struct{}, p.cfg.InFlight)
	values := 0
	for n := 0; p.more(n); n++ {
		pause, partition, size := p.pause(), p.partition(), 1+p.rng.IntN(p.cfg.BatchMax)
		if !p.sleep(ctx, pause) {
			break
		}
		names, records := p.batch(values, size)
		values += size
		if !p.enter(window) {
			break
		}
		p.send(ctx, producer, partition, names, records, func() { <-window })
	}
	for range p.cfg.InFlight {
		window <- struct{}{}
	}
	return nil
}

// enter waits for a place among the batches in flight; false if the work was over before.
func (p *process) enter(window chan struct{}) bool {
	select {
	case window <- struct{}{}:
		return true
	default:
	}
	window <- struct{}{}
	if p.until(p.cfg.Work) > 0 {
		return true
	}
	<-window
	return false
}

// batch makes size records, the first of which is number first+1 of this process.
func (p *process) batch(first, size int) (names []string, records []client.Record) {
	names, records = make([]string, 0, size), make([]client.Record, 0, size)
	for i := range size {
		name := p.cfg.Name + "-" + strconv.Itoa(first+i+1)
		var key []byte
		if p.cfg.Keys > 0 {
			key = strconv.AppendInt([]byte("k"), int64(p.rng.IntN(p.cfg.Keys)), 10)
			name = string(key) + ":" + name
		}
		names = append(names, name)
		records = append(records, client.Record{Key: key, Value: payload(name, between(p.rng, p.cfg.ValueMin, p.cfg.ValueMax))})
	}
	return names, records
}

// send begins one produce; done is called at its end. A batch that is given up before it could be sent at all (no
// producer id was to be had) leaves no trace in the history.
func (p *process) send(ctx context.Context, to *client.Producer, partition int32, names []string, records []client.Record, done func()) {
	var op history.Op
	began := false
	batch := client.Batch{Topic: p.cfg.Topic, Partition: partition, Records: records}
	batch.Began = func(id client.ProducerIdentity, sequence int32) {
		began = true
		op = p.rec.invoke(history.Op{
			F: history.Produce, Topic: p.cfg.Topic, Partition: partition, Values: names, Acks: p.cfg.Acks,
			Idempotent: p.cfg.Idempotent, PID: id.ID, PEpoch: id.Epoch, Seq: sequence,
		})
	}
	end := func(r client.Result) {
		if began {
			op.PID, op.PEpoch, op.Seq = r.Identity.ID, r.Identity.Epoch, r.Sequence
			op.Offset, op.Retried = r.BaseOffset, r.Retried
			p.rec.complete(op, r.Outcome, r.Err)
		}
		done()
	}
	if p.cfg.InFlight == 1 { // nothing to overlap with: wait here, which costs fewer switches
		end(to.Produce(ctx, batch))
		return
	}
	to.Send(ctx, batch, end)
}

// recordInit writes one attempt to get a producer id.
func (p *process) recordInit() func(client.ProducerIdentity, error) {
	op := p.rec.invoke(history.Op{F: history.InitProducerID})
	return func(id client.ProducerIdentity, err error) {
		op.PID, op.PEpoch = id.ID, id.Epoch
		p.rec.complete(op, client.OutcomeOf(err), err)
	}
}
