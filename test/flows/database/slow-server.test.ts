import { MongoClient } from 'mongodb'
import t from 'tap'

import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'
import { stopTime } from '../../support/clock.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import type { Answer } from '../../support/http.ts'
import { startNotes } from '../../support/notes-server.ts'
import { runAll, startScriptedServer } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

const IDS = Array.from({ length: 6 }, (_, n) => `64b7f0a1c2d3e4f5a6b7c8d${n}`)

t.test('a late reply comes after the 503, and reaches nobody else (DB-4)', async (t) => {
  const time = stopTime(t)
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const proxy = await startFaultProxy(t, embedded.url)
  const { server } = await startNotes(
    t,
    proxy.url,
    { heartbeatFrequencyMS: 600_000, waitQueueTimeoutMS: 0 },
    { handlerTimeoutMs: 1_000 },
  )
  const direct = new MongoClient(embedded.url)
  t.teardown(() => direct.close())
  const notes = direct.db('a').collection('notes')
  const toNote = (id: string) => ({ _id: id as never, name: `note ${id}` })
  await server.app.service('notes').create(IDS.map((id) => toNote(id)))
  t.equal(await notes.countDocuments(), 6)

  const late: (() => void)[] = []
  // Those of a handshake pass: a connection that can not be opened is another matter.
  proxy.slowDown((pass, name) => (name === 'find' || name === 'insert' ? late.push(pass) : pass()))
  const slow: Answer[] = []
  const first = [
    ...IDS.map((id) => server.request(`/notes/${id}`)),
    server.request('/notes', { data: { name: 'late' } }),
  ].map(async (answer) => slow.push(await answer))
  await until(() => late.length >= 7)
  t.equal(slow.length, 0)
  time.pass(1_200)
  await Promise.all(first)
  t.strictSame([...new Set(slow.map(({ status }) => status))], [503])
  t.ok(slow.every(({ headers }) => headers['retry-after']))
  t.equal(late.length, 7, 'all are answered before a reply has come')

  proxy.release()
  const next = IDS.map((id) => server.request(`/notes/${id}`))
  for (const pass of late) pass()
  for (const [index, answer] of (await Promise.all(next)).entries()) {
    t.match(answer, { status: 200, body: { name: `note ${IDS[index]}` } })
  }
  t.equal(await notes.countDocuments({ name: 'late' }), 1, 'a write is not called off')
})

t.test('a pool whose connections are half-open recovers by itself (DB-5)', async (t) => {
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const proxy = await startFaultProxy(t, embedded.url)
  const { client, server } = await startNotes(t, proxy.url, {
    ...{ heartbeatFrequencyMS: 500, connectTimeoutMS: 1_000, serverSelectionTimeoutMS: 500 },
  })
  const ask = () => server.request('/notes')
  await until(async () => (await ask()).status === 200)
  let cleared = 0
  client.on('connectionPoolCleared', () => {
    cleared += 1
  })
  proxy.swallow()
  const [one, other] = await Promise.all([ask(), server.request('/notes', { data: { n: 1 } })])
  t.match([one, other], [{ status: 503 }, { status: 503 }])
  t.equal((await ask()).status, 503, 'and those after it')
  t.ok(cleared >= 1)
  proxy.mend()
  await until(async () => (await ask()).status === 200)
  t.equal((await server.request('/notes', { data: { n: 2 } })).status, 201)
})

t.test('a read that hangs is tried twice, each as long as a socket may take (DB-6)', async (t) => {
  let isHanging = false
  const finds: unknown[] = []
  const url = await startScriptedServer(t, (name, command, run) => {
    if (name !== 'find' || !isHanging) return runAll(name, command, run)
    finds.push(command)
    return new Promise(() => undefined)
  })
  const { server } = await startNotes(t, url, { socketTimeoutMS: 1_000 })
  isHanging = true
  const answer = await server.request('/notes')
  t.match(answer, { status: 503, body: { name: 'Unavailable' } })
  t.ok(answer.headers['retry-after'])
  t.equal(finds.length, 2)
  isHanging = false
  await until(async () => (await server.request('/notes')).status === 200)
})
