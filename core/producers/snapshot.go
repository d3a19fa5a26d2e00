package producers

// AppendSnapshot appends the bytes of Kafka's file <offset>.snapshot, version 1, big-endian:
//
//	i16 version, u32 crc-32c of what follows, i32 count, then for each producer
//	i64 id, i16 epoch, i32 last sequence, i64 last offset, i32 offset delta, i64 timestamp, i32 coordinator epoch,
//	i64 first offset of the open transaction or -1
//
// Only the last batch of each producer survives; producers without a batch and without a transaction are kept with
// sequence -1.
func (s *State) AppendSnapshot(b []byte) []byte { panic("producers: AppendSnapshot") }

// ParseSnapshot reads what AppendSnapshot writes. Anything else is an error: the caller then takes an older snapshot,
// or replays the log from its start.
func ParseSnapshot(rules Rules, b []byte) (*State, error) { panic("producers: ParseSnapshot") }
