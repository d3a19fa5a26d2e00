package controller

import (
	"slices"

	"trialog/checker/explore"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// Invariants of the world.
func (w *World) Invariants() []explore.Property[State] {
	kept := func(p promise) func(*State) bool { return func(s *State) bool { return s.broken != p } }
	each := func(holds func(s *State, slot int, p *meta.PartitionImage) bool) func(*State) bool {
		return func(s *State) bool {
			for slot := range w.slots() {
				if _, p := w.partition(s.head.image, slot); p != nil && !holds(s, slot, p) {
					return false
				}
			}
			return true
		}
	}
	return []explore.Property[State]{
		{Name: "sets", Doc: "the leader is in the ISR; ISR and ELR are replicas, and no replica is in both", Holds: each(sets)},
		{Name: "isr-not-empty", Doc: "an ISR is never empty; with ELR, never while somebody leads", Holds: each(func(_ *State, _ int, p *meta.PartitionImage) bool {
			return len(p.ISR) > 0 || w.cfg.ELR && p.Leader == kafka.NoNode
		})},
		{Name: "live", Doc: "who leads is active, and its directory works; who is in an ISR is active, or is its last member and leads nothing (C4)", Holds: each(w.live)},
		{Name: "candidates", Doc: "whoever may be elected, and lives, holds everything", Holds: each(w.candidates)},
		{Name: "knows", Doc: "who is not fenced has applied its registration", Holds: w.knows},
		{Name: "epochs", Doc: "no epoch goes back, every change has a new partition epoch, every leader a leader epoch of its own", Holds: kept(epochs)},
		{Name: "holders", Doc: "who is elected holds everything, or the partition is marked as recovering", Holds: kept(holders)},
		{Name: "eligible", Doc: "unless somebody asks for it, an election is unclean only when nobody who is eligible is left", Holds: kept(eligible)},
		{Name: "lives", Doc: "a broker epoch is never given twice", Holds: kept(lives)},
		{Name: "producer-ids", Doc: "no block of producer ids is given out twice", Holds: kept(producerIDs)},
		{Name: "prefix", Doc: "the image of a controller is what a prefix of the log comes to, and what it decides fits the log", Holds: kept(prefix)},
		{Name: "answers", Doc: "a leader that asks for what it has heard of is answered what is true, or what tells it to hear more", Holds: kept(answers)},
		{Name: "stale-lives", Doc: "a message of an earlier life of a broker changes nothing", Holds: kept(staleLives)},
		{Name: "farewells", Doc: "who wants to shut down is not told to go while it leads something", Holds: kept(farewells)},
		{Name: "repeats", Doc: "a request that comes twice is answered twice, and decided once", Holds: kept(repeats)},
		{Name: "assertions", Doc: "no machine finds an invariant of its own broken", Holds: kept(assertions)},
	}
}

func sets(_ *State, _ int, p *meta.PartitionImage) bool {
	replicas, isr, elr := members(p.Replicas), members(p.ISR), members(p.ELR)
	return isr&^replicas == 0 && elr&^replicas == 0 && isr&elr == 0 && (p.Leader == kafka.NoNode || isr>>(p.Leader-1)&1 > 0) &&
		members(p.Adding)&^replicas == 0 && members(p.Removing)&^replicas == 0
}

func (w *World) live(s *State, _ int, p *meta.PartitionImage) bool {
	active := func(n kafka.NodeID) bool {
		b := s.head.image.Broker(n)
		return b != nil && b.Active()
	}
	if p.Leader != kafka.NoNode && (!active(p.Leader) || !s.head.image.Broker(p.Leader).HasDir(p.Directory(p.Leader))) {
		return false
	}
	for _, n := range p.ISR {
		if !active(n) && (p.Leader != kafka.NoNode || len(p.ISR) > 1 || w.cfg.ELR) {
			return false
		}
	}
	return true
}

// candidates: nobody is elected who has not registered again, and with that a broker that lost something leaves ISR and ELR.
func (w *World) candidates(s *State, slot int, p *meta.PartitionImage) bool {
	for _, list := range [2][]kafka.NodeID{p.ISR, p.ELR} {
		for _, n := range list {
			if s.lives(s.head.image, n) && s.head.image.Broker(n).HasDir(p.Directory(n)) && s.holds[slot] != 0 && s.holds[slot]>>(n-1)&1 == 0 {
				return false
			}
		}
	}
	return true
}

func (w *World) knows(s *State) bool {
	for i := range w.cfg.Brokers {
		id := kafka.NodeID(i + 1)
		if s.lives(s.head.image, id) && !s.head.image.Broker(id).Fenced && !s.brokers[i].caught {
			return false
		}
	}
	return true
}

// Sometimes are what a search must meet, as far as its budgets allow it.
func (w *World) Sometimes() []explore.Property[State] {
	var list []explore.Property[State]
	most := w.cfg.Most
	with := func(on bool, name string, holds func(*State) bool) {
		if on && w.cfg.Total > 0 {
			list = append(list, explore.Property[State]{Name: name, Holds: holds})
		}
	}
	down := most[Fence]+most[Crash]+most[Lose] > 0
	with(down, "a leader is not the preferred one", w.some(func(p *meta.PartitionImage) bool { return p.Leader >= 0 && p.Leader != p.Replicas[0] }))
	with(most[Fence] > 0 && w.cfg.Total >= w.cfg.Replicas && int(most[Fence]) >= w.cfg.Replicas, "a partition has no leader",
		w.some(func(p *meta.PartitionImage) bool { return p.Leader == kafka.NoNode }))
	with(most[Leader] > 0, "two controllers decide", func(s *State) bool {
		n := 0
		for i := range w.cfg.Controllers {
			if s.seats[i].m.Active() {
				n++
			}
		}
		return n > 1
	})
	with(most[Leader] > 0 && w.cfg.Lag > 0, "a new controller waits for its barrier", func(s *State) bool { return !s.seats[s.leader].m.Active() })
	with(w.cfg.ELR && w.cfg.MinISR > 1 && down && w.cfg.Total > w.cfg.Replicas-w.cfg.MinISR, "somebody is eligible and not in sync",
		w.some(func(p *meta.PartitionImage) bool { return len(p.ELR) > 0 }))
	with(most[Move] > 0, "a reassignment is under way", w.some(func(p *meta.PartitionImage) bool { return p.Reassigning() }))
	with(most[Elect] > 0 && int(most[Fence]) >= w.cfg.Replicas && w.cfg.Replicas > 1 && w.cfg.Total > w.cfg.Replicas, "a leader is recovering",
		w.some(func(p *meta.PartitionImage) bool { return p.Recovering }))
	with(most[Leave] > 0, "a broker is being shut down", func(s *State) bool {
		return slices.ContainsFunc(s.head.image.Brokers(), func(b *meta.BrokerImage) bool { return b.InControlledShutdown && !b.Fenced })
	})
	return list
}

func (w *World) some(holds func(p *meta.PartitionImage) bool) func(*State) bool {
	return func(s *State) bool {
		for slot := range w.slots() {
			if _, p := w.partition(s.head.image, slot); p != nil && holds(p) {
				return true
			}
		}
		return false
	}
}
