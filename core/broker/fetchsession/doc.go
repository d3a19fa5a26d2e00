// Package fetchsession remembers what consumers fetch, so that they need not say
// it again with every request (KIP-227).
//
// It owns the cache of sessions: their ids, epochs, partitions, what the last
// answer said of each, and who has to go when the cache is full. It never reads a
// log and never encodes an answer. Caller: package logapi.
//
// One request of a session:
//
//	Queue      if one before it is not answered: it begins when its turn comes
//	Size       what Continue will copy, for whoever accounts for memory
//	Continue   checks id and epoch, takes in what changed, copies out what to read
//	...        the caller reads, and may wait for long
//	Answered   says which partitions the answer has to hold, and notes what it says
//
// # Invariants
//
//  1. A session's epoch grows by one with each request, from 1 to the largest int32
//     and then to 1 again; a request with another epoch changes nothing.
//  2. At most Slots sessions and PartitionsMax partitions are kept, whatever peers
//     ask for. Who gets no session fetches without one.
//  3. A partition that gave data goes behind the others, so that none starves
//     behind one that always has data (F10).
//  4. An id is no secret and no permission: who guesses one can disturb a session,
//     but learns nothing that it could not fetch.
package fetchsession
