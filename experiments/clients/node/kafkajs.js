// KafkaJS: gzip is its own, snappy its authors' package, zstd the runtime's, registered as its documentation shows. It
// has no consumer without a group.
import kafkajs from 'kafkajs'
import snappy from 'kafkajs-snappy'
import zlib from 'node:zlib'
import * as jobs from './job.js'

const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = kafkajs
CompressionCodecs[CompressionTypes.Snappy] = snappy
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => zlib.zstdCompressSync(encoder.buffer),
  decompress: async buffer => zlib.zstdDecompressSync(buffer)
})
const codecs = {
  none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, zstd: CompressionTypes.ZSTD
}

async function produce (job) {
  const kafka = new Kafka({ clientId: 'kafkajs', brokers: [job.bootstrap], logLevel: logLevel.ERROR })
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const done = jobs.tallies(job)
  const chunk = 9000 // below max.message.bytes in each partition
  for (let i = 0; i < job.records; i += chunk) {
    const messages = []
    for (let j = i; j < Math.min(i + chunk, job.records); j++) {
      messages.push({
        key: jobs.key(j), value: jobs.value(j), partition: j % job.partitions, timestamp: String(job.start + j),
        headers: { topic: job.topic }
      })
    }
    const sent = await producer.send({ topic: job.topic, acks: -1, compression: codecs[job.codec], messages })
    for (const { partition, baseOffset, errorCode } of sent) {
      if (errorCode !== 0) throw new Error(`partition ${partition}: error ${errorCode}`)
      done[partition].acked(Number(baseOffset), messages.filter(m => m.partition === partition).length)
    }
  }
  await producer.disconnect()
  return done
}

await jobs.serve({
  client: 'kafkajs',
  version: jobs.installed('kafkajs'),
  codecs: Object.keys(codecs),
  idempotent: true,
  reads: false,
  stamps: true
}, { produce })
