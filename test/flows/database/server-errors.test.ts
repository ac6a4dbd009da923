import type { Document } from 'mongodb'
import t from 'tap'

import { MongoDBService } from '../../../src/adapter/index.ts'
import { openDatabase } from '../../support/database.ts'
import { startNotes } from '../../support/notes-server.ts'
import { startOwnServer } from '../../support/own-server.ts'
import type { Script } from '../../support/scripted-server.ts'
import { failTimes, runAll, startScriptedServer } from '../../support/scripted-server.ts'

/** What happens to the commands of the test that runs. */
let script: Script = runAll
let inserts: Document[] = []

const url = await startScriptedServer(t, (name, command, run) => {
  if (name === 'insert') inserts.push(command)
  return script(name, command, run)
})
const { server, stored } = await startNotes(t, url, {
  serverSelectionTimeoutMS: 60_000,
  heartbeatFrequencyMS: 500,
})

t.beforeEach(async () => {
  script = runAll
  await stored.deleteMany({})
  inserts = []
})

const create = (n: number) => server.request('/notes', { data: { n } })

const CHANGES: readonly [number, string][] = [
  [10107, 'NotWritablePrimary'],
  [11600, 'InterruptedAtShutdown'],
  [91, 'ShutdownInProgress'],
]

for (const [code, codeName] of CHANGES) {
  t.test(`a primary that goes (${codeName}) costs a create one more attempt (DB-9)`, async (t) => {
    const errorLabels = ['RetryableWriteError']
    script = failTimes(1, 'insert', { code, codeName, errmsg: 'secret', errorLabels })
    t.match(await create(code), { status: 201, body: { n: code } })
    t.equal(inserts.length, 2)
    const [first, second] = inserts.map(({ lsid, txnNumber }) => String([lsid.id, txnNumber]))
    t.equal(first, second, 'the server can tell that they are one write')
    t.equal(await stored.countDocuments({ n: code }), 1)
  })
}

t.test('a create that finds no primary a second time is a 503 (DB-9)', async (t) => {
  const errorLabels = ['RetryableWriteError']
  script = failTimes(2, 'insert', { code: 10107, errmsg: 'secret', errorLabels })
  const answer = await create(1)
  t.match(answer, { status: 503, body: { errors: { outcome: 'unknown' } } })
  t.equal(answer.headers['retry-after'], '1')
  t.equal(inserts.length, 2)
})

const OVERLOADED = { code: 462, codeName: 'IngressRequestRateLimitExceeded', errmsg: 'secret' }

t.test('an overloaded server is asked three times at most (DB-13)', async (t) => {
  const labels = ['SystemOverloadedError', 'RetryableError', 'NoWritesPerformed']
  script = failTimes(3, 'insert', { ...OVERLOADED, errorLabels: labels })
  const { status, headers, body } = await create(1)
  t.match({ status, body }, { status: 503, body: { name: 'Unavailable' } })
  t.notOk('errors' in (body as object), 'nothing was written')
  t.equal(headers['retry-after'], '1')
  t.equal(inserts.length, 3)
  script = failTimes(2, 'insert', { ...OVERLOADED, errorLabels: labels })
  t.equal((await create(2)).status, 201)
  t.equal(await stored.countDocuments(), 1)
})

t.test('what the server does not call repeatable is not repeated (DB-13)', async (t) => {
  for (const errorLabels of [[], ['SystemOverloadedError'], ['RetryableError']]) {
    inserts = []
    script = failTimes(1, 'insert', { ...OVERLOADED, errorLabels })
    t.equal((await create(1)).status, 503)
    t.equal(inserts.length, 1)
  }
})

t.test('a write conflict outside of a transaction is a 409, not repeated (DB-14)', async (t) => {
  script = failTimes(2, 'insert', { code: 112, codeName: 'WriteConflict', errmsg: 'secret' })
  for (const count of [1, 2]) {
    const { status, headers, body } = await create(1)
    t.match({ status, body }, { status: 409, body: { data: { retryAfter: 1 } } })
    t.equal(headers['retry-after'], '1')
    t.equal(inserts.length, count)
  }
  t.equal((await create(1)).status, 201)
  t.equal(await stored.countDocuments(), 1)
})

t.test('of 100 creates with one unique e-mail one is stored, and 99 are 409 (DB-17)', async (t) => {
  const { empty } = await openDatabase(t)
  const Model = await empty('unique')
  const indexes = [{ key: { email: 1 }, unique: true }] as const
  const { request } = await startOwnServer(t, (app) => {
    app.use('users', new MongoDBService({ Model, indexes }))
  })
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => request('/users', { data: { email: 'ann@example.org' } })),
  )
  const refused = answers.filter(({ status }) => status === 409)
  t.equal(answers.filter(({ status }) => status === 201).length, 1)
  t.equal(refused.length, 99)
  t.ok(refused.every(({ body }) => JSON.stringify(body).includes('"fields":["email"]')))
  t.equal(await Model.countDocuments(), 1)
})
