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
// Where this is not what Kafka's controller does:
//
//   - A proposal that repeats what is committed is answered with it, not refused as too old (R22).
//   - A new process under a broker's id takes over at once, unless Config.SessionsLast.
//   - min.insync.replicas counts as many replicas as its partition has, not as the topic's first one has.
//   - When that setting changes, who is eligible stays so where the ISR does not ack alone; Kafka forgets every ELR. When it
//     becomes larger, with ELR, leaders begin a new epoch. Where ELR is switched off, who is eligible may lead if nobody
//     is in sync, and is forgotten if somebody is.
//   - Who is forgotten is eligible no more; nor is who made its replica anew because a directory failed.
//   - A reassignment on top of another one knows which replicas were there before both, as KIP-455 has it.
//   - A new controller lets nobody finish a controlled shutdown before it has heard from all active brokers.
//   - A fenced broker that was shutting down is not unfenced; it is when it registers.
//   - A request that changes too much is done in part, topic by topic or partition by partition; the rest is POLICY_VIOLATION.
//   - What changes nothing makes no record.
//
// Invariants:
//
//	C1  speculative image = committed image + records of the pending decisions, in order
//	C2  a request that is refused makes no record
//	C3  producer ids of two blocks never overlap, whatever was dropped, as long as handed-out blocks were durable
//	C4  with sessions, who leads is active; who is in an ISR is active, or is its last member and leads nothing
//	C5  without ELR an ISR is never empty, unless it was when ELR was switched off
package controller
