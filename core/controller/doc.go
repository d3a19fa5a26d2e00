// Package controller decides what the cluster's metadata becomes: topics, their partitions and settings, brokers and
// their sessions, leaders and ISRs, blocks of producer ids.
//
// It owns the validation of these requests, as Kafka's controller does it, and a speculative image. It never applies a
// record to the committed image before it is told that the record is durable, never stores or sends, never reads a clock
// and draws nothing at random (topic ids, and the number that placement begins with, come with the request). The caller is
// broker, one request at a time.
//
// Protocol:
//
//	d := c.Handle(now, request)     // decides on top of everything decided before; records go to the speculative image
//	... append d.Records to __cluster_metadata-0 as one batch, fsync unless !d.Durable ...
//	c.Committed(d.Seq)              // applies the records of all decisions up to d.Seq to the committed image
//	c.Reached(now, offset)          // with sessions or voters: how much of the log the committed image is
//	... send d.Response ...         // and not before; set d.Timers
//
// If a write fails, or leadership is lost: c.Drop(), and no response of an uncommitted decision is sent as a success.
//
// One of several voters (Config.Standby) is told what others wrote by Replay and Reached, becomes the controller by Lead,
// begins to decide when it has reached the barrier, and ends with Resign. Until then, and after, it answers NotController.
//
// Who leads: the leader as long as it can; else the first replica in the order of the assignment that is live and in the
// ISR; with eligible.leader.replicas.version 1 and an empty ISR the first that is in the ELR; with that empty too the last
// leader; and where unclean.leader.election.enable is set, any live replica. The last two are unclean: the leader is
// recovering.
//
// Invariants:
//
//	C1  speculative image = committed image + records of the pending decisions, in order
//	C2  a request that is refused makes no record
//	C3  producer ids of two blocks never overlap, whatever was dropped, as long as handed-out blocks were durable
//	C4  with sessions, who leads is active; who is in an ISR is active, or is its last member and leads nothing
//	C5  without ELR an ISR is never empty
package controller
