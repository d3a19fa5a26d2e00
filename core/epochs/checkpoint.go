package epochs

// AppendCheckpoint appends the text of Kafka's file leader-epoch-checkpoint:
//
//	0            version
//	<n>          number of entries
//	<epoch> <start offset>
func (c *Cache) AppendCheckpoint(b []byte) []byte { panic("epochs: AppendCheckpoint") }

// ParseCheckpoint reads what AppendCheckpoint writes. Anything else, an empty or half-written file for one, is an
// error with the line number: the caller must then rebuild the cache from the batches, never go on with an empty one
// (KAFKA-16541).
func ParseCheckpoint(text []byte) (*Cache, error) { panic("epochs: ParseCheckpoint") }
