package kafka

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestHashVectors has what Kafka's own classes answer.
func TestHashVectors(t *testing.T) {
	for _, c := range []struct {
		s           string
		murmur      int32
		in12, in50  int32
		java, group int32
	}{
		{"", 275646681, 9, 31, 0, 0},
		{"a", -1563381124, 4, 24, 97, 47},
		{"abc", 479470107, 3, 7, 96354, 4},
		{"abcd", -1323649548, 8, 0, 2987074, 24},
		{"key-1", 193331640, 0, 40, 101943363, 13},
		{"foobar", -790332482, 6, 16, -1268878963, 13},
		{"a-little-bit-long-string", -985981536, 8, 12, -865776169, 19},
		{"ключ", 2122343024, 8, 24, 33309882, 32},
		{"😀", 131881617, 9, 17, 1772899, 49},
	} {
		assert.Equal(t, c.murmur, Murmur2([]byte(c.s)), c.s)
		assert.Equal(t, c.in12, PartitionForKey([]byte(c.s), 12), c.s)
		assert.Equal(t, c.in50, PartitionForKey([]byte(c.s), 50), c.s)
		assert.Equal(t, c.java, JavaStringHash(c.s), c.s)
		assert.Equal(t, c.group, CoordinatorPartition(c.s, 50), c.s)
	}
	assert.Equal(t, int32(-1<<31), JavaStringHash("polygenelubricants"))
	assert.Equal(t, int32(0), CoordinatorPartition("polygenelubricants", 50))
	for i, want := range []int32{2, 2, 0, 1, 1, 0, 1, 1} {
		assert.Equal(t, want, PartitionForKey([]byte{'k', byte('0' + i)}, 3), "k%d", i)
	}
}

func TestErrorTable(t *testing.T) {
	for i, row := range errorTable {
		code := firstCode + ErrorCode(i)
		require.NotEmpty(t, row.name, "code %d", code)
		require.True(t, code.Known())
		back, ok := ParseErrorCode(row.name)
		require.True(t, ok)
		require.Equal(t, code, back)
	}
	for _, c := range []struct {
		code      ErrorCode
		text      string
		retriable bool
	}{
		{ErrUnknownServerError, "UNKNOWN_SERVER_ERROR(-1)", false},
		{ErrNone, "NONE(0)", false},
		{ErrCorruptMessage, "CORRUPT_MESSAGE(2)", true},
		{ErrNotLeaderOrFollower, "NOT_LEADER_OR_FOLLOWER(6)", true},
		{ErrRequestTimedOut, "REQUEST_TIMED_OUT(7)", true},
		{ErrInvalidTopic, "INVALID_TOPIC_EXCEPTION(17)", false},
		{ErrNotEnoughReplicasAfterAppend, "NOT_ENOUGH_REPLICAS_AFTER_APPEND(20)", true},
		{ErrOutOfOrderSequenceNumber, "OUT_OF_ORDER_SEQUENCE_NUMBER(45)", false},
		{ErrInvalidProducerEpoch, "INVALID_PRODUCER_EPOCH(47)", false},
		{ErrKafkaStorageError, "KAFKA_STORAGE_ERROR(56)", true},
		{ErrInvalidRecord, "INVALID_RECORD(87)", false},
		{ErrUnknownTopicID, "UNKNOWN_TOPIC_ID(100)", true},
		{-2, "ERROR_-2(-2)", false},
		{30000, "ERROR_30000(30000)", false},
	} {
		assert.Equal(t, c.text, c.code.Error())
		assert.Equal(t, c.retriable, c.code.Retriable(), c.text)
	}
	_, ok := ParseErrorCode("NOPE")
	assert.False(t, ok)
}

func TestTopicNames(t *testing.T) {
	for _, good := range []string{"a", "A.b_c-9", "...", "__consumer_offsets", strings.Repeat("x", 249)} {
		assert.NoError(t, CheckTopicName(good))
	}
	for _, bad := range []string{"", ".", "..", "a/b", "a b", "ü", "a\x00", strings.Repeat("x", 250)} {
		assert.Error(t, CheckTopicName(bad), "%q", bad)
	}
	assert.ErrorContains(t, CheckTopicName("../x"), `'/' at byte 2`)
	assert.True(t, TopicNamesCollide("a.b", "a_b"))
	assert.False(t, TopicNamesCollide("a.b", "a-b"))
	assert.False(t, TopicNamesCollide("a", "ab"))
	assert.True(t, IsInternalTopic(ConsumerOffsetsTopic))
	assert.False(t, IsInternalTopic("x"))
}

func TestTopicPartition(t *testing.T) {
	tp, err := ParseTopicPartition("a-b-12")
	require.NoError(t, err)
	assert.Equal(t, TopicPartition{"a-b", 12}, tp)
	assert.Equal(t, "a-b-12", tp.String())
	for _, bad := range []string{"", "a", "a-", "a-x", "-1", "a-01", "a-+1", "a-2147483648", "a/b-1", "..-1"} {
		_, err := ParseTopicPartition(bad)
		assert.Error(t, err, "%q", bad)
	}
	order := []TopicPartition{{"a", 1}, {"a", 2}, {"b", 0}}
	for i, x := range order {
		for j, y := range order {
			assert.Equal(t, min(max(i-j, -1), 1), x.Compare(y))
		}
	}
}

func TestTopicID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := TopicID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		text := id.String()
		require.Len(t, text, 22)
		back, err := ParseTopicID(text)
		require.NoError(t, err)
		require.Equal(t, id, back)
	})
	assert.Equal(t, "AAAAAAAAAAAAAAAAAAAAAQ", MetadataTopicID.String())
	for _, bad := range []string{"", "AAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAA+/", "AAAAAAAAAAAAAAAAAAAAAR", "AAAAAAAAAAAAAAAAAAAA\n\n"} {
		_, err := ParseTopicID(bad)
		assert.Error(t, err, bad)
	}
	assert.True(t, TopicID{}.IsZero())
	assert.True(t, TopicID{}.IsReserved())
	assert.True(t, MetadataTopicID.IsReserved())
	assert.True(t, TopicID{0: 0xfb}.IsReserved(), "begins with a dash")
	assert.False(t, TopicID{0: 1}.IsReserved())
}

func TestNextSequence(t *testing.T) {
	assert.Equal(t, int32(5), NextSequence(2, 3))
	assert.Equal(t, int32(0), NextSequence(MaxSequence, 1))
	assert.Equal(t, int32(12), NextSequence(2147483640, 20))
	assert.Equal(t, MaxSequence, NextSequence(0, MaxSequence))
}
