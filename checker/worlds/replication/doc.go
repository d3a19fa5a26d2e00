// Package replication is a small closed world of the machines that ship: one partition on a few brokers, each with
// core/replica and core/epochs, and one core/controller, whose decisions are committed at once.
//
// It owns the composition, the links and the budgets of faults. It never decides anything about replication: who leads,
// what is in sync, what is cut, what is acknowledged is all of the machines. It is explored by checker/explore.
//
// A broker may apply the metadata late, one change at a time or several at once. A follower has one fetch on its way to
// a leader; one that was sent in an earlier epoch may still be on its way beside it. A proposal of an ISR may be answered
// late, or answered never and asked again while the first one is still on its way. A broker dies with its log, or with
// less of it (a power cut), comes back in a new life, registers, hears of it, and beats. Budgets bound the faults, never
// what heals.
package replication
