import type { Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'

import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'
import type { ProxiedConnection } from '../../support/fault-proxy.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { Gate } from '../../support/gate.ts'
import type { Answer, TestScope } from '../../support/http.ts'
import { startNotes } from '../../support/notes-server.ts'
import { asStandalone, keepJournal, startScriptedServer } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

/** For tests of what breaks, and not of how long it takes to be whole again. */
const PATIENT = {
  serverSelectionTimeoutMS: 60_000,
  connectTimeoutMS: 60_000,
  waitQueueTimeoutMS: 60_000,
}

/**
 * For what breaks while a command is written: the driver may wait for the buffer of a socket that is
 * closed already, and such a call is ended by its time limit.
 */
const LIMITED = { handlerTimeoutMs: 10_000 }

const UNKNOWN = { status: 503, body: { errors: { outcome: 'unknown' } } }

/** Opens a replica set of one, a proxy before it, and a way past the proxy. */
async function startDatabase(t: TestScope) {
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const proxy = await startFaultProxy(t, embedded.url)
  const direct = new MongoClient(embedded.url)
  t.teardown(() => direct.close())
  return { proxy, stored: direct.db('a').collection<{ n: number }>('notes') }
}

/** Runs a function for each number below `count`, so many at the same time. */
async function runEach(count: number, atOnce: number, run: (n: number) => Promise<unknown>) {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) await run(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

function toName(body: unknown): unknown {
  return (body as { readonly name?: unknown }).name
}

t.test('what is acknowledged while sockets break is stored, and stored once (DB-2)', async (t) => {
  const { proxy, stored } = await startDatabase(t)
  const { server } = await startNotes(t, proxy.url, {}, LIMITED)
  const answers = new Map<number, Answer>()
  const breakAll = (): void => {
    // Replies of commands that were carried out are lost, and so is the second attempt of some.
    proxy.loseReply('insert', 2)
    proxy.loseCommand('insert', 1)
    proxy.reset()
  }
  await runEach(1_000, 50, async (n) => {
    if (n > 0 && n % 200 === 0) breakAll()
    answers.set(n, await server.request('/notes', { data: { n } }))
  })
  const records = (await stored.find().toArray()).map(({ n }) => n)
  const kept = new Set(records)
  t.equal(records.length, kept.size, 'no record twice')
  const isCreated = ({ status }: Answer): boolean => status === 201
  const lost = [...answers].filter(([n, answer]) => isCreated(answer) && !kept.has(n))
  t.strictSame(lost, [])
  const failed = [...answers].filter(([, answer]) => !isCreated(answer))
  t.comment(`${failed.length} failed, ${failed.filter(([n]) => kept.has(n)).length} of them stored`)
  const isAway = ({ status, headers, body }: Answer): boolean =>
    status === 503 && headers['retry-after'] === '1' && toName(body) === 'Unavailable'
  t.strictSame(
    failed.filter(([, answer]) => !isAway(answer)),
    [],
  )
  const stray = failed.filter(([n, { body }]) => kept.has(n) && !('errors' in (body as object)))
  t.strictSame(stray, [], 'what may be stored is unknown')
})

t.test('a standalone server gets a write once, whatever is lost (DB-12)', async (t) => {
  const inserts: unknown[] = []
  const url = await startScriptedServer(
    t,
    asStandalone((name, command, run) => {
      if (name === 'insert') inserts.push(command.documents)
      return run()
    }),
  )
  const proxy = await startFaultProxy(t, url)
  const { server, stored } = await startNotes(t, proxy.url, PATIENT)
  proxy.loseReply('insert')
  const lost = await server.request('/notes', { data: { n: 1 } })
  t.match(lost, UNKNOWN)
  t.ok(lost.headers['retry-after'])
  t.equal(inserts.length, 1)
  proxy.loseCommand('insert')
  t.match(await server.request('/notes', { data: { n: 2 } }), UNKNOWN)
  t.equal(inserts.length, 1)
  t.match(await stored.find().toArray(), [{ n: 1 }])
  t.equal((await server.request('/notes', { data: { n: 3 } })).status, 201)
})

t.test('many that are changed while the line breaks are changed once (DB-11)', async (t) => {
  const updates: Document[] = []
  const deletes: Document[] = []
  const script = asStandalone(keepJournal(updates, 'update', keepJournal(deletes, 'delete')))
  const proxy = await startFaultProxy(t, await startScriptedServer(t, script))
  const { server, stored } = await startNotes(t, proxy.url, PATIENT)
  await stored.insertMany([{ n: 0 }, { n: 0 }])
  proxy.loseReply('update')
  const patched = await server.request('/notes', { method: 'PATCH', data: { n: 1 } })
  t.match(patched, UNKNOWN)
  t.equal(patched.headers['retry-after'], '1')
  t.equal(updates.length, 1)
  proxy.loseCommand('delete')
  t.match(await server.request('/notes', { method: 'DELETE' }), UNKNOWN)
  t.equal(deletes.length, 0)
  t.equal(await stored.countDocuments({ n: 1 }), 2, 'changed, and not removed')
})

t.test('in a transaction, many are changed once or not at all (DB-11)', async (t) => {
  const updates: Document[] = []
  const commits: Document[] = []
  const script = keepJournal(updates, 'update', keepJournal(commits, 'commitTransaction'))
  const proxy = await startFaultProxy(t, await startScriptedServer(t, script))
  const { server, stored } = await startNotes(t, proxy.url, PATIENT)
  await stored.insertMany([{ n: 0 }, { n: 0 }])
  proxy.loseReply('update')
  const lost = await server.request('/notes', { method: 'PATCH', data: { n: 1 } })
  t.match(lost, { status: 503 })
  t.notOk(Object.hasOwn(lost.body as object, 'errors'), 'and nothing is unknown')
  t.equal(updates.length, 1)
  t.equal(await stored.countDocuments({ n: 1 }), 0)
  proxy.loseReply('commitTransaction')
  const patched = await server.request('/notes', { method: 'PATCH', data: { n: 2 } })
  t.match(patched, { status: 200, body: [{ n: 2 }, { n: 2 }] })
  t.equal(updates.length, 2)
  t.equal(commits.length, 2, 'the driver asks again')
  t.equal(await stored.countDocuments({ n: 2 }), 2)
})

t.test('only the calls on broken sockets fail when the pool is cleared (DB-18)', async (t) => {
  const gate = new Gate()
  const url = await startScriptedServer(
    t,
    asStandalone(async (name, _command, run) => {
      if (name === 'insert') await gate.pass()
      return run()
    }),
  )
  const proxy = await startFaultProxy(t, url)
  const { server, client } = await startNotes(t, proxy.url, PATIENT)
  let cleared = 0
  client.on('connectionPoolCleared', () => {
    cleared += 1
  })
  const statuses: number[] = []
  const calls = Array.from({ length: 30 }, async (_, n) => {
    const { status } = await server.request('/notes', { data: { n } })
    statuses.push(status)
  })
  await gate.arrivals(30)
  let left = 10
  proxy.reset(({ inFlight }) => inFlight.includes('insert') && left-- > 0)
  await until(() => statuses.length >= 10)
  t.equal(cleared, 1)
  gate.open()
  await Promise.all(calls)
  t.strictSame(statuses, [...Array(10).fill(503), ...Array(20).fill(201)])
  t.equal((await server.request('/notes', { data: { n: 30 } })).status, 201)
})

t.test('half of the connections break again and again, and fewer calls fail (DB-19)', async (t) => {
  const { proxy, stored } = await startDatabase(t)
  const { server, client } = await startNotes(t, proxy.url, PATIENT, LIMITED)
  let open = 0
  client.on('connectionCreated', () => {
    open += 1
  })
  client.on('connectionClosed', () => {
    open -= 1
  })
  let broken = 0
  const failed: Answer[] = []
  const call = async (n: number): Promise<void> => {
    const answer = await server.request('/notes', n % 2 === 0 ? { data: { n } } : {})
    if (answer.status >= 400) failed.push(answer)
  }
  /** Breaks every second connection of the pool, and leaves alone that of the monitor. */
  const breakHalf = (): number => {
    let place = 0
    const inPool = ({ names }: ProxiedConnection) => names.has('find') || names.has('insert')
    return proxy.reset((connection) => inPool(connection) && place++ % 2 === 0)
  }
  for (let round = 0; round < 10; round += 1) {
    const calls = Array.from({ length: 40 }, (_, n) => call(round * 40 + n))
    let isOver = false
    const all = Promise.all(calls).then(() => {
      isOver = true
    })
    // Where all calls fail before a connection has carried one, there is none to break.
    await until(() => {
      const count = breakHalf()
      broken += count
      return count > 0 || isOver
    }, all)
    await all
  }
  t.comment(`${broken} broken`)
  t.ok(failed.length < broken, `${failed.length} failed`)
  t.ok(failed.every(({ status }) => status === 503))
  t.ok(open <= 50, `${open} connections are open`)
  const records = (await stored.find().toArray()).map(({ n }) => n)
  t.equal(records.length, new Set(records).size, 'no record twice')
})
