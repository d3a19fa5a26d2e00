package kafka

import "fmt"

// Names of Kafka's internal topics.
const (
	ConsumerOffsetsTopic  = "__consumer_offsets"
	TransactionStateTopic = "__transaction_state"
	ClusterMetadataTopic  = "__cluster_metadata"
)

// TopicNameMax is the longest topic name in bytes: a directory name has 255, of which "-", the partition and Kafka's
// suffixes need some.
const TopicNameMax = 249

// CheckTopicName accepts [a-zA-Z0-9._-]{1,249} except "." and "..".
// The caller answers INVALID_TOPIC_EXCEPTION for an error.
func CheckTopicName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("kafka: topic name is empty")
	case name == "." || name == "..":
		return fmt.Errorf("kafka: topic name %q is reserved by file systems", name)
	case len(name) > TopicNameMax:
		return fmt.Errorf("kafka: topic name of %d bytes is longer than %d, it begins %.40q", len(name), TopicNameMax, name)
	}
	for i := range len(name) {
		if !topicByte(name[i]) {
			return fmt.Errorf("kafka: topic name %q has %q at byte %d, want [a-zA-Z0-9._-]", name, name[i], i)
		}
	}
	return nil
}

// TopicNamesCollide reports names that differ only in "." and "_": Kafka refuses the second, since its metrics
// replace one by the other.
func TopicNamesCollide(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if dotless(a[i]) != dotless(b[i]) {
			return false
		}
	}
	return true
}

// IsInternalTopic reports the topics that clients may not create or write.
func IsInternalTopic(name string) bool {
	return name == ConsumerOffsetsTopic || name == TransactionStateTopic
}

func topicByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

func dotless(c byte) byte {
	if c == '.' {
		return '_'
	}
	return c
}
