package kafka

import "unicode/utf16"

// Murmur2 is the hash of Kafka's default partitioner.
func Murmur2(key []byte) int32 {
	const m, r = 0x5bd1e995, 24
	h := uint32(0x9747b28c) ^ uint32(len(key))
	for len(key) >= 4 {
		k := uint32(key[0]) | uint32(key[1])<<8 | uint32(key[2])<<16 | uint32(key[3])<<24
		k *= m
		k ^= k >> r
		k *= m
		h = h*m ^ k
		key = key[4:]
	}
	for i := len(key) - 1; i >= 0; i-- {
		h ^= uint32(key[i]) << (8 * i)
	}
	if len(key) > 0 {
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return int32(h)
}

// PartitionForKey is where Kafka's default partitioner puts a key that is not null; partitions > 0.
func PartitionForKey(key []byte, partitions int32) PartitionID {
	return (Murmur2(key) & 0x7fffffff) % partitions
}

// JavaStringHash is java.lang.String.hashCode: over UTF-16 code units.
func JavaStringHash(s string) int32 {
	var h int32
	for _, r := range s {
		if hi, lo := utf16.EncodeRune(r); hi != 0xfffd || lo != 0xfffd {
			h = 31*h + hi
			h = 31*h + lo
			continue
		}
		h = 31*h + r
	}
	return h
}

// CoordinatorPartition is the partition of __consumer_offsets or __transaction_state that owns a group or
// transactional id; partitions > 0.
func CoordinatorPartition(id string, partitions int32) PartitionID {
	h := JavaStringHash(id)
	if h == -1<<31 {
		return 0
	}
	return max(h, -h) % partitions
}
