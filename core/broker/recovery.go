package broker

import (
	"slices"
	"sync"
	"time"

	"trialog/core/kafka"
	"trialog/core/meta"
	"trialog/core/seglog"
)

// progressEvery is how often a long recovery says how far it is.
const progressEvery = 10 * time.Second

// recovery opens the logs that lie in the directories at a start: num.recovery.threads.per.data.dir at the same time in
// each, since after an unclean stop they are read.
type recovery struct {
	b    *Broker
	done map[kafka.TopicPartition]recovered

	mu   sync.Mutex
	dirs []*recoveringDir // in the order of log.dirs
}

type recovered struct {
	log *seglog.Log
	err error
}

// recoveringDir is one directory.
type recoveringDir struct {
	path     string
	jobs     []recoveryJob // that no thread has taken
	logs     int           // how many there were
	left     int           // that are not open yet
	threads  []recoveryThread
	reported time.Time
}

// recoveryJob is one log.
type recoveryJob struct {
	tp    kafka.TopicPartition
	topic *meta.TopicImage
}

// recoveryThread is what one thread works on.
type recoveryThread struct {
	tp       kafka.TopicPartition
	segments int // of that log, to be read yet
}

// recoverLogs opens every partition of the image that lies in a directory; what came of it, openPartition takes from
// there.
func (b *Broker) recoverLogs() {
	r := b.recovery
	for _, t := range b.meta.Image().Topics() {
		for i := range t.Partitions {
			tp := kafka.TopicPartition{Topic: t.Name, Partition: kafka.PartitionID(i)}
			if path := b.dirs.Of(tp); path != "" && slices.Contains(t.Partitions[i].Replicas, b.cfg.NodeID) {
				d := r.dir(path)
				d.jobs = append(d.jobs, recoveryJob{tp, t})
			}
		}
	}
	r.mu.Lock() // somebody may ask how far it is
	for _, d := range r.dirs {
		d.logs, d.left, d.reported = len(d.jobs), len(d.jobs), time.Now()
		d.threads = make([]recoveryThread, min(int(b.live.Load().RecoveryThreads), d.logs))
	}
	r.mu.Unlock()
	var all sync.WaitGroup
	for _, d := range r.dirs {
		for thread := range d.threads {
			all.Go(func() { r.work(d, thread) })
		}
	}
	all.Wait()
}

func (r *recovery) dir(path string) *recoveringDir {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.dirs {
		if d.path == path {
			return d
		}
	}
	d := &recoveringDir{path: path}
	r.dirs = append(r.dirs, d)
	return d
}

// work opens logs until there are none.
func (r *recovery) work(d *recoveringDir, thread int) {
	for {
		r.mu.Lock()
		if len(d.jobs) == 0 {
			r.mu.Unlock()
			return
		}
		job := d.jobs[0]
		d.jobs = d.jobs[1:]
		d.threads[thread] = recoveryThread{tp: job.tp}
		r.mu.Unlock()
		log, err := r.b.dirs.OpenLog(job.tp, job.topic.ID, r.b.live.Load().Topic(job.topic.Configs), false)
		r.mu.Lock()
		r.done[job.tp] = recovered{log, err}
		d.threads[thread] = recoveryThread{}
		d.left--
		now := time.Now()
		if say := now.Sub(d.reported) >= progressEvery; say {
			d.reported = now
			r.b.log.Info("recovering", "dir", d.path, "logs", d.logs-d.left, "of", d.logs)
		}
		r.mu.Unlock()
	}
}

// reading is told how many segments of a log have to be read yet.
func (r *recovery) reading(tp kafka.TopicPartition, segments int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.dirs {
		for i := range d.threads {
			if d.threads[i].tp == tp {
				d.threads[i].segments = segments
			}
		}
	}
}

// take is what came of a log, once.
func (r *recovery) take(tp kafka.TopicPartition) (recovered, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	got, ok := r.done[tp]
	delete(r.done, tp)
	return got, ok
}

// Recovering is how far the recovery of one log directory is.
type Recovering struct {
	Dir      string
	Logs     int   // that are not open yet
	Segments []int // to be read yet of the log that each thread works on
}

// Recovering may be asked at any time.
func (b *Broker) Recovering() []Recovering {
	b.recovery.mu.Lock()
	defer b.recovery.mu.Unlock()
	var all []Recovering
	for _, d := range b.recovery.dirs {
		r := Recovering{Dir: d.path, Logs: d.left}
		for _, t := range d.threads {
			r.Segments = append(r.Segments, t.segments)
		}
		all = append(all, r)
	}
	return all
}
