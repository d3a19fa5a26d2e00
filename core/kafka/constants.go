package kafka

// "None" values of the wire.
const (
	NoOffset        Offset        = -1
	NoTimestamp     int64         = -1
	NoLeaderEpoch   LeaderEpoch   = -1
	NoProducerID    ProducerID    = -1
	NoProducerEpoch ProducerEpoch = -1
	NoSequence      Sequence      = -1
	NoNode          NodeID        = -1
	NoBrokerEpoch   int64         = -1
)

// Acks of a Produce request; anything else is INVALID_REQUIRED_ACKS.
const (
	AcksAll    int16 = -1
	AcksNone   int16 = 0
	AcksLeader int16 = 1
)

// Special timestamps of a ListOffsets request; others mean "first record at or after".
const (
	LatestTimestamp        int64 = -1 // high watermark, or last stable offset, or end offset for a replica
	EarliestTimestamp      int64 = -2
	MaxTimestamp           int64 = -3 // the record with the largest timestamp (KIP-734)
	EarliestLocalTimestamp int64 = -4 // (KIP-405)
	LatestTieredTimestamp  int64 = -5 // (KIP-1005)
)

// Isolation levels of Fetch and ListOffsets.
const (
	ReadUncommitted int8 = 0
	ReadCommitted   int8 = 1
)

// Replica ids that are not brokers.
const (
	ConsumerReplica NodeID = -1
	DebugReplica    NodeID = -2
)

// MaxSequence is the last sequence; the next one is 0.
const MaxSequence Sequence = 1<<31 - 1

// NextSequence is the sequence n records after s; n is not negative. It wraps from MaxSequence to 0.
func NextSequence(s Sequence, n int32) Sequence {
	return Sequence((int64(s) + int64(n)) & int64(MaxSequence))
}

// ProducerIDBlock is how many producer ids Kafka's controller hands to a broker at once.
const ProducerIDBlock = 1000

// NoAuthorizedOperations is the answer when a client did not ask for its operations.
const NoAuthorizedOperations int32 = -1 << 31
