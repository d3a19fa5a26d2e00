// What the Node clients share: jobs and records as ../driver/driver.go describes them.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import zlib from 'node:zlib'

export const key = i => 'k' + i
export const value = i => (i % 1000 === 999 ? null : i + ':' + 'abcdefghij'.repeat(i % 13))

// One partition in the order in which it is read, or acknowledged. Offsets and timestamps are numbers.
export class Tally {
  #start
  result = { count: 0, first: -1, last: -1, sum: 0, stamps: 0, gaps: 0 }

  constructor (job) {
    this.#start = job.start
  }

  add (offset, timestamp, key, value, header) {
    const r = this.result
    if (r.count > 0 && offset !== r.last + 1) r.gaps++
    this.acked(offset, 1)
    r.sum = zlib.crc32(`${key}=${value ?? '~'};${header}\n`, r.sum)
    r.stamps += timestamp - this.#start
  }

  // count records are acknowledged, the first of them at offset.
  acked (offset, count) {
    const r = this.result
    r.first = r.first < 0 ? offset : Math.min(r.first, offset)
    r.last = Math.max(r.last, offset + count - 1)
    r.count += count
  }
}

export const tallies = job => Array.from({ length: job.partitions }, () => new Tally(job))

export const installed = name =>
  JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url))).version

// Says hello and does the jobs of standard input until it ends. Each function takes a job and returns its tallies.
export async function serve (hello, does) {
  say(hello)
  for await (const line of createInterface({ input: process.stdin })) {
    const job = JSON.parse(line)
    try {
      const done = await does[job.op](job)
      say({ partitions: done.map(t => t.result) })
    } catch (e) {
      say({ error: String(e?.stack ?? e) + (e?.errors ?? []).map(x => '; ' + x).join('') })
    }
  }
}

const say = what => process.stdout.write(JSON.stringify(what) + '\n')
