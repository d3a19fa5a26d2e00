package config

// laterTable is what users' files commonly hold and what has no effect here: thread counts that Go does not need, and
// settings of rooms that do not exist yet. They are typed and validated all the same.
var laterTable = []Definition{
	inert("process.roles", List, "", Validator{}, "every process is broker and controller; without broker it is refused"),
	inert("controller.quorum.voters", List, "", Validator{}, "the quorum has one voter; others are refused"),
	inert("controller.quorum.bootstrap.servers", List, "", Validator{}, "the quorum has one voter; more than one is refused"),
	inert("inter.broker.listener.name", String, "", Validator{}, "brokers use the first listener"),
	inert("security.inter.broker.protocol", String, "PLAINTEXT", oneOf("PLAINTEXT"), "only PLAINTEXT is served"),
	inertDynamic("num.network.threads", Int, "3", atLeast(1), "threads"),
	inertDynamic("num.io.threads", Int, "8", atLeast(1), "threads"),
	inertDynamic("background.threads", Int, "10", atLeast(1), "threads"),
	inertDynamic("num.replica.fetchers", Int, "1", atLeast(1), "threads"),
	inert("num.replica.alter.log.dirs.threads", Int, "", atLeast(1), "threads"),
	inert("socket.listen.backlog.size", Int, "50", atLeast(1), "the system's choice is taken"),
	inert("request.timeout.ms", Int, "30000", atLeast(0), "requests between brokers"),
	inert("controlled.shutdown.max.retries", Int, "3", atLeast(0), "handing over leaderships"),
	inert("controlled.shutdown.retry.backoff.ms", Long, "5000", atLeast(0), "handing over leaderships"),
	inert("broker.heartbeat.interval.ms", Int, "2000", atLeast(1), "registration"),
	inert("broker.session.timeout.ms", Int, "9000", atLeast(1), "registration"),
	inert("controller.quorum.election.timeout.ms", Int, "1000", atLeast(1), "quorum"),
	inert("controller.quorum.fetch.timeout.ms", Int, "2000", atLeast(1), "quorum"),
	inert("controller.quorum.request.timeout.ms", Int, "2000", atLeast(1), "quorum"),
	inert("metadata.log.dir", String, "", Validator{}, "the metadata log lies in the first of log.dirs"),
	inert("auto.leader.rebalance.enable", Bool, "true", Validator{}, "preferred leaders"),
	inert("leader.imbalance.check.interval.seconds", Long, "300", atLeast(1), "preferred leaders"),
	inert("leader.imbalance.per.broker.percentage", Int, "10", atLeast(0), "preferred leaders"),
	inert("replica.lag.time.max.ms", Long, "30000", atLeast(1), "replication"),
	inert("replica.fetch.max.bytes", Int, "1048576", atLeast(0), "replication"),
	inert("replica.fetch.min.bytes", Int, "1", atLeast(0), "replication"),
	inert("replica.fetch.wait.max.ms", Int, "500", atLeast(0), "replication"),
	inert("replica.fetch.response.max.bytes", Int, "10485760", atLeast(0), "replication"),
	inert("replica.fetch.backoff.ms", Int, "1000", atLeast(0), "replication"),
	inert("replica.socket.timeout.ms", Int, "30000", atLeast(1), "replication"),
	inert("replica.socket.receive.buffer.bytes", Int, "65536", noLimitOr(1), "replication"),
	inert("replica.high.watermark.checkpoint.interval.ms", Long, "5000", atLeast(1), "replication"),
	inertDynamic("log.local.retention.ms", Long, "-2", atLeast(-2), "tiered storage"),
	inertDynamic("log.local.retention.bytes", Long, "-2", atLeast(-2), "tiered storage"),
	inertDynamic("log.remote.copy.lag.ms", Long, "0", atLeast(-1), "tiered storage"),
	inertDynamic("log.remote.copy.lag.bytes", Long, "-1", atLeast(-1), "tiered storage"),
	inert("group.initial.rebalance.delay.ms", Int, "3000", atLeast(0), "consumer groups"),
	inert("group.min.session.timeout.ms", Int, "6000", atLeast(0), "consumer groups"),
	inert("group.max.session.timeout.ms", Int, "1800000", atLeast(0), "consumer groups"),
	inert("group.max.size", Int, "2147483647", atLeast(1), "consumer groups"),
	inert("group.coordinator.rebalance.protocols", List, "classic,consumer,streams", Validator{}, "consumer groups"),
	inert("offset.metadata.max.bytes", Int, "4096", atLeast(0), "consumer groups"),
	inert("offsets.commit.timeout.ms", Int, "5000", atLeast(1), "consumer groups"),
	inert("offsets.load.buffer.size", Int, "5242880", atLeast(1), "consumer groups"),
	inert("offsets.retention.minutes", Int, "10080", atLeast(1), "consumer groups"),
	inert("offsets.retention.check.interval.ms", Long, "600000", atLeast(1), "consumer groups"),
	inert("offsets.topic.num.partitions", Int, "50", atLeast(1), "consumer groups"),
	inert("offsets.topic.replication.factor", Int, "3", between(1, 32767), "consumer groups"),
	inert("offsets.topic.segment.bytes", Int, "104857600", atLeast(1), "consumer groups"),
	inert("offsets.topic.compression.codec", Int, "0", between(0, 4), "consumer groups"),
	inert("transaction.max.timeout.ms", Int, "900000", atLeast(1), "transactions"),
	inert("transactional.id.expiration.ms", Int, "604800000", atLeast(1), "transactions"),
	inert("transaction.state.log.num.partitions", Int, "50", atLeast(1), "transactions"),
	inert("transaction.state.log.replication.factor", Int, "3", between(1, 32767), "transactions"),
	inert("transaction.state.log.min.isr", Int, "2", atLeast(1), "transactions"),
	inert("transaction.state.log.segment.bytes", Int, "104857600", atLeast(1), "transactions"),
	inert("share.coordinator.state.topic.replication.factor", Int, "3", between(1, 32767), "share groups"),
	inert("share.coordinator.state.topic.min.isr", Int, "2", atLeast(1), "share groups"),
	inert("share.coordinator.state.topic.num.partitions", Int, "50", atLeast(1), "share groups"),
	inert("metrics.num.samples", Int, "2", atLeast(1), "metrics"),
	inert("metrics.sample.window.ms", Long, "30000", atLeast(1), "metrics"),
	inertDynamic("metric.reporters", List, "", Validator{}, "metrics"),
	inertDynamic("leader.replication.throttled.rate", Long, "9223372036854775807", atLeast(0), "replication"),
	inertDynamic("follower.replication.throttled.rate", Long, "9223372036854775807", atLeast(0), "replication"),
	inertDynamic("replica.alter.log.dirs.io.max.bytes.per.second", Long, "9223372036854775807", atLeast(0), "moving logs"),
}

// inertDynamic may change while the broker runs, as in Kafka, with as little effect.
func inertDynamic(name string, t Type, def string, v Validator, doc string) Definition {
	d := inert(name, t, def, v, doc)
	d.Dynamic = true
	return d
}

func inert(name string, t Type, def string, v Validator, doc string) Definition {
	return Definition{
		Name: name, Type: t, Default: def, Validator: v, Scope: ScopeBroker, Inert: true, Doc: "accepted, without effect: " + doc,
	}
}
