package kernel

import "math"

// firstToken is where the numbers of deferred calls begin, far from descriptors.
const firstToken = int32(1 << 20)

// deferredCall is a call that the disk answers later. The process polls its token and then makes the call again.
type deferredCall struct {
	token  int32
	call   Call  // what was deferred, and what may take the result
	strike *Trap // a Middle trap that strikes when the call is done
	done   bool
	n      int
	e      Errno
}

// again tells whether c is the deferred call made again. Go's runtime may make calls of its own in between.
func (op *deferredCall) again(c Call) bool { return op.call.Name == c.Name && op.call.File == c.File }

// Defer registers the current call as one that completes in d nanoseconds with what complete returns; complete runs
// in kernel context, and does not run if the process is dead by then. The caller answers EAGAIN.
func (p *Proc) Defer(d int64, complete func() (int, Errno)) {
	op := p.newDeferred()
	p.k.After(d, func() {
		if p.state != stateDead {
			n, e := complete()
			p.completed(op, n, e)
		}
	})
}

// DeferUntil is Defer for calls whose end is not known yet: the returned function completes the call, and does
// nothing if the process is dead.
func (p *Proc) DeferUntil() (complete func(n int, e Errno)) {
	op := p.newDeferred()
	return func(n int, e Errno) {
		if p.state != stateDead {
			p.completed(op, n, e)
			p.k.Kick()
		}
	}
}

func (p *Proc) newDeferred() *deferredCall {
	p.nextToken++
	op := &deferredCall{token: p.nextToken, call: p.call}
	p.deferred = op
	p.tokens = append(p.tokens, op)
	return op
}

// completed takes the result of a deferred call. A trap in its middle strikes now: the bytes have reached the disk.
func (p *Proc) completed(op *deferredCall, n int, e Errno) {
	op.n, op.e, op.done = n, e, true
	p.k.Note(p.Name, "done", int64(op.token), int64(n), int64(e))
	if t := op.strike; t != nil && !t.removed {
		t.Fire(p)
	}
}

// Resumed tells whether the current call is a deferred one made again after its completion, and its result.
func (p *Proc) Resumed() (n int, e Errno, yes bool) {
	if p.resumed == nil || !p.resumed.again(p.call) {
		return 0, OK, false
	}
	return p.resumed.n, p.resumed.e, true
}

// Deferred returns the token of the last call on a file if that was deferred, else 0. It is no system call.
func (p *Proc) Deferred() int32 {
	if p.deferred == nil {
		return 0
	}
	return p.deferred.token
}

// ResumeWith makes the next call of the same name on the same file the repetition of the deferred call with this token.
// An unknown or unfinished token is ignored. It is no system call.
func (p *Proc) ResumeWith(token int32) {
	for i, op := range p.tokens {
		if op.token == token && op.done {
			p.tokens = append(p.tokens[:i], p.tokens[i+1:]...)
			p.resumed = op
			return
		}
	}
}

func (p *Proc) token(token int32) *deferredCall {
	for _, op := range p.tokens {
		if op.token == token {
			return op
		}
	}
	return nil
}

// Poll is one thing to wait for: a file's readiness, or the end of a deferred call.
type Poll struct {
	file File
	mode Mode
	op   *deferredCall
	bad  bool
}

func (s *Poll) ready() bool {
	switch {
	case s.bad:
		return true
	case s.op != nil:
		return s.op.done
	default:
		return s.file.Ready(s.mode)
	}
}

// Ready tells, after PollWait, whether this one is ready, and EBADF if its descriptor is not open.
func (s *Poll) Ready() (bool, Errno) {
	if s.bad {
		return true, EBADF
	}
	return s.ready(), OK
}

// PollOn makes the subscription for a descriptor or token.
func (p *Proc) PollOn(fd int32, m Mode) Poll {
	if fd > firstToken {
		if op := p.token(fd); op != nil {
			return Poll{op: op}
		}
		return Poll{bad: true}
	}
	if f := p.File(int(fd)); f != nil {
		return Poll{file: f, mode: m}
	}
	return Poll{bad: true}
}

// PollWait is poll(2): it returns when one of subs is ready or the monotonic clock has reached deadline (ns; negative
// waits for ever). subs belongs to the kernel until it returns.
func (p *Proc) PollWait(subs []Poll, deadline int64) {
	c := p.enter("poll", nil, len(subs))
	for i := range subs {
		if subs[i].ready() {
			p.leave(c, int64(len(subs)), 1, OK)
			return
		}
	}
	p.deadline = math.MaxInt64
	if deadline >= 0 {
		p.deadline = deadline - monotonicStart
	}
	if p.deadline > p.k.now {
		p.subs, p.state, p.seenRound, p.ready = subs, statePolling, p.k.round, false
		p.pass()
		p.subs = nil
		if p.state == statePolling {
			p.state = stateRunnable
		}
		p.checkpoint()
	}
	p.leave(c, int64(len(subs)), 0, OK)
}
