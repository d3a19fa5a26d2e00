// Package replication is a small closed world of the machines that ship: one partition on a few brokers, each with
// core/replica and core/epochs, and one core/controller, whose decisions are committed at once.
//
// It owns the composition, the links and the budgets of faults. It never decides anything about replication: who leads,
// what is in sync, what is cut, what is acknowledged is all of the machines. It is explored by checker/explore.
//
// Everybody has heard of the partition when it begins. A broker may apply the metadata late, one change at a time or several
// at once. A proposal of an ISR may be answered late, or answered never and asked again while the first one is still on its
// way. A broker dies with its log, or with less of it (a power cut), comes back in a new life, registers, hears of it, and
// beats. Budgets bound the faults, never what heals.
//
// Fetching is one step: the follower takes in the answer that it has, asks again, and its leader answers; the new answer is
// on its way from then on. Nothing is lost by that. Taking in an answer concerns the follower alone, so it can as well
// happen just before the next step of the same broker; sending a request concerns nobody before it arrives. Where the order
// does matter, when the follower hears something new or dies, the step has variants: the answer came before, or comes too
// late; the next fetch was sent before, or was not.
//
// What the world takes for granted, and a shell has to keep:
//
//   - A broker that comes back first hears metadata that has its own registration. Without that law power cuts lose what was
//     acknowledged: with older metadata it would lead an epoch in which it led before it lost its tail.
//   - A checkpoint of the HW is lost with a power cut only; a death keeps the newest.
//   - A proposal ends with its broker's process, and of a follower one late fetch at most is remembered.
//   - Of three proposals of a broker on their way the oldest is dropped. Every restart is an unclean one.
//
// A state forgets what can have no effect: answers without news, messages of an epoch that is over when the machines, asked,
// do not react to them, changes of the metadata that say nothing to a broker. Broker epochs count registrations. What is left
// of a budget counts only as far as the total allows.
package replication
