"""kafka-python, current or before it knew idempotence."""

import kafka
import job as jobs

IDEMPOTENT = "enable_idempotence" in kafka.KafkaProducer.DEFAULT_CONFIG


def produce(job):
    p = kafka.KafkaProducer(bootstrap_servers=job["bootstrap"], acks="all", linger_ms=20, batch_size=256 << 10,
                            compression_type=None if job["codec"] == "none" else job["codec"],
                            **({"enable_idempotence": True} if IDEMPOTENT else {}))
    futures = []
    for i in range(job["records"]):
        futures.append(p.send(job["topic"], value=jobs.value(i), key=jobs.key(i), partition=i % job["partitions"],
                              timestamp_ms=job["start"] + i, headers=[("topic", job["topic"].encode())]))
    p.flush(60)
    done = jobs.tallies(job)
    for f in futures:
        m = f.get(timeout=60)
        done[m.partition].acked(m.offset)
    p.close()
    return done


def consume(job):
    c = kafka.KafkaConsumer(bootstrap_servers=job["bootstrap"], enable_auto_commit=False, auto_offset_reset="earliest")
    done = jobs.tallies(job)
    parts = [kafka.TopicPartition(job["topic"], p) for p in range(job["partitions"])]
    ends = c.end_offsets(parts)
    c.assign(parts)
    c.seek_to_beginning(*parts)
    while any(done[p.partition].result["last"] < ends[p] - 1 for p in parts):
        batches = c.poll(30_000, max_records=5000)
        if not batches:
            raise RuntimeError("nothing comes for 30 s")
        for p, records in batches.items():
            for m in records:
                done[p.partition].add(m.offset, m.timestamp, m.key, m.value, m.headers)
    c.close()
    return done


jobs.serve("kafka-python", kafka.__version__, produce, consume, IDEMPOTENT)
