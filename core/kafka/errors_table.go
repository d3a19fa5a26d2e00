package kafka

// Kafka's protocol error codes, by number. Names are those of org.apache.kafka.common.protocol.Errors.
const (
	ErrUnknownServerError                     ErrorCode = -1  // UNKNOWN_SERVER_ERROR
	ErrNone                                   ErrorCode = 0   // NONE
	ErrOffsetOutOfRange                       ErrorCode = 1   // OFFSET_OUT_OF_RANGE
	ErrCorruptMessage                         ErrorCode = 2   // CORRUPT_MESSAGE
	ErrUnknownTopicOrPartition                ErrorCode = 3   // UNKNOWN_TOPIC_OR_PARTITION
	ErrInvalidFetchSize                       ErrorCode = 4   // INVALID_FETCH_SIZE
	ErrLeaderNotAvailable                     ErrorCode = 5   // LEADER_NOT_AVAILABLE
	ErrNotLeaderOrFollower                    ErrorCode = 6   // NOT_LEADER_OR_FOLLOWER
	ErrRequestTimedOut                        ErrorCode = 7   // REQUEST_TIMED_OUT
	ErrBrokerNotAvailable                     ErrorCode = 8   // BROKER_NOT_AVAILABLE
	ErrReplicaNotAvailable                    ErrorCode = 9   // REPLICA_NOT_AVAILABLE
	ErrMessageTooLarge                        ErrorCode = 10  // MESSAGE_TOO_LARGE
	ErrStaleControllerEpoch                   ErrorCode = 11  // STALE_CONTROLLER_EPOCH
	ErrOffsetMetadataTooLarge                 ErrorCode = 12  // OFFSET_METADATA_TOO_LARGE
	ErrNetworkException                       ErrorCode = 13  // NETWORK_EXCEPTION
	ErrCoordinatorLoadInProgress              ErrorCode = 14  // COORDINATOR_LOAD_IN_PROGRESS
	ErrCoordinatorNotAvailable                ErrorCode = 15  // COORDINATOR_NOT_AVAILABLE
	ErrNotCoordinator                         ErrorCode = 16  // NOT_COORDINATOR
	ErrInvalidTopic                           ErrorCode = 17  // INVALID_TOPIC_EXCEPTION
	ErrRecordListTooLarge                     ErrorCode = 18  // RECORD_LIST_TOO_LARGE
	ErrNotEnoughReplicas                      ErrorCode = 19  // NOT_ENOUGH_REPLICAS
	ErrNotEnoughReplicasAfterAppend           ErrorCode = 20  // NOT_ENOUGH_REPLICAS_AFTER_APPEND
	ErrInvalidRequiredAcks                    ErrorCode = 21  // INVALID_REQUIRED_ACKS
	ErrIllegalGeneration                      ErrorCode = 22  // ILLEGAL_GENERATION
	ErrInconsistentGroupProtocol              ErrorCode = 23  // INCONSISTENT_GROUP_PROTOCOL
	ErrInvalidGroupID                         ErrorCode = 24  // INVALID_GROUP_ID
	ErrUnknownMemberID                        ErrorCode = 25  // UNKNOWN_MEMBER_ID
	ErrInvalidSessionTimeout                  ErrorCode = 26  // INVALID_SESSION_TIMEOUT
	ErrRebalanceInProgress                    ErrorCode = 27  // REBALANCE_IN_PROGRESS
	ErrInvalidCommitOffsetSize                ErrorCode = 28  // INVALID_COMMIT_OFFSET_SIZE
	ErrTopicAuthorizationFailed               ErrorCode = 29  // TOPIC_AUTHORIZATION_FAILED
	ErrGroupAuthorizationFailed               ErrorCode = 30  // GROUP_AUTHORIZATION_FAILED
	ErrClusterAuthorizationFailed             ErrorCode = 31  // CLUSTER_AUTHORIZATION_FAILED
	ErrInvalidTimestamp                       ErrorCode = 32  // INVALID_TIMESTAMP
	ErrUnsupportedSaslMechanism               ErrorCode = 33  // UNSUPPORTED_SASL_MECHANISM
	ErrIllegalSaslState                       ErrorCode = 34  // ILLEGAL_SASL_STATE
	ErrUnsupportedVersion                     ErrorCode = 35  // UNSUPPORTED_VERSION
	ErrTopicAlreadyExists                     ErrorCode = 36  // TOPIC_ALREADY_EXISTS
	ErrInvalidPartitions                      ErrorCode = 37  // INVALID_PARTITIONS
	ErrInvalidReplicationFactor               ErrorCode = 38  // INVALID_REPLICATION_FACTOR
	ErrInvalidReplicaAssignment               ErrorCode = 39  // INVALID_REPLICA_ASSIGNMENT
	ErrInvalidConfig                          ErrorCode = 40  // INVALID_CONFIG
	ErrNotController                          ErrorCode = 41  // NOT_CONTROLLER
	ErrInvalidRequest                         ErrorCode = 42  // INVALID_REQUEST
	ErrUnsupportedForMessageFormat            ErrorCode = 43  // UNSUPPORTED_FOR_MESSAGE_FORMAT
	ErrPolicyViolation                        ErrorCode = 44  // POLICY_VIOLATION
	ErrOutOfOrderSequenceNumber               ErrorCode = 45  // OUT_OF_ORDER_SEQUENCE_NUMBER
	ErrDuplicateSequenceNumber                ErrorCode = 46  // DUPLICATE_SEQUENCE_NUMBER
	ErrInvalidProducerEpoch                   ErrorCode = 47  // INVALID_PRODUCER_EPOCH
	ErrInvalidTxnState                        ErrorCode = 48  // INVALID_TXN_STATE
	ErrInvalidProducerIDMapping               ErrorCode = 49  // INVALID_PRODUCER_ID_MAPPING
	ErrInvalidTransactionTimeout              ErrorCode = 50  // INVALID_TRANSACTION_TIMEOUT
	ErrConcurrentTransactions                 ErrorCode = 51  // CONCURRENT_TRANSACTIONS
	ErrTransactionCoordinatorFenced           ErrorCode = 52  // TRANSACTION_COORDINATOR_FENCED
	ErrTransactionalIDAuthorizationFailed     ErrorCode = 53  // TRANSACTIONAL_ID_AUTHORIZATION_FAILED
	ErrSecurityDisabled                       ErrorCode = 54  // SECURITY_DISABLED
	ErrOperationNotAttempted                  ErrorCode = 55  // OPERATION_NOT_ATTEMPTED
	ErrKafkaStorageError                      ErrorCode = 56  // KAFKA_STORAGE_ERROR
	ErrLogDirNotFound                         ErrorCode = 57  // LOG_DIR_NOT_FOUND
	ErrSaslAuthenticationFailed               ErrorCode = 58  // SASL_AUTHENTICATION_FAILED
	ErrUnknownProducerID                      ErrorCode = 59  // UNKNOWN_PRODUCER_ID
	ErrReassignmentInProgress                 ErrorCode = 60  // REASSIGNMENT_IN_PROGRESS
	ErrDelegationTokenAuthDisabled            ErrorCode = 61  // DELEGATION_TOKEN_AUTH_DISABLED
	ErrDelegationTokenNotFound                ErrorCode = 62  // DELEGATION_TOKEN_NOT_FOUND
	ErrDelegationTokenOwnerMismatch           ErrorCode = 63  // DELEGATION_TOKEN_OWNER_MISMATCH
	ErrDelegationTokenRequestNotAllowed       ErrorCode = 64  // DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
	ErrDelegationTokenAuthorizationFailed     ErrorCode = 65  // DELEGATION_TOKEN_AUTHORIZATION_FAILED
	ErrDelegationTokenExpired                 ErrorCode = 66  // DELEGATION_TOKEN_EXPIRED
	ErrInvalidPrincipalType                   ErrorCode = 67  // INVALID_PRINCIPAL_TYPE
	ErrNonEmptyGroup                          ErrorCode = 68  // NON_EMPTY_GROUP
	ErrGroupIDNotFound                        ErrorCode = 69  // GROUP_ID_NOT_FOUND
	ErrFetchSessionIDNotFound                 ErrorCode = 70  // FETCH_SESSION_ID_NOT_FOUND
	ErrInvalidFetchSessionEpoch               ErrorCode = 71  // INVALID_FETCH_SESSION_EPOCH
	ErrListenerNotFound                       ErrorCode = 72  // LISTENER_NOT_FOUND
	ErrTopicDeletionDisabled                  ErrorCode = 73  // TOPIC_DELETION_DISABLED
	ErrFencedLeaderEpoch                      ErrorCode = 74  // FENCED_LEADER_EPOCH
	ErrUnknownLeaderEpoch                     ErrorCode = 75  // UNKNOWN_LEADER_EPOCH
	ErrUnsupportedCompressionType             ErrorCode = 76  // UNSUPPORTED_COMPRESSION_TYPE
	ErrStaleBrokerEpoch                       ErrorCode = 77  // STALE_BROKER_EPOCH
	ErrOffsetNotAvailable                     ErrorCode = 78  // OFFSET_NOT_AVAILABLE
	ErrMemberIDRequired                       ErrorCode = 79  // MEMBER_ID_REQUIRED
	ErrPreferredLeaderNotAvailable            ErrorCode = 80  // PREFERRED_LEADER_NOT_AVAILABLE
	ErrGroupMaxSizeReached                    ErrorCode = 81  // GROUP_MAX_SIZE_REACHED
	ErrFencedInstanceID                       ErrorCode = 82  // FENCED_INSTANCE_ID
	ErrEligibleLeadersNotAvailable            ErrorCode = 83  // ELIGIBLE_LEADERS_NOT_AVAILABLE
	ErrElectionNotNeeded                      ErrorCode = 84  // ELECTION_NOT_NEEDED
	ErrNoReassignmentInProgress               ErrorCode = 85  // NO_REASSIGNMENT_IN_PROGRESS
	ErrGroupSubscribedToTopic                 ErrorCode = 86  // GROUP_SUBSCRIBED_TO_TOPIC
	ErrInvalidRecord                          ErrorCode = 87  // INVALID_RECORD
	ErrUnstableOffsetCommit                   ErrorCode = 88  // UNSTABLE_OFFSET_COMMIT
	ErrThrottlingQuotaExceeded                ErrorCode = 89  // THROTTLING_QUOTA_EXCEEDED
	ErrProducerFenced                         ErrorCode = 90  // PRODUCER_FENCED
	ErrResourceNotFound                       ErrorCode = 91  // RESOURCE_NOT_FOUND
	ErrDuplicateResource                      ErrorCode = 92  // DUPLICATE_RESOURCE
	ErrUnacceptableCredential                 ErrorCode = 93  // UNACCEPTABLE_CREDENTIAL
	ErrInconsistentVoterSet                   ErrorCode = 94  // INCONSISTENT_VOTER_SET
	ErrInvalidUpdateVersion                   ErrorCode = 95  // INVALID_UPDATE_VERSION
	ErrFeatureUpdateFailed                    ErrorCode = 96  // FEATURE_UPDATE_FAILED
	ErrPrincipalDeserializationFailure        ErrorCode = 97  // PRINCIPAL_DESERIALIZATION_FAILURE
	ErrSnapshotNotFound                       ErrorCode = 98  // SNAPSHOT_NOT_FOUND
	ErrPositionOutOfRange                     ErrorCode = 99  // POSITION_OUT_OF_RANGE
	ErrUnknownTopicID                         ErrorCode = 100 // UNKNOWN_TOPIC_ID
	ErrDuplicateBrokerRegistration            ErrorCode = 101 // DUPLICATE_BROKER_REGISTRATION
	ErrBrokerIDNotRegistered                  ErrorCode = 102 // BROKER_ID_NOT_REGISTERED
	ErrInconsistentTopicID                    ErrorCode = 103 // INCONSISTENT_TOPIC_ID
	ErrInconsistentClusterID                  ErrorCode = 104 // INCONSISTENT_CLUSTER_ID
	ErrTransactionalIDNotFound                ErrorCode = 105 // TRANSACTIONAL_ID_NOT_FOUND
	ErrFetchSessionTopicIDError               ErrorCode = 106 // FETCH_SESSION_TOPIC_ID_ERROR
	ErrIneligibleReplica                      ErrorCode = 107 // INELIGIBLE_REPLICA
	ErrNewLeaderElected                       ErrorCode = 108 // NEW_LEADER_ELECTED
	ErrOffsetMovedToTieredStorage             ErrorCode = 109 // OFFSET_MOVED_TO_TIERED_STORAGE
	ErrFencedMemberEpoch                      ErrorCode = 110 // FENCED_MEMBER_EPOCH
	ErrUnreleasedInstanceID                   ErrorCode = 111 // UNRELEASED_INSTANCE_ID
	ErrUnsupportedAssignor                    ErrorCode = 112 // UNSUPPORTED_ASSIGNOR
	ErrStaleMemberEpoch                       ErrorCode = 113 // STALE_MEMBER_EPOCH
	ErrMismatchedEndpointType                 ErrorCode = 114 // MISMATCHED_ENDPOINT_TYPE
	ErrUnsupportedEndpointType                ErrorCode = 115 // UNSUPPORTED_ENDPOINT_TYPE
	ErrUnknownControllerID                    ErrorCode = 116 // UNKNOWN_CONTROLLER_ID
	ErrUnknownSubscriptionID                  ErrorCode = 117 // UNKNOWN_SUBSCRIPTION_ID
	ErrTelemetryTooLarge                      ErrorCode = 118 // TELEMETRY_TOO_LARGE
	ErrInvalidRegistration                    ErrorCode = 119 // INVALID_REGISTRATION
	ErrTransactionAbortable                   ErrorCode = 120 // TRANSACTION_ABORTABLE
	ErrInvalidRecordState                     ErrorCode = 121 // INVALID_RECORD_STATE
	ErrShareSessionNotFound                   ErrorCode = 122 // SHARE_SESSION_NOT_FOUND
	ErrInvalidShareSessionEpoch               ErrorCode = 123 // INVALID_SHARE_SESSION_EPOCH
	ErrFencedStateEpoch                       ErrorCode = 124 // FENCED_STATE_EPOCH
	ErrInvalidVoterKey                        ErrorCode = 125 // INVALID_VOTER_KEY
	ErrDuplicateVoter                         ErrorCode = 126 // DUPLICATE_VOTER
	ErrVoterNotFound                          ErrorCode = 127 // VOTER_NOT_FOUND
	ErrInvalidRegularExpression               ErrorCode = 128 // INVALID_REGULAR_EXPRESSION
	ErrRebootstrapRequired                    ErrorCode = 129 // REBOOTSTRAP_REQUIRED
	ErrStreamsInvalidTopology                 ErrorCode = 130 // STREAMS_INVALID_TOPOLOGY
	ErrStreamsInvalidTopologyEpoch            ErrorCode = 131 // STREAMS_INVALID_TOPOLOGY_EPOCH
	ErrStreamsTopologyFenced                  ErrorCode = 132 // STREAMS_TOPOLOGY_FENCED
	ErrShareSessionLimitReached               ErrorCode = 133 // SHARE_SESSION_LIMIT_REACHED
	ErrGroupDeletionFailed                    ErrorCode = 134 // GROUP_DELETION_FAILED
	ErrStreamsTopologyDescriptionUpdateFailed ErrorCode = 135 // STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED
	ErrControllerIDNotRegistered              ErrorCode = 136 // CONTROLLER_ID_NOT_REGISTERED
)

// errorTable is indexed by code - firstCode; it has no holes.
var errorTable = [...]errorRow{
	ErrUnknownServerError - firstCode:                     {"UNKNOWN_SERVER_ERROR", false},
	ErrNone - firstCode:                                   {"NONE", false},
	ErrOffsetOutOfRange - firstCode:                       {"OFFSET_OUT_OF_RANGE", false},
	ErrCorruptMessage - firstCode:                         {"CORRUPT_MESSAGE", true},
	ErrUnknownTopicOrPartition - firstCode:                {"UNKNOWN_TOPIC_OR_PARTITION", true},
	ErrInvalidFetchSize - firstCode:                       {"INVALID_FETCH_SIZE", false},
	ErrLeaderNotAvailable - firstCode:                     {"LEADER_NOT_AVAILABLE", true},
	ErrNotLeaderOrFollower - firstCode:                    {"NOT_LEADER_OR_FOLLOWER", true},
	ErrRequestTimedOut - firstCode:                        {"REQUEST_TIMED_OUT", true},
	ErrBrokerNotAvailable - firstCode:                     {"BROKER_NOT_AVAILABLE", true},
	ErrReplicaNotAvailable - firstCode:                    {"REPLICA_NOT_AVAILABLE", true},
	ErrMessageTooLarge - firstCode:                        {"MESSAGE_TOO_LARGE", false},
	ErrStaleControllerEpoch - firstCode:                   {"STALE_CONTROLLER_EPOCH", false},
	ErrOffsetMetadataTooLarge - firstCode:                 {"OFFSET_METADATA_TOO_LARGE", false},
	ErrNetworkException - firstCode:                       {"NETWORK_EXCEPTION", true},
	ErrCoordinatorLoadInProgress - firstCode:              {"COORDINATOR_LOAD_IN_PROGRESS", true},
	ErrCoordinatorNotAvailable - firstCode:                {"COORDINATOR_NOT_AVAILABLE", true},
	ErrNotCoordinator - firstCode:                         {"NOT_COORDINATOR", true},
	ErrInvalidTopic - firstCode:                           {"INVALID_TOPIC_EXCEPTION", false},
	ErrRecordListTooLarge - firstCode:                     {"RECORD_LIST_TOO_LARGE", false},
	ErrNotEnoughReplicas - firstCode:                      {"NOT_ENOUGH_REPLICAS", true},
	ErrNotEnoughReplicasAfterAppend - firstCode:           {"NOT_ENOUGH_REPLICAS_AFTER_APPEND", true},
	ErrInvalidRequiredAcks - firstCode:                    {"INVALID_REQUIRED_ACKS", false},
	ErrIllegalGeneration - firstCode:                      {"ILLEGAL_GENERATION", false},
	ErrInconsistentGroupProtocol - firstCode:              {"INCONSISTENT_GROUP_PROTOCOL", false},
	ErrInvalidGroupID - firstCode:                         {"INVALID_GROUP_ID", false},
	ErrUnknownMemberID - firstCode:                        {"UNKNOWN_MEMBER_ID", false},
	ErrInvalidSessionTimeout - firstCode:                  {"INVALID_SESSION_TIMEOUT", false},
	ErrRebalanceInProgress - firstCode:                    {"REBALANCE_IN_PROGRESS", false},
	ErrInvalidCommitOffsetSize - firstCode:                {"INVALID_COMMIT_OFFSET_SIZE", false},
	ErrTopicAuthorizationFailed - firstCode:               {"TOPIC_AUTHORIZATION_FAILED", false},
	ErrGroupAuthorizationFailed - firstCode:               {"GROUP_AUTHORIZATION_FAILED", false},
	ErrClusterAuthorizationFailed - firstCode:             {"CLUSTER_AUTHORIZATION_FAILED", false},
	ErrInvalidTimestamp - firstCode:                       {"INVALID_TIMESTAMP", false},
	ErrUnsupportedSaslMechanism - firstCode:               {"UNSUPPORTED_SASL_MECHANISM", false},
	ErrIllegalSaslState - firstCode:                       {"ILLEGAL_SASL_STATE", false},
	ErrUnsupportedVersion - firstCode:                     {"UNSUPPORTED_VERSION", false},
	ErrTopicAlreadyExists - firstCode:                     {"TOPIC_ALREADY_EXISTS", false},
	ErrInvalidPartitions - firstCode:                      {"INVALID_PARTITIONS", false},
	ErrInvalidReplicationFactor - firstCode:               {"INVALID_REPLICATION_FACTOR", false},
	ErrInvalidReplicaAssignment - firstCode:               {"INVALID_REPLICA_ASSIGNMENT", false},
	ErrInvalidConfig - firstCode:                          {"INVALID_CONFIG", false},
	ErrNotController - firstCode:                          {"NOT_CONTROLLER", true},
	ErrInvalidRequest - firstCode:                         {"INVALID_REQUEST", false},
	ErrUnsupportedForMessageFormat - firstCode:            {"UNSUPPORTED_FOR_MESSAGE_FORMAT", false},
	ErrPolicyViolation - firstCode:                        {"POLICY_VIOLATION", false},
	ErrOutOfOrderSequenceNumber - firstCode:               {"OUT_OF_ORDER_SEQUENCE_NUMBER", false},
	ErrDuplicateSequenceNumber - firstCode:                {"DUPLICATE_SEQUENCE_NUMBER", false},
	ErrInvalidProducerEpoch - firstCode:                   {"INVALID_PRODUCER_EPOCH", false},
	ErrInvalidTxnState - firstCode:                        {"INVALID_TXN_STATE", false},
	ErrInvalidProducerIDMapping - firstCode:               {"INVALID_PRODUCER_ID_MAPPING", false},
	ErrInvalidTransactionTimeout - firstCode:              {"INVALID_TRANSACTION_TIMEOUT", false},
	ErrConcurrentTransactions - firstCode:                 {"CONCURRENT_TRANSACTIONS", false},
	ErrTransactionCoordinatorFenced - firstCode:           {"TRANSACTION_COORDINATOR_FENCED", false},
	ErrTransactionalIDAuthorizationFailed - firstCode:     {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED", false},
	ErrSecurityDisabled - firstCode:                       {"SECURITY_DISABLED", false},
	ErrOperationNotAttempted - firstCode:                  {"OPERATION_NOT_ATTEMPTED", false},
	ErrKafkaStorageError - firstCode:                      {"KAFKA_STORAGE_ERROR", true},
	ErrLogDirNotFound - firstCode:                         {"LOG_DIR_NOT_FOUND", false},
	ErrSaslAuthenticationFailed - firstCode:               {"SASL_AUTHENTICATION_FAILED", false},
	ErrUnknownProducerID - firstCode:                      {"UNKNOWN_PRODUCER_ID", false},
	ErrReassignmentInProgress - firstCode:                 {"REASSIGNMENT_IN_PROGRESS", false},
	ErrDelegationTokenAuthDisabled - firstCode:            {"DELEGATION_TOKEN_AUTH_DISABLED", false},
	ErrDelegationTokenNotFound - firstCode:                {"DELEGATION_TOKEN_NOT_FOUND", false},
	ErrDelegationTokenOwnerMismatch - firstCode:           {"DELEGATION_TOKEN_OWNER_MISMATCH", false},
	ErrDelegationTokenRequestNotAllowed - firstCode:       {"DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", false},
	ErrDelegationTokenAuthorizationFailed - firstCode:     {"DELEGATION_TOKEN_AUTHORIZATION_FAILED", false},
	ErrDelegationTokenExpired - firstCode:                 {"DELEGATION_TOKEN_EXPIRED", false},
	ErrInvalidPrincipalType - firstCode:                   {"INVALID_PRINCIPAL_TYPE", false},
	ErrNonEmptyGroup - firstCode:                          {"NON_EMPTY_GROUP", false},
	ErrGroupIDNotFound - firstCode:                        {"GROUP_ID_NOT_FOUND", false},
	ErrFetchSessionIDNotFound - firstCode:                 {"FETCH_SESSION_ID_NOT_FOUND", true},
	ErrInvalidFetchSessionEpoch - firstCode:               {"INVALID_FETCH_SESSION_EPOCH", true},
	ErrListenerNotFound - firstCode:                       {"LISTENER_NOT_FOUND", true},
	ErrTopicDeletionDisabled - firstCode:                  {"TOPIC_DELETION_DISABLED", false},
	ErrFencedLeaderEpoch - firstCode:                      {"FENCED_LEADER_EPOCH", true},
	ErrUnknownLeaderEpoch - firstCode:                     {"UNKNOWN_LEADER_EPOCH", true},
	ErrUnsupportedCompressionType - firstCode:             {"UNSUPPORTED_COMPRESSION_TYPE", false},
	ErrStaleBrokerEpoch - firstCode:                       {"STALE_BROKER_EPOCH", false},
	ErrOffsetNotAvailable - firstCode:                     {"OFFSET_NOT_AVAILABLE", true},
	ErrMemberIDRequired - firstCode:                       {"MEMBER_ID_REQUIRED", false},
	ErrPreferredLeaderNotAvailable - firstCode:            {"PREFERRED_LEADER_NOT_AVAILABLE", true},
	ErrGroupMaxSizeReached - firstCode:                    {"GROUP_MAX_SIZE_REACHED", false},
	ErrFencedInstanceID - firstCode:                       {"FENCED_INSTANCE_ID", false},
	ErrEligibleLeadersNotAvailable - firstCode:            {"ELIGIBLE_LEADERS_NOT_AVAILABLE", true},
	ErrElectionNotNeeded - firstCode:                      {"ELECTION_NOT_NEEDED", true},
	ErrNoReassignmentInProgress - firstCode:               {"NO_REASSIGNMENT_IN_PROGRESS", false},
	ErrGroupSubscribedToTopic - firstCode:                 {"GROUP_SUBSCRIBED_TO_TOPIC", false},
	ErrInvalidRecord - firstCode:                          {"INVALID_RECORD", false},
	ErrUnstableOffsetCommit - firstCode:                   {"UNSTABLE_OFFSET_COMMIT", true},
	ErrThrottlingQuotaExceeded - firstCode:                {"THROTTLING_QUOTA_EXCEEDED", true},
	ErrProducerFenced - firstCode:                         {"PRODUCER_FENCED", false},
	ErrResourceNotFound - firstCode:                       {"RESOURCE_NOT_FOUND", false},
	ErrDuplicateResource - firstCode:                      {"DUPLICATE_RESOURCE", false},
	ErrUnacceptableCredential - firstCode:                 {"UNACCEPTABLE_CREDENTIAL", false},
	ErrInconsistentVoterSet - firstCode:                   {"INCONSISTENT_VOTER_SET", false},
	ErrInvalidUpdateVersion - firstCode:                   {"INVALID_UPDATE_VERSION", false},
	ErrFeatureUpdateFailed - firstCode:                    {"FEATURE_UPDATE_FAILED", false},
	ErrPrincipalDeserializationFailure - firstCode:        {"PRINCIPAL_DESERIALIZATION_FAILURE", false},
	ErrSnapshotNotFound - firstCode:                       {"SNAPSHOT_NOT_FOUND", false},
	ErrPositionOutOfRange - firstCode:                     {"POSITION_OUT_OF_RANGE", false},
	ErrUnknownTopicID - firstCode:                         {"UNKNOWN_TOPIC_ID", true},
	ErrDuplicateBrokerRegistration - firstCode:            {"DUPLICATE_BROKER_REGISTRATION", false},
	ErrBrokerIDNotRegistered - firstCode:                  {"BROKER_ID_NOT_REGISTERED", false},
	ErrInconsistentTopicID - firstCode:                    {"INCONSISTENT_TOPIC_ID", true},
	ErrInconsistentClusterID - firstCode:                  {"INCONSISTENT_CLUSTER_ID", false},
	ErrTransactionalIDNotFound - firstCode:                {"TRANSACTIONAL_ID_NOT_FOUND", false},
	ErrFetchSessionTopicIDError - firstCode:               {"FETCH_SESSION_TOPIC_ID_ERROR", true},
	ErrIneligibleReplica - firstCode:                      {"INELIGIBLE_REPLICA", false},
	ErrNewLeaderElected - firstCode:                       {"NEW_LEADER_ELECTED", false},
	ErrOffsetMovedToTieredStorage - firstCode:             {"OFFSET_MOVED_TO_TIERED_STORAGE", false},
	ErrFencedMemberEpoch - firstCode:                      {"FENCED_MEMBER_EPOCH", false},
	ErrUnreleasedInstanceID - firstCode:                   {"UNRELEASED_INSTANCE_ID", false},
	ErrUnsupportedAssignor - firstCode:                    {"UNSUPPORTED_ASSIGNOR", false},
	ErrStaleMemberEpoch - firstCode:                       {"STALE_MEMBER_EPOCH", false},
	ErrMismatchedEndpointType - firstCode:                 {"MISMATCHED_ENDPOINT_TYPE", false},
	ErrUnsupportedEndpointType - firstCode:                {"UNSUPPORTED_ENDPOINT_TYPE", false},
	ErrUnknownControllerID - firstCode:                    {"UNKNOWN_CONTROLLER_ID", false},
	ErrUnknownSubscriptionID - firstCode:                  {"UNKNOWN_SUBSCRIPTION_ID", false},
	ErrTelemetryTooLarge - firstCode:                      {"TELEMETRY_TOO_LARGE", false},
	ErrInvalidRegistration - firstCode:                    {"INVALID_REGISTRATION", false},
	ErrTransactionAbortable - firstCode:                   {"TRANSACTION_ABORTABLE", false},
	ErrInvalidRecordState - firstCode:                     {"INVALID_RECORD_STATE", false},
	ErrShareSessionNotFound - firstCode:                   {"SHARE_SESSION_NOT_FOUND", false},
	ErrInvalidShareSessionEpoch - firstCode:               {"INVALID_SHARE_SESSION_EPOCH", false},
	ErrFencedStateEpoch - firstCode:                       {"FENCED_STATE_EPOCH", false},
	ErrInvalidVoterKey - firstCode:                        {"INVALID_VOTER_KEY", false},
	ErrDuplicateVoter - firstCode:                         {"DUPLICATE_VOTER", false},
	ErrVoterNotFound - firstCode:                          {"VOTER_NOT_FOUND", false},
	ErrInvalidRegularExpression - firstCode:               {"INVALID_REGULAR_EXPRESSION", false},
	ErrRebootstrapRequired - firstCode:                    {"REBOOTSTRAP_REQUIRED", false},
	ErrStreamsInvalidTopology - firstCode:                 {"STREAMS_INVALID_TOPOLOGY", false},
	ErrStreamsInvalidTopologyEpoch - firstCode:            {"STREAMS_INVALID_TOPOLOGY_EPOCH", false},
	ErrStreamsTopologyFenced - firstCode:                  {"STREAMS_TOPOLOGY_FENCED", false},
	ErrShareSessionLimitReached - firstCode:               {"SHARE_SESSION_LIMIT_REACHED", true},
	ErrGroupDeletionFailed - firstCode:                    {"GROUP_DELETION_FAILED", false},
	ErrStreamsTopologyDescriptionUpdateFailed - firstCode: {"STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", false},
	ErrControllerIDNotRegistered - firstCode:              {"CONTROLLER_ID_NOT_REGISTERED", false},
}
