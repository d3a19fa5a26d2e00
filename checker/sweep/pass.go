package sweep

import (
	"context"
	"fmt"
	"strings"

	"trialog/checker/sweep/script"
)

// pass judges all images of one script, and of recordings that follow from it.
type pass struct {
	sweep  *sweep
	script *script.Script
	count  *Count
	under  string // the crash whose recovery is crashed now

	images    map[digest]int // index in recovered
	recovered []*recovered
	firsts    []origin // by the same index: where the image first came from

	fresh []*image  // to be recovered: the last of firsts
	todo  []pending // to be judged then
}

// origin is an image that was crashed into.
type origin struct {
	image  *image
	moment moment
	where  string
}

// pending is a point and pattern whose image has to be recovered before it can be judged.
type pending struct {
	at      *point
	moment  moment
	pattern string
	index   int // of the image
}

// run makes all images of a recording and judges them.
func (p *pass) run(ctx context.Context, s *script.Script, rec *recording, from moment) error {
	list, err := moments(s, rec.lines, from)
	if err != nil {
		return err
	}
	if p.under == "" {
		p.complaints(s, rec, list)
	}
	p.count.Points += len(rec.points)
	var last []pending // of the point before
	for i := range rec.points {
		at := &rec.points[i]
		if i == 0 || rec.points[i-1].disk != at.disk {
			last = p.cut(at, list[at.lines])
		}
		p.count.Images += len(last)
		for _, t := range last {
			t.at, t.moment = at, list[at.lines]
			p.todo = append(p.todo, t)
		}
		if len(p.fresh) >= together || i+1 == len(rec.points) {
			if err := p.settle(ctx, s, rec); err != nil {
				return err
			}
		}
		if p.sweep.opt.First && len(p.count.Violations) > 0 {
			return nil
		}
	}
	return nil
}

// cut makes an image of the disk at a point in every pattern.
func (p *pass) cut(at *point, now moment) (list []pending) {
	for _, pt := range patterns(at.disk, p.sweep.subsets()) {
		im := imageOf(at.disk, pt)
		d := im.digest()
		index, ok := p.images[d]
		if !ok {
			index = len(p.firsts)
			p.images[d] = index
			p.fresh = append(p.fresh, im)
			p.firsts = append(p.firsts, origin{image: im, moment: now, where: p.where(at, pt.name)})
		}
		list = append(list, pending{pattern: pt.name, index: index})
	}
	return list
}

// settle recovers what is new, and judges what waited for it.
func (p *pass) settle(ctx context.Context, s *script.Script, rec *recording) error {
	done, err := p.sweep.recoverAll(ctx, p.script, p.fresh)
	if err != nil {
		return err
	}
	p.recovered = append(p.recovered, done...)
	p.count.Recovered += len(done)
	for i := range p.todo {
		p.judge(s, rec, &p.todo[i])
	}
	p.fresh, p.todo = nil, nil
	return nil
}

func (p *pass) where(at *point, pattern string) string {
	text := fmt.Sprintf("%s; %s", at, pattern)
	if p.under != "" {
		text = p.under + "; then, in the recovery, " + text
	}
	return text
}

// complaints are steps of the script that failed although nothing was wrong with the disk.
func (p *pass) complaints(s *script.Script, rec *recording, list []moment) {
	faulty := false
	for i := range s.Steps {
		faulty = faulty || s.Steps[i].Verb == script.Fault
	}
	for i, line := range rec.lines {
		if list[i+1].wrong != "" {
			line = "bad " + list[i+1].wrong
		}
		if strings.HasPrefix(line, "panic ") || strings.HasPrefix(line, "bad ") || strings.HasPrefix(line, "x ") && !faulty {
			p.count.Violations = append(p.count.Violations, Violation{
				Script: s.Name, Where: "no crash", Why: line, Promises: tail(s, rec.lines[:i+1]),
			})
		}
	}
}

func (p *pass) judge(s *script.Script, rec *recording, t *pending) {
	if p.sweep.opt.First && len(p.count.Violations) > 0 {
		return
	}
	why := t.moment.judge(p.script, p.recovered[t.index])
	if why == "" {
		return
	}
	p.count.Violations = append(p.count.Violations, Violation{
		Script: p.script.Name, Where: p.where(t.at, t.pattern), Why: why, Image: p.firsts[t.index].image.String(),
		Promises: tail(s, rec.lines[:t.at.lines]),
	})
}

// origins are the recoveries to be crashed: one for each way in which recoveries went, those that did most first.
func (p *pass) origins() []origin {
	var list []origin
	var ways []string
	for i, r := range p.recovered {
		if r.wrong != "" {
			continue
		}
		at := 0
		for at < len(ways) && len(ways[at]) > len(r.way) {
			at++
		}
		known := false
		for _, w := range ways {
			known = known || w == r.way
		}
		if known {
			continue
		}
		ways = append(ways[:at], append([]string{r.way}, ways[at:]...)...)
		list = append(list[:at], append([]origin{p.firsts[i]}, list[at:]...)...)
	}
	p.count.Ways = len(ways)
	return list[:min(len(list), p.sweep.crashed())]
}
