import { connect } from 'node:net'
import type { Document } from 'bson'
import { Decimal128, deserialize, Long, ObjectId, serialize } from 'bson'
import type { Test } from 'tap'
import t from 'tap'
import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'
import { openClient } from './open-database.ts'

const OP_MSG = 2013
const SEED = 20_261_121

/** Returns numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function toMessage(body: Document): Buffer {
  const bson = serialize({ ...body, $db: 'test' })
  const message = Buffer.alloc(21 + bson.length)
  message.writeInt32LE(message.length, 0)
  message.writeInt32LE(7, 4)
  message.writeInt32LE(OP_MSG, 12)
  message.set(bson, 21)
  return message
}

const BODIES: readonly Document[] = [
  { hello: 1 },
  { find: 'c', filter: { a: { $gt: 1, $in: [1, 'x'] }, $or: [{ b: /x/i }] }, sort: { a: 1 } },
  { find: 'c', filter: { $expr: { $map: { input: [1], in: { $add: ['$$this', '$a'] } } } } },
  { insert: 'c', documents: [{ _id: 'x', a: [1, { b: null }], d: new Date(0) }], ordered: false },
  { update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { 'a.b': 1 }, $push: { l: 1 } } }] },
  { update: 'c', updates: [{ q: {}, u: [{ $set: { a: { $toString: '$a' } } }], multi: true }] },
  { delete: 'c', deletes: [{ q: { a: 1 }, limit: 1, collation: { locale: 'en' } }] },
  { findAndModify: 'c', query: { a: 1 }, update: { $inc: { a: 1 } }, fields: { a: 1 }, new: true },
  {
    aggregate: 'c',
    pipeline: [
      { $match: { a: 1 } },
      { $group: { _id: '$a', n: { $sum: 1 } } },
      { $lookup: { from: 'c', localField: 'a', foreignField: 'a', as: 'l' } },
      {
        $graphLookup: {
          from: 'c',
          startWith: '$a',
          connectFromField: 'a',
          connectToField: '_id',
          as: 'g',
          maxDepth: 2,
          depthField: 'd',
          restrictSearchWithMatch: { a: { $gt: 1 } },
        },
      },
    ],
    cursor: { batchSize: 2 },
  },
  { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a', unique: true, sparse: true }] },
  { getMore: Long.fromNumber(5), collection: 'c', batchSize: 3 },
  { killCursors: 'c', cursors: [Long.fromNumber(5)] },
  { distinct: 'c', key: 'a', query: { a: { $exists: true } } },
]

type Mutate = (message: Buffer, random: () => number) => Buffer

const at = (message: Buffer, random: () => number): number => Math.floor(random() * message.length)

const MUTATIONS: readonly Mutate[] = [
  (message, random) => {
    const copy = Buffer.from(message)
    for (let count = 1 + Math.floor(random() * 8); count > 0; count -= 1) {
      copy[at(copy, random)] = Math.floor(random() * 256)
    }
    return copy
  },
  // Beyond the header, so that the framing holds and the BSON gets it.
  (message, random) => {
    const copy = Buffer.from(message)
    const place = 16 + Math.floor(random() * (copy.length - 16))
    copy[place] = (copy[place] ?? 0) ^ (1 << Math.floor(random() * 8))
    return copy
  },
  (message, random) => message.subarray(0, at(message, random)),
  (message, random) => {
    const place = at(message, random)
    return Buffer.concat([message.subarray(0, place), message.subarray(at(message, random))])
  },
  (message, random) => {
    const copy = Buffer.from(message)
    copy.writeInt32LE(Math.floor(random() * 2 ** 32) | 0, at(copy.subarray(0, -4), random))
    return copy
  },
  (message, random) => Buffer.from(message).fill(Math.floor(random() * 256), at(message, random)),
  (_message, random) => Buffer.from(Array.from({ length: 64 }, () => Math.floor(random() * 256))),
]

/** Resolves to what came back when the connection has ended; nothing more is sent than this. */
function send(port: number, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(Buffer.concat(chunks)))
  })
}

async function sendAll(t: Test, count: number): Promise<void> {
  const server = await startEmbeddedMongo()
  t.teardown(() => server.close())
  const random = createRandom(SEED)
  const port = Number(new URL(server.url).port)
  for (let number = 0; number < count; number += 1) {
    const body = BODIES[number % BODIES.length] ?? {}
    const mutate = MUTATIONS[Math.floor(random() * MUTATIONS.length)]
    const message = toMessage(body)
    await send(port, mutate?.(Buffer.from(message), random) ?? message)
  }
  const reply = await send(port, toMessage({ ping: 1 }))
  t.match(deserialize(reply.subarray(21)), { ok: 1 }, `after ${count} messages, seed ${SEED}`)
}

t.test('no message, however broken, ends the process or holds it up', async (t) => {
  await sendAll(t, 600)
})

t.test('values of every type in every place of a command are answered', async (t) => {
  const client = await openClient(t)
  const random = createRandom(SEED)
  const values = [
    null,
    undefined,
    new Date(0),
    new ObjectId(),
    Long.MAX_VALUE,
    new Decimal128('1'),
    Number.NaN,
    -1,
    1.5,
    1e300,
    '',
    '$x',
    '$$x',
    'a.b',
    [],
    [[]],
    {},
    { $x: 1 },
    /x/,
    true,
  ]
  const codes = new Set<unknown>()
  for (let number = 0; number < 600; number += 1) {
    const body = replaceOne(structuredClone(serializable(number)), values, random)
    const reply = client.db('test').command(body)
    codes.add(
      await reply.then(
        ({ ok }) => ok,
        ({ code }) => code,
      ),
    )
  }
  t.notOk(codes.has(8), 'and none with an error that nobody has thought of')
  t.notOk(codes.has(undefined), 'and no connection was lost')
})

function serializable(number: number): Document {
  return BODIES.filter((body) => !('getMore' in body || 'killCursors' in body))[number % 11] ?? {}
}

/** Returns a document in which one value, anywhere, is another one. */
function replaceOne(source: Document, values: readonly unknown[], random: () => number): Document {
  const places: (readonly [Document, string])[] = []
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || value instanceof RegExp) return
    for (const [name, child] of Object.entries(value)) {
      places.push([value, name])
      collect(child)
    }
  }
  collect(source)
  const [holder, name] = places[Math.floor(random() * places.length)] ?? [source, 'x']
  holder[name] = values[Math.floor(random() * values.length)]
  return source
}
