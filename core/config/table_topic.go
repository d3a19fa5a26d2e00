package config

// topicTable is what a topic may set for itself. A topic setting without a broker-level synonym has its own default.
var topicTable = []Definition{
	{Name: "segment.bytes", Type: Int, Default: "1073741824", Validator: atLeast(1 << 20), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.segment.bytes"}, Doc: "a segment is rolled before it grows beyond this"},
	{Name: "internal.segment.bytes", Type: Int, Validator: atLeast(14), Scope: ScopeBoth, Dynamic: true, Synonyms: []string{"internal.segment.bytes"}, Doc: "segment.bytes without its lower limit, for tests; wins over it"},
	{Name: "segment.ms", Type: Long, Default: "604800000", Validator: atLeast(1), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.roll.ms", "log.roll.hours"}, Doc: "a segment is rolled after this time"},
	{Name: "segment.jitter.ms", Type: Long, Default: "0", Validator: atLeast(0), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.roll.jitter.ms", "log.roll.jitter.hours"}, Doc: "up to this much is taken off segment.ms"},
	{Name: "segment.index.bytes", Type: Int, Default: "10485760", Validator: atLeast(4), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.index.size.max.bytes"}, Doc: "a segment is rolled when an index is this large"},
	{Name: "index.interval.bytes", Type: Int, Default: "4096", Validator: atLeast(0), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.index.interval.bytes"}, Doc: "bytes of log between two index entries"},
	{Name: "flush.messages", Type: Long, Default: "9223372036854775807", Validator: atLeast(1), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.flush.interval.messages"}, Doc: "fsync after this many records"},
	{Name: "flush.ms", Type: Long, Default: "9223372036854775807", Validator: atLeast(0), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.flush.interval.ms", "log.flush.scheduler.interval.ms"}, Doc: "fsync after this time"},
	{Name: "retention.ms", Type: Long, Default: "604800000", Validator: atLeast(-1), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"}, Doc: "a segment is deleted when its newest record is older; -1 never"},
	{Name: "retention.bytes", Type: Long, Default: "-1", Validator: atLeast(-1), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.retention.bytes"}, Doc: "the oldest segments are deleted while the rest has this size; -1 never"},
	{Name: "file.delete.delay.ms", Type: Long, Default: "60000", Validator: atLeast(0), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.segment.delete.delay.ms"}, Doc: "a deleted file is removed after this time"},
	{Name: "cleanup.policy", Type: List, Default: "delete", Validator: someOf("delete", "compact"), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.cleanup.policy"}, Doc: "what happens to old segments; with neither they stay"},
	{Name: "delete.retention.ms", Type: Long, Default: "86400000", Validator: atLeast(0), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.cleaner.delete.retention.ms"}, Doc: "how long compaction keeps tombstones"},
	{Name: "min.cleanable.dirty.ratio", Type: Double, Default: "0.5", Validator: share(), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.cleaner.min.cleanable.ratio"}, Doc: "compaction waits for this share of unclean bytes"},
	{Name: "min.compaction.lag.ms", Type: Long, Default: "0", Validator: atLeast(0), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.cleaner.min.compaction.lag.ms"}, Doc: "younger records are not compacted"},
	{Name: "max.compaction.lag.ms", Type: Long, Default: "9223372036854775807", Validator: atLeast(1), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.cleaner.max.compaction.lag.ms"}, Doc: "older records are compacted whatever the ratio"},
	{Name: "max.message.bytes", Type: Int, Default: "1048588", Validator: atLeast(0), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"message.max.bytes"}, Doc: "largest batch; a larger one is MESSAGE_TOO_LARGE"},
	{Name: "message.timestamp.type", Type: String, Default: "CreateTime", Validator: oneOf("CreateTime", "LogAppendTime"), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.message.timestamp.type"}, Doc: "whose clock a record's timestamp is"},
	{Name: "message.timestamp.before.max.ms", Type: Long, Default: "9223372036854775807", Validator: atLeast(0), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.message.timestamp.before.max.ms"}, Doc: "an older timestamp is INVALID_TIMESTAMP (KIP-937)"},
	{Name: "message.timestamp.after.max.ms", Type: Long, Default: "3600000", Validator: atLeast(0), Scope: ScopeTopic, Dynamic: true, Synonyms: []string{"log.message.timestamp.after.max.ms"}, Doc: "a timestamp further ahead is INVALID_TIMESTAMP (KIP-937)"},
	{Name: "preallocate", Type: Bool, Default: "false", Scope: ScopeTopic, Dynamic: true, Inert: true, Synonyms: []string{"log.preallocate"}, Doc: "files are never preallocated: the simulated disk has no such call"},

	{Name: "compression.type", Type: String, Default: "producer", Validator: oneOf("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"), Scope: ScopeBoth, Dynamic: true, Synonyms: []string{"compression.type"}, Doc: "what batches are compressed with in the log; producer: as they came"},
	{Name: "compression.gzip.level", Type: Int, Default: "-1", Validator: gzipLevel(), Scope: ScopeBoth, Dynamic: true, Synonyms: []string{"compression.gzip.level"}, Doc: "level of gzip under compression.type=gzip (KIP-390)"},
	{Name: "compression.lz4.level", Type: Int, Default: "9", Validator: between(1, 17), Scope: ScopeBoth, Dynamic: true, Synonyms: []string{"compression.lz4.level"}, Doc: "level of lz4 under compression.type=lz4; 9 is the fast one (KIP-390)"},
	{Name: "compression.zstd.level", Type: Int, Default: "3", Validator: between(-131072, 22), Scope: ScopeBoth, Dynamic: true, Synonyms: []string{"compression.zstd.level"}, Doc: "level of zstd under compression.type=zstd (KIP-390)"},
	{Name: "min.insync.replicas", Type: Int, Default: "1", Validator: atLeast(1), Scope: ScopeBoth, Dynamic: true, Synonyms: []string{"min.insync.replicas"}, Doc: "with fewer, acks=all is NOT_ENOUGH_REPLICAS"},
	{Name: "unclean.leader.election.enable", Type: Bool, Default: "false", Scope: ScopeBoth, Dynamic: true, Synonyms: []string{"unclean.leader.election.enable"}, Doc: "a replica outside the ISR may lead: loses data"},

	{Name: "leader.replication.throttled.replicas", Type: List, Scope: ScopeTopic, Dynamic: true, Inert: true, Doc: "replicas whose leader is throttled"},
	{Name: "follower.replication.throttled.replicas", Type: List, Scope: ScopeTopic, Dynamic: true, Inert: true, Doc: "replicas whose follower is throttled"},
	{Name: "remote.storage.enable", Type: Bool, Default: "false", Validator: Validator{Range: "only false: there is no tiered storage", ok: func(v value) bool { return !v.truth }}, Scope: ScopeTopic, Dynamic: true, Inert: true, Doc: "tiered storage"},
	{Name: "local.retention.ms", Type: Long, Default: "-2", Validator: atLeast(-2), Scope: ScopeTopic, Dynamic: true, Inert: true, Doc: "retention.ms of the local part under tiered storage"},
	{Name: "local.retention.bytes", Type: Long, Default: "-2", Validator: atLeast(-2), Scope: ScopeTopic, Dynamic: true, Inert: true, Doc: "retention.bytes of the local part under tiered storage"},
}
