package config

// identityTable is who a broker is and where it keeps and serves things.
var identityTable = []Definition{
	{Name: "node.id", Type: Int, Validator: atLeast(0), Scope: ScopeBroker, Doc: "id of this broker, unique in the cluster; required"},
	{Name: "broker.id", Type: Int, Validator: atLeast(-1), Scope: ScopeBroker, Doc: "former name of node.id, used when that is absent"},
	{Name: "log.dirs", Type: List, Validator: distinct(), Scope: ScopeBroker, Doc: "directories of the logs; log.dir when absent"},
	{Name: "log.dir", Type: String, Default: "/tmp/kafka-logs", Validator: nonEmpty(), Scope: ScopeBroker, Doc: "directory of the logs when log.dirs is absent"},
	{Name: "listeners", Type: List, Default: "PLAINTEXT://:9092", Validator: distinct(), Scope: ScopeBroker, Doc: "NAME://host:port to listen on; an empty host is all interfaces, port 0 any free one"},
	{Name: "advertised.listeners", Type: List, Validator: distinct(), Scope: ScopeBroker, Doc: "NAME://host:port that clients dial; listeners when absent"},
	{Name: "listener.security.protocol.map", Type: List, Default: "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", Scope: ScopeBroker, Doc: "protocol of each listener name; only PLAINTEXT is served"},
	{Name: "controller.listener.names", Type: List, Scope: ScopeBroker, Doc: "names of the listeners for controllers; not given to clients"},
	{Name: "broker.rack", Type: String, Scope: ScopeBroker, Doc: "rack of this broker"},
	{Name: "trialog.cluster.id", Type: String, Validator: clusterID(), Scope: ScopeBroker, Doc: "cluster id for a fresh data directory; a random one when absent"},
	{Name: "trialog.rules.off", Type: List, Validator: rules(), Scope: ScopeBroker, Doc: "safety rules to switch off, as room.rule: for experiments, loses data"},
	{Name: "num.partitions", Type: Int, Default: "1", Validator: atLeast(1), Scope: ScopeBroker, Doc: "partitions of a topic made without a number"},
	{Name: "default.replication.factor", Type: Int, Default: "1", Validator: between(1, 32767), Scope: ScopeBroker, Doc: "replicas of a topic made without a number"},
	{Name: "auto.create.topics.enable", Type: Bool, Default: "true", Scope: ScopeBroker, Doc: "Metadata requests may create topics"},
	{Name: "delete.topic.enable", Type: Bool, Default: "true", Scope: ScopeBroker, Doc: "DeleteTopics is served"},
	{Name: "controlled.shutdown.enable", Type: Bool, Default: "true", Scope: ScopeBroker, Doc: "a clean stop hands over leaderships first"},
}

// networkTable is connections and requests.
var networkTable = []Definition{
	{Name: "socket.request.max.bytes", Type: Int, Default: "104857600", Validator: atLeast(1), Scope: ScopeBroker, Doc: "longest request frame; a longer one closes the connection"},
	{Name: "socket.send.buffer.bytes", Type: Int, Default: "102400", Validator: noLimitOr(1), Scope: ScopeBroker, Doc: "SO_SNDBUF; -1 leaves the system's choice"},
	{Name: "socket.receive.buffer.bytes", Type: Int, Default: "102400", Validator: noLimitOr(1), Scope: ScopeBroker, Doc: "SO_RCVBUF; -1 leaves the system's choice"},
	{Name: "queued.max.requests", Type: Int, Default: "500", Validator: atLeast(1), Scope: ScopeBroker, Doc: "requests in work before connections are read no more"},
	{Name: "max.connections", Type: Int, Default: "2147483647", Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "connections of the broker"},
	{Name: "max.connections.per.ip", Type: Int, Default: "2147483647", Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "connections of one address"},
	{Name: "connections.max.idle.ms", Type: Long, Default: "600000", Validator: noLimitOr(0), Scope: ScopeBroker, Doc: "an idle connection is closed after this time"},
	{Name: "fetch.max.bytes", Type: Int, Default: "57671680", Validator: atLeast(1024), Scope: ScopeBroker, Doc: "most bytes of records in one Fetch response"},
	{Name: "max.incremental.fetch.session.cache.slots", Type: Int, Default: "1000", Validator: atLeast(0), Scope: ScopeBroker, Doc: "fetch sessions kept"},
}

// logTable is the logs of a broker, and the defaults of its topics.
var logTable = []Definition{
	{Name: "message.max.bytes", Type: Int, Default: "1048588", Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "default of max.message.bytes"},
	{Name: "log.segment.bytes", Type: Int, Default: "1073741824", Validator: atLeast(1 << 20), Scope: ScopeBroker, Dynamic: true, Doc: "default of segment.bytes"},
	{Name: "log.roll.ms", Type: Long, Validator: atLeast(1), Scope: ScopeBroker, Dynamic: true, Doc: "default of segment.ms; log.roll.hours when absent"},
	{Name: "log.roll.hours", Type: Int, Default: "168", Validator: atLeast(1), Scope: ScopeBroker, Doc: "default of segment.ms, in hours"},
	{Name: "log.roll.jitter.ms", Type: Long, Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "default of segment.jitter.ms; log.roll.jitter.hours when absent"},
	{Name: "log.roll.jitter.hours", Type: Int, Default: "0", Validator: atLeast(0), Scope: ScopeBroker, Doc: "default of segment.jitter.ms, in hours"},
	{Name: "log.index.interval.bytes", Type: Int, Default: "4096", Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "default of index.interval.bytes"},
	{Name: "log.index.size.max.bytes", Type: Int, Default: "10485760", Validator: atLeast(4), Scope: ScopeBroker, Dynamic: true, Doc: "default of segment.index.bytes"},
	{Name: "log.flush.interval.messages", Type: Long, Default: "9223372036854775807", Validator: atLeast(1), Scope: ScopeBroker, Dynamic: true, Doc: "default of flush.messages"},
	{Name: "log.flush.interval.ms", Type: Long, Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "default of flush.ms; log.flush.scheduler.interval.ms when absent"},
	{Name: "log.flush.scheduler.interval.ms", Type: Long, Default: "9223372036854775807", Validator: atLeast(1), Scope: ScopeBroker, Doc: "how often logs are looked at for flush.ms"},
	{Name: "log.flush.offset.checkpoint.interval.ms", Type: Int, Default: "60000", Validator: atLeast(0), Scope: ScopeBroker, Doc: "how often the recovery points are written"},
	{Name: "log.flush.start.offset.checkpoint.interval.ms", Type: Int, Default: "60000", Validator: atLeast(0), Scope: ScopeBroker, Doc: "how often the log start offsets are written"},
	{Name: "log.retention.ms", Type: Long, Validator: noLimitOr(1), Scope: ScopeBroker, Dynamic: true, Doc: "default of retention.ms; log.retention.minutes when absent"},
	{Name: "log.retention.minutes", Type: Int, Validator: noLimitOr(1), Scope: ScopeBroker, Doc: "default of retention.ms, in minutes; log.retention.hours when absent"},
	{Name: "log.retention.hours", Type: Int, Default: "168", Validator: noLimitOr(1), Scope: ScopeBroker, Doc: "default of retention.ms, in hours"},
	{Name: "log.retention.bytes", Type: Long, Default: "-1", Validator: atLeast(-1), Scope: ScopeBroker, Dynamic: true, Doc: "default of retention.bytes"},
	{Name: "log.retention.check.interval.ms", Type: Long, Default: "300000", Validator: atLeast(1), Scope: ScopeBroker, Doc: "how often old segments are looked for"},
	{Name: "log.segment.delete.delay.ms", Type: Long, Default: "60000", Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "default of file.delete.delay.ms"},
	{Name: "log.cleanup.policy", Type: List, Default: "delete", Validator: someOf("delete", "compact"), Scope: ScopeBroker, Dynamic: true, Doc: "default of cleanup.policy"},
	{Name: "log.cleaner.delete.retention.ms", Type: Long, Default: "86400000", Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "default of delete.retention.ms"},
	{Name: "log.cleaner.min.cleanable.ratio", Type: Double, Default: "0.5", Validator: share(), Scope: ScopeBroker, Dynamic: true, Doc: "default of min.cleanable.dirty.ratio"},
	{Name: "log.cleaner.min.compaction.lag.ms", Type: Long, Default: "0", Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "default of min.compaction.lag.ms"},
	{Name: "log.cleaner.max.compaction.lag.ms", Type: Long, Default: "9223372036854775807", Validator: atLeast(1), Scope: ScopeBroker, Dynamic: true, Doc: "default of max.compaction.lag.ms"},
	{Name: "log.preallocate", Type: Bool, Default: "false", Scope: ScopeBroker, Dynamic: true, Inert: true, Doc: "default of preallocate"},
	{Name: "log.message.timestamp.type", Type: String, Default: "CreateTime", Validator: oneOf("CreateTime", "LogAppendTime"), Scope: ScopeBroker, Dynamic: true, Doc: "default of message.timestamp.type"},
	{Name: "log.message.timestamp.before.max.ms", Type: Long, Default: "9223372036854775807", Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "default of message.timestamp.before.max.ms"},
	{Name: "log.message.timestamp.after.max.ms", Type: Long, Default: "3600000", Validator: atLeast(0), Scope: ScopeBroker, Dynamic: true, Doc: "default of message.timestamp.after.max.ms"},
	{Name: "producer.id.expiration.ms", Type: Int, Default: "86400000", Validator: atLeast(1), Scope: ScopeBroker, Dynamic: true, Doc: "an idle producer id is forgotten after this time"},
	{Name: "producer.id.expiration.check.interval.ms", Type: Int, Default: "600000", Validator: atLeast(1), Scope: ScopeBroker, Doc: "how often idle producer ids are looked for"},
}
