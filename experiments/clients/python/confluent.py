"""librdkafka, current, through confluent-kafka."""

import confluent_kafka as ck
import job as jobs


def produce(job):
    p = ck.Producer({"bootstrap.servers": job["bootstrap"], "acks": "all", "enable.idempotence": True,
                     "compression.type": job["codec"], "linger.ms": 20, "queue.buffering.max.messages": 200_000})
    done = jobs.tallies(job)
    errors = []

    def delivered(err, m):
        if err is not None:
            errors.append(err)
        else:
            done[m.partition()].acked(m.offset())

    for i in range(job["records"]):
        p.produce(job["topic"], value=jobs.value(i), key=jobs.key(i), partition=i % job["partitions"],
                  timestamp=job["start"] + i, headers=[("topic", job["topic"].encode())], on_delivery=delivered)
        if i % 1000 == 0:
            p.poll(0)
    left = p.flush(60)
    if errors or left:
        raise RuntimeError(f"{left} are not delivered, errors {errors[:3]}")
    return done


def consume(job):
    # The binding asks for a group's name; nothing joins a group or commits.
    c = ck.Consumer({"bootstrap.servers": job["bootstrap"], "group.id": "unused", "enable.auto.commit": False,
                     "auto.offset.reset": "error"})
    done = jobs.tallies(job)
    parts = [ck.TopicPartition(job["topic"], p, ck.OFFSET_BEGINNING) for p in range(job["partitions"])]
    ends = [c.get_watermark_offsets(p, timeout=30)[1] for p in parts]
    c.assign(parts)
    while any(t.result["last"] < end - 1 for t, end in zip(done, ends)):
        batch = c.consume(5000, timeout=30)
        if not batch:
            raise RuntimeError("nothing comes for 30 s")
        for m in batch:
            if m.error():
                raise RuntimeError(m.error())
            done[m.partition()].add(m.offset(), m.timestamp()[1], m.key(), m.value(), m.headers() or [])
    c.close()
    return done


jobs.serve("confluent-kafka", ck.__version__, produce, consume)
