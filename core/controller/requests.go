package controller

import (
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// Request is one of CreateTopics, DeleteTopics, CreatePartitions, AlterConfigs, AllocateProducerIDs, RegisterBroker,
// BrokerHeartbeat, SessionExpired, UnregisterBroker, AlterPartition, ElectLeaders, BalanceLeaders, Reassign, AssignDirs,
// UpdateFeatures.
type Request interface{ isRequest() }

// Response answers a request; its type is CreateTopicsResponse for CreateTopics and so on, or NotController.
type Response interface{ isResponse() }

// Decision is the outcome of a request.
type Decision struct {
	// Seq is for Committed. A decision without records has that of the one before it, since it was made on top of it.
	Seq int64
	// Records are to be written as one batch, whole or not at all. Empty: nothing is to be written, the response may
	// leave once the decisions before it are committed.
	Records []meta.Record
	// Durable: the records must be fsynced before the response leaves. It is always set with records, except for
	// producer ids when rule producer-ids-durable is off.
	Durable  bool
	Response Response
	// Term is the controller epoch, which goes into the context of every record.
	Term int32
	// Timers are to be set when the decision is committed.
	Timers []Timer
}

// NotController answers every request to a machine that is no controller, or none yet: NOT_CONTROLLER.
type NotController struct{}

// Config is what does not change with the state.
type Config struct {
	Node                     kafka.NodeID
	NumPartitions            int32 // num.partitions
	DefaultReplicationFactor int16 // default.replication.factor
	MinISR                   int32 // min.insync.replicas where nothing else is set; 0 counts as 1
	UncleanElection          bool  // unclean.leader.election.enable where nothing else is set
	// SessionTimeoutMs is broker.session.timeout.ms. 0: there are no sessions, a broker that registers is there for good
	// and leads its partitions at once, as one does that is its own controller.
	SessionTimeoutMs int64
	// SessionsLast refuses a process while another one has a session under its id, as Kafka does
	// (DUPLICATE_BROKER_REGISTRATION). Otherwise it takes over at once: what the one before may have lost is taken into
	// account at once too.
	SessionsLast bool
	ClusterID    string         // brokers of another cluster are refused; "": of any
	Features     []meta.Feature // which levels UpdateFeatures may set
	// Standby: the machine begins as one of several voters and decides nothing before Lead.
	Standby bool
	Rules   Rules
}

// NewTopic is one topic of a CreateTopics request.
type NewTopic struct {
	Name string
	// ID is what the topic gets if it is made; the shell draws it. Not a reserved one.
	ID                kafka.TopicID
	Partitions        int32 // -1: the default, or as Assignment has
	ReplicationFactor int16 // -1: the default, or as Assignment has
	Assignment        []Assignment
	Configs           []NewConfig
}

// Assignment is the replicas of one partition, the preferred leader first.
type Assignment struct {
	Partition kafka.PartitionID
	Replicas  []kafka.NodeID
}

// NewConfig is one setting of a new topic. A null value is refused as Kafka does.
type NewConfig struct {
	Name  string
	Value string
	Null  bool
}

// CreateTopics makes topics, each on its own: one may fail while others are made. Automatic creation is the same
// request.
type CreateTopics struct {
	Topics       []NewTopic
	ValidateOnly bool
	// Draw is a number that the shell drew; what Kafka draws to place replicas follows from it. 0: nothing is drawn, the
	// stripes begin where the partitions that exist end.
	Draw uint64
	// Internal allows internal topics: for the broker's own use, never from a client.
	Internal bool
}

// CreateTopicsResponse has one entry for each requested topic, in order; for a name that is there twice one for each
// occurrence.
type CreateTopicsResponse struct{ Topics []CreatedTopic }

// CreatedTopic is the outcome for one topic.
type CreatedTopic struct {
	Name    string
	ID      kafka.TopicID // zero unless the topic was made
	Code    kafka.ErrorCode
	Message string // "" with NONE
	// Partitions, ReplicationFactor and Configs (its own settings) describe the topic that was or would be made.
	Partitions        int32
	ReplicationFactor int16
	Configs           []config.Pair
}

// TopicRef names a topic by name or, when the name is empty, by id.
type TopicRef struct {
	Name string
	ID   kafka.TopicID
}

// DeleteTopics removes topics, each on its own.
type DeleteTopics struct{ Topics []TopicRef }

// DeleteTopicsResponse has one entry for each requested topic, in order.
type DeleteTopicsResponse struct{ Topics []DeletedTopic }

// DeletedTopic is the outcome for one topic. Name and ID are both known when Code is NONE.
type DeletedTopic struct {
	Name    string
	ID      kafka.TopicID
	Code    kafka.ErrorCode
	Message string
}

// AllocateProducerIDs asks for a block of producer ids for a broker (KIP-730).
type AllocateProducerIDs struct {
	Broker      kafka.NodeID
	BrokerEpoch int64
}

// AllocateProducerIDsResponse is the block First..First+Count-1.
type AllocateProducerIDsResponse struct {
	Code  kafka.ErrorCode
	First kafka.ProducerID
	Count int32
}

func (*NotController) isResponse()               {}
func (*CreateTopics) isRequest()                 {}
func (*DeleteTopics) isRequest()                 {}
func (*AllocateProducerIDs) isRequest()          {}
func (*CreateTopicsResponse) isResponse()        {}
func (*DeleteTopicsResponse) isResponse()        {}
func (*AllocateProducerIDsResponse) isResponse() {}
