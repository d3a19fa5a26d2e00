// Package producer is a small closed world of the machines that ship: one idempotent producer, whose retries core/client/retry
// decides, and one partition on two brokers, each with core/replica, core/producers and core/epochs.
//
// It owns the composition, the connections and the budgets of faults. It never decides anything about producers or logs:
// what is sent again and under which number, what is a duplicate or out of order, what is cut, what is acknowledged is all
// of the machines. In place of a controller stands the least that can be: it takes an ISR that the leader of the newest
// epoch proposes, lets a dead broker leave the ISR unless it is the last, lets one that lost its tail leave it, and has
// somebody of the ISR lead. It is explored by checker/explore.
//
// The producer has all its batches, of one record each, from the start, and sends when it may. It has one connection to
// each broker; requests arrive and answers leave in order. A connection that breaks leaves requests behind that may arrive
// later, or never. It learns who leads from either broker, which may be late itself. Brokers hear of a new leader late; a
// follower's fetch and its answer are one step, for the replication world takes those apart. Budgets bound the faults, never
// what heals.
//
// Loss is allowed after an unclean election, and after the last of the ISR lost its tail; the producer may then be refused.
// What was acknowledged before may be gone, but nothing is ever in a log twice or out of order.
package producer
