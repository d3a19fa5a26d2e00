"""aiokafka."""

import asyncio

import aiokafka
import job as jobs


async def produce(job):
    p = aiokafka.AIOKafkaProducer(bootstrap_servers=job["bootstrap"], acks="all", enable_idempotence=True, linger_ms=20,
                                  max_batch_size=256 << 10,
                                  compression_type=None if job["codec"] == "none" else job["codec"])
    await p.start()
    done = jobs.tallies(job)
    try:
        futures = []
        for i in range(job["records"]):
            futures.append(await p.send(job["topic"], value=jobs.value(i), key=jobs.key(i), partition=i % job["partitions"],
                                        timestamp_ms=job["start"] + i, headers=[("topic", job["topic"].encode())]))
        await p.flush()
        for f in futures:
            m = await f
            done[m.partition].acked(m.offset)
    finally:
        await p.stop()
    return done


async def consume(job):
    c = aiokafka.AIOKafkaConsumer(bootstrap_servers=job["bootstrap"], enable_auto_commit=False)
    await c.start()
    done = jobs.tallies(job)
    try:
        parts = [aiokafka.TopicPartition(job["topic"], p) for p in range(job["partitions"])]
        ends = await c.end_offsets(parts)
        c.assign(parts)
        await c.seek_to_beginning(*parts)
        while any(done[p.partition].result["last"] < ends[p] - 1 for p in parts):
            batches = await c.getmany(timeout_ms=30_000, max_records=5000)
            if not batches:
                raise RuntimeError("nothing comes for 30 s")
            for p, records in batches.items():
                for m in records:
                    done[p.partition].add(m.offset, m.timestamp, m.key, m.value, m.headers)
    finally:
        await c.stop()
    return done


jobs.serve("aiokafka", aiokafka.__version__, lambda job: asyncio.run(produce(job)), lambda job: asyncio.run(consume(job)))
