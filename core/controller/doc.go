// Package controller decides what the cluster's metadata becomes: topics, their partitions and settings, brokers, blocks
// of producer ids.
//
// It owns the validation of these requests, as Kafka's controller does it, and a speculative image. It never applies a
// record to the committed image before it is told that the record is durable, never stores or sends, never reads a clock
// and draws nothing at random (topic ids come with the request). The caller is broker, one request at a time.
//
// Protocol:
//
//	d := c.Handle(now, request)     // decides on top of everything decided before; records go to the speculative image
//	... append d.Records to __cluster_metadata-0 as one batch, fsync unless !d.Durable ...
//	c.Committed(d.Seq)              // applies the records of all decisions up to d.Seq to the committed image
//	... send d.Response ...         // and not before
//
// If a write fails, or leadership is lost: c.Drop(), and no response of an uncommitted decision is sent as a success.
//
// Invariants:
//
//	C1  speculative image = committed image + records of the pending decisions, in order
//	C2  a request that is refused makes no record
//	C3  producer ids of two blocks never overlap, whatever was dropped, as long as handed-out blocks were durable
package controller
