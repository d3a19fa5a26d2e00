// Package controller is a small closed world of the controllers that ship: a few brokers, topics of few partitions, and
// two or three core/controller with their core/meta over an abstract log.
//
// It owns the composition and the budgets of what befalls it. It never decides anything that a controller decides: who
// leads, who is in sync, who is fenced is all of the machines.
//
// The log is a list of committed batches. One controller at a time is its leader; others may be elected at any moment, with
// all of the log applied or all but its last batches, and stand behind the barrier until they have the rest. Of what the
// one before had decided and not committed, some prefix survives without its knowing, and the rest is gone. The old one
// may go on deciding for a while; nothing of it is committed.
//
// A broker is a stand-in, as plain as can be: it registers, hears that, beats, wants to shut down, dies with or without its
// data, loses the directory of its replicas; as a leader it asks for its ISR to grow by who follows it, or to shrink, with
// the epochs that it has heard, which are the newest. That it may know old ones is in its requests: one may be on its way
// while the metadata changes, or come twice. Of settings it may not have heard: it goes by the min.insync.replicas before.
//
// Of data the world knows who holds it: after a change of a partition that has a leader and enough in sync, only who is in
// sync holds everything, since the leader may go on at once; who joins by a request of the leader that was still true has
// caught up; who loses its data holds nothing.
//
// Numbers that only grow do not tell states apart: epochs are encoded by their order, offsets by the distance from the end
// of the log.
package controller
