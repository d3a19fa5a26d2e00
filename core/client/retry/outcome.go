package retry

import (
	"fmt"

	"trialog/core/kafka"
)

// Outcome is what is known of an operation when it ends.
type Outcome uint8

const (
	OK      Outcome = iota // it happened
	Failed                 // it did not happen and will not
	Unknown                // it may have happened, or may yet happen
)

func (o Outcome) String() string {
	switch o {
	case OK:
		return "ok"
	case Failed:
		return "failed"
	case Unknown:
		return "unknown"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// definite lists the answers after which one attempt has certainly had no effect and will have none: Kafka checks
// these before it appends. Every other code is indefinite, above all
//
//   - NOT_LEADER_OR_FOLLOWER: the leader may have appended before it stepped down (KAFKA-13574);
//   - NOT_ENOUGH_REPLICAS_AFTER_APPEND and REQUEST_TIMED_OUT: it has appended;
//   - OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID, DUPLICATE_SEQUENCE_NUMBER: they speak about what the broker
//     remembers of the producer, and a broker that forgot may have appended an earlier attempt;
//   - KAFKA_STORAGE_ERROR and UNKNOWN_SERVER_ERROR: part of the work may be done.
//
// NB: checker/history keeps the same table by name, because it knows nothing of the core. A test of checker/workload
// compares the two.
var definite = map[kafka.ErrorCode]bool{
	kafka.ErrOffsetOutOfRange:                   true,
	kafka.ErrCorruptMessage:                     true,
	kafka.ErrUnknownTopicOrPartition:            true,
	kafka.ErrInvalidFetchSize:                   true,
	kafka.ErrLeaderNotAvailable:                 true,
	kafka.ErrMessageTooLarge:                    true,
	kafka.ErrCoordinatorLoadInProgress:          true,
	kafka.ErrCoordinatorNotAvailable:            true,
	kafka.ErrNotCoordinator:                     true,
	kafka.ErrInvalidTopic:                       true,
	kafka.ErrRecordListTooLarge:                 true,
	kafka.ErrNotEnoughReplicas:                  true,
	kafka.ErrInvalidRequiredAcks:                true,
	kafka.ErrTopicAuthorizationFailed:           true,
	kafka.ErrClusterAuthorizationFailed:         true,
	kafka.ErrInvalidTimestamp:                   true,
	kafka.ErrUnsupportedVersion:                 true,
	kafka.ErrTopicAlreadyExists:                 true,
	kafka.ErrInvalidPartitions:                  true,
	kafka.ErrInvalidReplicationFactor:           true,
	kafka.ErrInvalidReplicaAssignment:           true,
	kafka.ErrInvalidConfig:                      true,
	kafka.ErrNotController:                      true,
	kafka.ErrInvalidRequest:                     true,
	kafka.ErrUnsupportedForMessageFormat:        true,
	kafka.ErrPolicyViolation:                    true,
	kafka.ErrInvalidProducerEpoch:               true,
	kafka.ErrProducerFenced:                     true,
	kafka.ErrTransactionalIDAuthorizationFailed: true,
	kafka.ErrFencedLeaderEpoch:                  true,
	kafka.ErrUnknownLeaderEpoch:                 true,
	kafka.ErrUnsupportedCompressionType:         true,
	kafka.ErrOffsetNotAvailable:                 true,
	kafka.ErrThrottlingQuotaExceeded:            true,
	kafka.ErrInvalidRecord:                      true,
	kafka.ErrUnknownTopicID:                     true,
	kafka.ErrInconsistentTopicID:                true,
}

// Definite reports whether one attempt that a broker answered with code certainly had no effect.
// NONE is not a failure and not in the table.
func Definite(code kafka.ErrorCode) bool { return definite[code] }

// Refreshes reports the answers that say that the cluster has changed: another may lead.
func Refreshes(code kafka.ErrorCode) bool {
	switch code {
	case kafka.ErrNotLeaderOrFollower, kafka.ErrLeaderNotAvailable, kafka.ErrUnknownTopicOrPartition, kafka.ErrUnknownTopicID,
		kafka.ErrInconsistentTopicID, kafka.ErrFencedLeaderEpoch, kafka.ErrUnknownLeaderEpoch, kafka.ErrKafkaStorageError:
		return true
	}
	return false
}

// Disowned reports the answers that say that the broker no longer accepts this identity as we know it.
func Disowned(code kafka.ErrorCode) bool {
	switch code {
	case kafka.ErrOutOfOrderSequenceNumber, kafka.ErrUnknownProducerID, kafka.ErrInvalidProducerEpoch, kafka.ErrProducerFenced:
		return true
	}
	return false
}
