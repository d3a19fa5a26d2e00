// Package kafka is Kafka's vocabulary: the names, numbers and constants that every other room of the core speaks.
//
// It owns ids, epochs, offsets, topic partitions, topic ids, error codes, the two clocks of [Now], the rules for
// topic names, and Kafka's magic numbers. It never decides anything and holds no state. Every room imports it; it
// imports no room.
//
// Ids, epochs and offsets are aliases of the integers that the wire uses, so that they document a signature and cost
// no conversion at its border.
package kafka
