package history

// Names of the client's own errors: what went wrong without an answer of the broker.
const (
	ErrDial       = "DIAL_FAILED"     // no connection was made, so nothing was sent: definite
	ErrNotSent    = "NOT_SENT"        // the client gave up before it wrote the first byte: definite
	ErrConnection = "CONNECTION_LOST" // the connection broke after the first byte was written
	ErrTimeout    = "TIMED_OUT"       // no answer in time
)

// definite lists the errors after which one attempt has certainly not had, and will not have, an effect: Kafka checks
// them before it appends, or the client never sent. Whatever is not listed is indefinite, above all:
//
//   - NOT_LEADER_OR_FOLLOWER: the leader may have appended before it stepped down (KAFKA-13574);
//   - NOT_ENOUGH_REPLICAS_AFTER_APPEND, REQUEST_TIMED_OUT: it has appended;
//   - OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID, DUPLICATE_SEQUENCE_NUMBER: they speak about what the broker
//     remembers of the producer, and a broker that forgot may have appended an earlier attempt;
//   - KAFKA_STORAGE_ERROR, UNKNOWN_SERVER_ERROR: part of the work may be done.
var definite = map[string]bool{
	ErrDial: true, ErrNotSent: true,
	"OFFSET_OUT_OF_RANGE": true, "CORRUPT_MESSAGE": true, "UNKNOWN_TOPIC_OR_PARTITION": true, "INVALID_FETCH_SIZE": true,
	"LEADER_NOT_AVAILABLE": true, "MESSAGE_TOO_LARGE": true, "COORDINATOR_LOAD_IN_PROGRESS": true, "COORDINATOR_NOT_AVAILABLE": true,
	"NOT_COORDINATOR": true, "INVALID_TOPIC_EXCEPTION": true, "RECORD_LIST_TOO_LARGE": true, "NOT_ENOUGH_REPLICAS": true,
	"INVALID_REQUIRED_ACKS": true, "TOPIC_AUTHORIZATION_FAILED": true, "CLUSTER_AUTHORIZATION_FAILED": true, "INVALID_TIMESTAMP": true,
	"UNSUPPORTED_VERSION": true, "TOPIC_ALREADY_EXISTS": true, "INVALID_PARTITIONS": true, "INVALID_REPLICATION_FACTOR": true,
	"INVALID_REPLICA_ASSIGNMENT": true, "INVALID_CONFIG": true, "NOT_CONTROLLER": true, "INVALID_REQUEST": true,
	"UNSUPPORTED_FOR_MESSAGE_FORMAT": true, "POLICY_VIOLATION": true, "INVALID_PRODUCER_EPOCH": true, "PRODUCER_FENCED": true,
	"TRANSACTIONAL_ID_AUTHORIZATION_FAILED": true, "FENCED_LEADER_EPOCH": true, "UNKNOWN_LEADER_EPOCH": true,
	"UNSUPPORTED_COMPRESSION_TYPE": true, "OFFSET_NOT_AVAILABLE": true, "THROTTLING_QUOTA_EXCEEDED": true, "INVALID_RECORD": true,
	"UNKNOWN_TOPIC_ID": true, "INCONSISTENT_TOPIC_ID": true,
}

// Definite reports whether one attempt that ended with this error certainly had no effect.
func Definite(err string) bool { return definite[err] }

// Outcome is the completion type of an operation whose last attempt ended with err ("" means success). unknownBefore
// says that an earlier attempt of the same operation ended without a definite answer; then a definite error of the last
// attempt proves nothing, and the outcome stays unknown.
func Outcome(err string, unknownBefore bool) Type {
	switch {
	case err == "":
		return OK
	case Definite(err) && !unknownBefore:
		return Fail
	default:
		return Info
	}
}
