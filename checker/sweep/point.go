package sweep

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"trialog/checker/sweep/script"
	"trialog/netsim/disk"
	"trialog/netsim/kernel"
	"trialog/netsim/world"
)

// point is a moment at which the machine may stop: before, in the middle of or after a call.
type point struct {
	call  string // as people read it
	when  kernel.When
	lines int      // that the process had written to its sink
	disk  *disk.FS // the disk as it was; points between which nothing changed share it
}

func (p *point) String() string {
	return [...]string{"before", "in the middle of", "after"}[p.when] + " " + p.call
}

// recording is one execution with all its points.
type recording struct {
	points []point
	lines  []string
}

const (
	seed      = 1
	hostName  = "s"
	sinkName  = "sweep"
	limit     = 10 * time.Hour // virtual
	scriptAt  = "/script"
	imagesDir = "/images"
	dataDir   = imagesDir + "/0"
)

// spec is a world with one process, whose sink is the sweep's.
func (sw *sweep) spec(text string, args []string) world.Spec {
	proc := world.ProcSpec{
		Name: hostName, Args: args, Files: map[string][]byte{scriptAt: []byte(text)},
		Env:   []string{"SWEEP_RULES_OFF=" + strings.Join(sw.opt.RulesOff, ",")},
		Sinks: []world.Sink{{Name: sinkName, Env: "TRIALOG_SWEEP_FD"}},
	}
	return world.Spec{Seed: seed, Program: sw.opt.Program, Procs: []world.ProcSpec{proc}, Limit: limit, Disk: disk.Options{Capacity: 4 << 30}}
}

// record runs a script on a disk that begins with an image, nil for an empty one, and forks the disk at every point.
// recover has the process recover the image instead of running the script's own steps.
func (sw *sweep) record(ctx context.Context, s *script.Script, text string, from *image) (*recording, error) {
	args := []string{"run", scriptAt, dataDir}
	if from != nil {
		args = []string{"recover", scriptAt, imagesDir}
	}
	spec := sw.spec(text, args)
	w := &watcher{script: s}
	spec.Procs[0].Prepare = func(fs *disk.FS) error {
		w.disk = fs
		if from == nil {
			return fs.MkdirAll(dataDir)
		}
		return from.put(fs, dataDir)
	}
	spec.Procs[0].Watch = w.watch
	res, err := world.Run(ctx, spec)
	if err != nil {
		return nil, err
	}
	r := &recording{points: w.points, lines: strings.Split(strings.TrimSuffix(res.Text(hostName, sinkName), "\n"), "\n")}
	if n := len(r.lines); r.lines[n-1] != "." {
		return nil, fmt.Errorf("sweep: script %s did not end: last said %.200q: %.2000s", s.Name, r.lines[n-1], res.Text(hostName, "stderr"))
	}
	return r, nil
}

// watcher forks the disk of a process at its points.
type watcher struct {
	script *script.Script
	disk   *disk.FS
	k      *kernel.Kernel
	points []point

	call    kernel.Call
	begun   *point      // before the current call
	skip    kernel.File // whose next write is the rest of one that was split
	fork    *disk.FS    // the newest
	changes uint64      // of the disk when it was made
	seen    int         // outputs
	lines   int         // in them
}

func (w *watcher) watch(p *kernel.Proc) {
	w.k = p.Kernel()
	arm(p, kernel.Before, w.before, func() { w.begun = w.at(kernel.Before) })
	arm(p, kernel.Middle, w.middle, func() {
		w.points = append(w.points, *w.at(kernel.Middle))
		w.skip = w.call.File
	})
	arm(p, kernel.After, func(c kernel.Call) bool { return w.begun != nil && writes(c) }, w.after)
}

// arm sets a trap that strikes again and again.
func arm(p *kernel.Proc, when kernel.When, match func(kernel.Call) bool, fire func()) {
	t := &kernel.Trap{When: when, Match: match}
	t.Fire = func(p *kernel.Proc) {
		p.SetTrap(t)
		fire()
	}
	p.SetTrap(t)
}

// writes tells whether a call may change the disk.
func writes(c kernel.Call) bool {
	switch c.Name {
	case "open", "rename", "unlink", "rmdir", "mkdir":
		return true
	case "write", "pwrite":
		return c.File != nil && c.File.Kind() == kernel.KindRegular
	case "ftruncate", "fsync":
		return c.File != nil
	}
	return false
}

func (w *watcher) before(c kernel.Call) bool {
	w.hear()
	w.call, w.begun = c, nil
	return writes(c)
}

// middle lets each write be split once: the guest then writes the rest.
func (w *watcher) middle(c kernel.Call) bool {
	if c.File == w.skip {
		w.skip = nil
		return false
	}
	return true
}

// after keeps the points of a call. An open that changed nothing is no write.
func (w *watcher) after() {
	if w.call.Name == "open" && w.disk.Changes() == w.changes {
		return
	}
	w.points = append(w.points, *w.begun, *w.at(kernel.After))
}

// at is a point now.
func (w *watcher) at(when kernel.When) *point {
	if now := w.disk.Changes(); w.fork == nil || now != w.changes {
		w.fork, w.changes = w.disk.Clone(fmt.Sprintf("%s@%d", hostName, now)), now
	}
	return &point{call: callText(w.call), when: when, lines: w.lines, disk: w.fork}
}

// hear reads what the process said since, and lets the disk fail when the script says so.
func (w *watcher) hear() {
	for _, o := range w.k.Outputs()[w.seen:] {
		w.seen++
		if o.Stream != sinkName {
			continue
		}
		w.lines += strings.Count(string(o.Data), "\n")
		var n int
		if _, err := fmt.Sscanf(string(o.Data), "> %d\n", &n); err != nil || n > len(w.script.Steps) {
			continue
		}
		switch st := &w.script.Steps[n-1]; {
		case st.Verb != script.Fault:
		case st.Fault == "eio sync":
			w.disk.FailSyncs(st.On)
		case st.Fault == "eio write":
			w.disk.FailWrites(st.On)
		case st.Fault == "full":
			w.disk.Full(st.On)
		default:
			panic("sweep: there is no fault " + st.Fault)
		}
	}
}

func callText(c kernel.Call) string {
	at := strings.ReplaceAll(c.Path, "\x00", " -> ")
	if c.File != nil {
		at = disk.PathOf(c.File)
	}
	at = strings.ReplaceAll(at, dataDir+"/", "")
	if c.Len > 0 {
		at += fmt.Sprintf(", %d bytes", c.Len)
	}
	return fmt.Sprintf("call %d, %s %s", c.Number, c.Name, at)
}

// shape is what kind of file a call is about, for comparing ways that recoveries go.
func shape(c kernel.Call) string {
	at := c.Path
	if c.File != nil {
		at = disk.PathOf(c.File)
	}
	base := path.Base(at)
	if i := strings.IndexByte(base, '.'); i > 0 && strings.Trim(base[:i], "0123456789") == "" {
		base = base[i:]
	}
	return c.Name + " " + base
}
