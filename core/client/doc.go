// Package client is a small Kafka client: producer, reader and admin, as the workloads and the command line use them.
//
// It owns connections (one per broker and purpose, pipelined), the choice of protocol versions, the metadata cache,
// the producer's sequence numbers and retries, and the checks of what a fetch brought. It never joins groups, never
// hides an unknown outcome, never drops bytes that fail their CRC, and draws no random numbers: the same calls at the
// same times lead to the same requests.
//
// `trialog client` (checker/workload) and the everyday commands of cmd/trialog call it. It runs natively and as a
// guest of the simulator: plain net, timers and goroutines, and no timer runs while nothing is under way.
//
// Every operation has exactly one outcome (see [Outcome] and its table): it happened, it did not, or nobody can say.
//
//	Client    bootstrap, connections, metadata        client.go metadata.go conn.go versions.go
//	Producer  one lane per partition, in order        producer.go lane.go; what is sent next, and again: package retry
//	Fetch     records by offset, checked              fetch.go consumer.go
//	admin     topics, offsets, producer ids           admin.go
//
// Invariants:
//
//	C1  Responses arrive in the order of their requests; another order breaks the connection.
//	C2 to C5  of the producer: see package retry
package client
