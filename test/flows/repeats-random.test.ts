import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Document } from 'mongodb'
import { Binary } from 'mongodb'
import t from 'tap'
import { createClient } from '../../src/client/index.ts'
import { openDatabase } from '../support/database.ts'
import { startDroppingProxy } from './repeats-random/dropping-proxy.ts'

// Processes are started and killed, and each of them takes its time.
t.setTimeout(600_000)

const SEED = Number(process.env.REPEATS_SEED ?? 20_261_126)
const WRITES = Number(process.env.REPEATS_WRITES ?? 300)
const PROCESSES = 4
const WORKERS = 16
const USERS = 3
/** A process is killed after so many writes. */
const KILL_EVERY = 120
const PROGRAM = fileURLToPath(new URL('./repeats-process.js', import.meta.url))

const { client: database, db, url } = await openDatabase(t)

/** Returns numbers from 0 to 1 that look random, and are the same for the same seed. */
function createChance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

interface Server {
  readonly child: ChildProcess
  readonly port: number
  /** What it has printed: its port, and the ids of its sessions. */
  readonly lines: readonly string[]
}

const children: ChildProcess[] = []
t.teardown(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function start(): Promise<Server> {
  const argument = JSON.stringify({ url, name: db.databaseName })
  const child = spawn(process.execPath, [PROGRAM, argument], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const lines: string[] = []
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
  await once(reader, 'line')
  return { child, port: Number(lines[0]), lines }
}

const servers = await Promise.all(Array.from({ length: PROCESSES }, start))
const counts = { created: 0, incremented: 0, set: 0, refused: 0, repeated: 0, running: 0, kills: 0 }

/**
 * Kills a process while it is at work, and starts another in its place. The database would end the transactions of
 * the process after a minute: that is not waited for.
 */
async function kill(at: number): Promise<void> {
  const { child, lines } = servers[at] as Server
  child.kill('SIGKILL')
  counts.kills += 1
  await once(child, 'close')
  const [_port, ...sessions] = lines
  const endSessions = sessions.map((id) => ({ id: new Binary(Buffer.from(id, 'hex'), 4) }))
  await database.db('admin').command({ endSessions })
  servers[at] = await start()
}

const proxy = await startDroppingProxy(t, () => servers.map(({ port }) => port), createChance(SEED))
const client = createClient({ baseURL: proxy.url, retries: 1, version: 'v' })
const counters = client.service('counters')

/** The tags of the writes, by what was answered. */
const tags = { done: [] as string[], refused: [] as string[] }
/** How many changes of each counter were answered by 2xx. */
const changes = new Map<string, number>()
let keys = 0

/** Sends a request until it is answered, by whichever process. Resolves to `null` where it is refused. */
async function insist(send: () => Promise<unknown>): Promise<Document | null> {
  for (;;) {
    try {
      return (await send()) as Document
    } catch (error) {
      const { code } = error as { readonly code: number }
      if (code === 412) return null
      assert.ok([408, 409, 503].includes(code), String(error))
      counts[code === 409 ? 'running' : 'repeated'] += 1
    }
  }
}

/** Sends a write with a key of its own until it is answered. */
async function write(
  user: string,
  run: (tag: string, params: object) => Promise<unknown>,
): Promise<Document | null> {
  keys += 1
  const tag = `${keys}`
  const params = { headers: { user, 'idempotency-key': tag } }
  const answer = await insist(() => run(tag, params))
  tags[answer === null ? 'refused' : 'done'].push(tag)
  return answer
}

async function create(user: string): Promise<void> {
  const created = await write(user, (tag, params) => counters.create({ n: 0, tag }, params))
  changes.set(created?.['_id'], 0)
  counts.created += 1
}

/** Increments a counter, which no other write can be in the way of. */
async function increment(id: string, user: string): Promise<void> {
  const patch = (tag: string, params: object) =>
    counters.patch(id, { $inc: { n: 1 }, tag } as object, params)
  assert.ok(await write(user, patch))
  changes.set(id, (changes.get(id) ?? 0) + 1)
  counts.incremented += 1
}

/** Reads a counter, and writes it back raised by one, for the version that was read. */
async function readAndSet(id: string, user: string): Promise<void> {
  for (;;) {
    const read = await insist(() => counters.get(id, { headers: { user } }))
    const { n, v } = read as Document
    const patch = (tag: string, params: object) =>
      counters.patch(id, { n: n + 1, tag }, { ...params, version: v })
    const written = await write(user, patch)
    if (written !== null) {
      assert.equal(written['v'], v + 1)
      break
    }
    counts.refused += 1
  }
  changes.set(id, (changes.get(id) ?? 0) + 1)
  counts.set += 1
}

async function work(next: () => number): Promise<void> {
  for (let index = next(); index < WRITES; index = next()) {
    const user = `user${index % USERS}`
    const ids = [...changes.keys()]
    const id = ids[index % ids.length]
    if (id === undefined || index % 20 === 0) await create(user)
    else if (index % 2 === 0) await readAndSet(id, user)
    else await increment(id, user)
  }
}

t.test('no effect is lost or doubled by lost answers and kills (IDEM-3, CRASH-4)', async (t) => {
  t.comment(`REPEATS_SEED=${SEED}`)
  let written = 0
  const kills: Promise<void>[] = []
  const next = (): number => {
    written += 1
    if (written % KILL_EVERY === 0) kills.push(kill(kills.length % PROCESSES))
    return written - 1
  }
  await Promise.all(Array.from({ length: WORKERS }, () => work(next)))
  await Promise.all(kills)
  const marks = await db.collection('marks').find().toArray()
  const marked = marks.map(({ tag }) => tag).sort()
  t.strictSame(marked, tags.done.sort(), 'each write that was answered was done once, and no other')
  const stored = await db.collection('counters').find().toArray()
  t.equal(stored.length, changes.size)
  for (const { _id, n, v } of stored) {
    const expected = changes.get(String(_id)) ?? -1
    t.strictSame([n, v], [expected, expected + 1], 'no update is lost')
  }
  const answers = await db.collection('repeats').countDocuments()
  t.equal(
    answers,
    tags.done.length,
    'an answer for each write, and none of those that were refused',
  )
  t.ok(proxy.counts.answer > 0 && proxy.counts.middle > 0 && counts.kills > 0)
  t.comment(JSON.stringify({ ...counts, requests: proxy.counts }))
})
