import { Binary } from 'bson'
import type { Document } from 'mongodb'
import t from 'tap'
import { Dispatcher } from '../../../../src/adapter/embedded/dispatch.ts'

const MINUTE = 60_000

/** Returns a server without sockets whose time stands still until it is told. */
function createServer() {
  let time = 1_000_000
  const dispatcher = new Dispatcher('127.0.0.1:1', () => time)
  return {
    dispatcher,
    pass: (minutes: number) => {
      time += minutes * MINUTE
    },
    run: (command: Document) => dispatcher.run(() => ({ ...command, $db: 'test' })),
  }
}

function toSession(number: number): Document {
  const bytes = Buffer.alloc(16)
  bytes.writeUInt32LE(number, 0)
  return { id: new Binary(bytes, 4) }
}

t.test('a session that nobody uses is forgotten after half an hour', async (t) => {
  const { dispatcher, pass, run } = createServer()
  await run({ ping: 1, lsid: toSession(1) })
  pass(20)
  await run({ ping: 1, lsid: toSession(2) })
  t.equal(dispatcher.counts.sessions, 2)
  pass(11)
  await run({ ping: 1 })
  t.equal(dispatcher.counts.sessions, 1)
  pass(20)
  await run({ ping: 1 })
  t.equal(dispatcher.counts.sessions, 0)
})

t.test('using a session keeps it', async (t) => {
  const { dispatcher, pass, run } = createServer()
  const lsid = toSession(1)
  for (const command of [
    { ping: 1, lsid },
    { find: 'c', lsid },
  ]) {
    await run(command)
    pass(29)
  }
  await run({ ping: 1 })
  t.equal(dispatcher.counts.sessions, 1)
})

t.test('the transaction and the cursors of a session end with it', async (t) => {
  const ends: Readonly<Record<string, (server: ReturnType<typeof createServer>) => unknown>> = {
    'after half an hour': ({ pass, run }) => {
      pass(31)
      return run({ ping: 1 })
    },
    'with endSessions': ({ run }) => run({ endSessions: [toSession(1)] }),
  }
  for (const [title, end] of Object.entries(ends)) {
    await t.test(title, async (t) => {
      const server = createServer()
      const { dispatcher, run } = server
      t.teardown(() => dispatcher.close())
      const lsid = toSession(1)
      await run({ insert: 'c', documents: [{ _id: 1 }, { _id: 2 }] })
      const { cursor } = await run({ find: 'c', batchSize: 1, lsid })
      const transaction = { lsid, txnNumber: 1, autocommit: false }
      const write = { update: 'c', updates: [{ q: { _id: 1 }, u: { a: 1 } }] }
      await run({ ...write, ...transaction, startTransaction: true })
      t.strictSame(dispatcher.counts, { sessions: 1, cursors: 1, transactions: 1 })
      const waiting = run({ delete: 'c', deletes: [{ q: { _id: 1 }, limit: 1 }] })
      await end(server)
      t.match(await waiting, { ok: 1, n: 1 }, 'who waited for the transaction goes on')
      t.strictSame(dispatcher.counts, { sessions: 0, cursors: 0, transactions: 0 })
      t.match(await run({ getMore: cursor.id, collection: 'c', lsid }), { code: 43 })
      t.match(await run({ commitTransaction: 1, ...transaction }), { code: 251 })
    })
  }
})

t.test('there are only so many sessions, and an end makes room', async (t) => {
  const { dispatcher, run } = createServer()
  const most = 10_000
  for (let number = 0; number < most; number += 1) await run({ ping: 1, lsid: toSession(number) })
  const refusal = { ok: 0, code: 261, codeName: 'TooManyLogicalSessions' }
  t.match(await run({ ping: 1, lsid: toSession(most) }), refusal)
  t.match(await run({ ping: 1, lsid: toSession(0) }), { ok: 1 }, 'those that are there go on')
  await run({ endSessions: [toSession(1)] })
  t.match(await run({ ping: 1, lsid: toSession(most) }), { ok: 1 })
  t.equal(dispatcher.counts.sessions, most)
})

t.test('a cursor belongs to the session that opened it', async (t) => {
  const { run } = createServer()
  await run({ insert: 'c', documents: [{}, {}, {}] })
  const { cursor } = await run({ find: 'c', batchSize: 1, lsid: toSession(1) })
  const more = { getMore: cursor.id, collection: 'c', batchSize: 1 }
  t.match(await run({ ...more, lsid: toSession(2) }), { code: 13 })
  t.match(await run(more), { code: 13 })
  t.match(await run({ ...more, lsid: toSession(1) }), { ok: 1 })
})

t.test('an idle cursor is forgotten after ten minutes', async (t) => {
  const { dispatcher, pass, run } = createServer()
  await run({ insert: 'c', documents: [{}, {}] })
  await run({ find: 'c', batchSize: 1 })
  pass(11)
  await run({ find: 'c', batchSize: 1 })
  t.equal(dispatcher.counts.cursors, 1)
})

t.test('a session or a number that is none is refused:', async (t) => {
  const { dispatcher, run } = createServer()
  const lsid = toSession(1)
  const number = { lsid, txnNumber: 1 }
  const cases: readonly (readonly [title: string, fields: Document, code: number])[] = [
    ['a string', { lsid: 'x' }, 14],
    ['an id that is a string', { lsid: { id: 'x' } }, 14],
    ['an id of another kind of bytes', { lsid: { id: new Binary(Buffer.alloc(16), 0) } }, 14],
    ['an id that is too short', { lsid: { id: new Binary(Buffer.alloc(4), 4) } }, 14],
    ['no id', { lsid: {} }, 14],
    ['an unknown field', { lsid: { ...lsid, x: 1 } }, 40415],
    ['a number that is a string', { lsid, txnNumber: '1' }, 14],
    ['a number below zero', { lsid, txnNumber: -1 }, 14],
    ['a number without a session', { txnNumber: 1 }, 72],
    ['autocommit without a number', { lsid, autocommit: false }, 72],
    ['autocommit that is true', { ...number, autocommit: true }, 72],
    ['a start without autocommit', { ...number, startTransaction: true }, 72],
    ['a start that is false', { ...number, autocommit: false, startTransaction: false }, 72],
    ['a transaction that has not begun', { ...number, autocommit: false }, 251],
  ]
  for (const [title, fields, code] of cases) {
    t.match(await run({ find: 'c', ...fields }), { ok: 0, code }, title)
  }
  const start = { ...number, autocommit: false, startTransaction: true }
  t.match(await run({ find: 'c', ...start }), { ok: 1 })
  t.match(await run({ find: 'c', ...start }), { code: 50911 }, 'a transaction that has begun')
  t.match(await run({ commitTransaction: 1 }), { code: 72 }, 'a commit of nothing')
  dispatcher.close()
})
