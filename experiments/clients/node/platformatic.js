// @platformatic/kafka. Its consumer's streams join a group, its fetch does not.
import { Consumer, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka'
import * as jobs from './job.js'

async function produce (job) {
  const producer = new Producer({
    clientId: 'platformatic', bootstrapBrokers: [job.bootstrap], serializers: stringSerializers, idempotent: true
  })
  const done = jobs.tallies(job)
  const chunk = 9000 // below max.message.bytes in each partition
  for (let i = 0; i < job.records; i += chunk) {
    const messages = []
    for (let j = i; j < Math.min(i + chunk, job.records); j++) {
      messages.push({
        topic: job.topic, key: jobs.key(j), value: jobs.value(j), partition: j % job.partitions,
        timestamp: BigInt(job.start + j), headers: { topic: job.topic }
      })
    }
    const { offsets } = await producer.send({ messages, acks: -1, compression: job.codec })
    for (const { partition, offset } of offsets) {
      done[partition].acked(Number(offset), messages.filter(m => m.partition === partition).length)
    }
  }
  await producer.close()
  return done
}

async function consume (job) {
  const consumer = new Consumer({
    clientId: 'platformatic', groupId: 'unused', bootstrapBrokers: [job.bootstrap], deserializers: stringDeserializers,
    isolationLevel: 1
  })
  const metadata = await consumer.metadata({ topics: [job.topic] })
  const topicId = metadata.topics.get(job.topic).id
  const node = metadata.topics.get(job.topic).partitions[0].leader
  const ends = (await consumer.listOffsets({ topics: [job.topic] })).get(job.topic)
  const done = jobs.tallies(job)
  for (;;) {
    const partitions = done.map((t, p) => ({
      partition: p,
      currentLeaderEpoch: -1,
      fetchOffset: BigInt(t.result.last + 1),
      lastFetchedEpoch: -1,
      partitionMaxBytes: 1 << 20
    })).filter(p => p.fetchOffset < ends[p.partition])
    if (partitions.length === 0) break
    const response = await consumer.fetch({
      node, topics: [{ topicId, partitions }], minBytes: 1, maxBytes: 4 << 20, maxWaitTime: 1000
    })
    for (const p of response.responses.flatMap(r => r.partitions)) {
      for (const batch of p.records ?? []) add(done[p.partitionIndex], batch)
    }
  }
  await consumer.close()
  return done
}

// A fetch may begin inside a batch: what is known already is left out.
function add (tally, batch) {
  for (const r of batch.records) {
    const offset = Number(batch.firstOffset) + r.offsetDelta
    if (offset <= tally.result.last) continue
    const named = r.headers.length === 1 && String(r.headers[0][0]) === 'topic'
    const header = named ? String(r.headers[0][1]) : r.headers.join()
    tally.add(offset, Number(batch.firstTimestamp + r.timestampDelta), r.key, r.value, header)
  }
}

await jobs.serve({
  client: 'platformatic',
  version: jobs.installed('@platformatic/kafka'),
  codecs: ['none', 'gzip', 'snappy', 'lz4', 'zstd'],
  idempotent: true,
  reads: true,
  stamps: true
}, { produce, consume })
