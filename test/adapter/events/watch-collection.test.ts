import { PassThrough } from 'node:stream'
import { MongoServerError } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { MongoDBService, watchCollection } from '../../../src/adapter/index.ts'
import { createApp } from '../../../src/core/index.ts'
import type { SeenChange } from '../../../src/core/services/record-view.ts'
import { SEEN_CHANGE } from '../../../src/core/services/record-view.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { replaceMethods } from '../../support/replaced-methods.ts'
import { until } from '../../support/until.ts'

const { db, empty } = await openDatabase(t)

/** A collection whose change streams the test writes; the servers of most test runs have none. */
function createWatched(tryNext: () => Promise<unknown>) {
  const opened: { readonly options: unknown; readonly changes: PassThrough }[] = []
  const watch = (_stages: unknown, options: unknown) => {
    const changes = new PassThrough({ objectMode: true })
    opened.push({ options, changes })
    return Object.assign(changes, {
      tryNext,
      close: async () => void changes.destroy(),
    })
  }
  const Model = replaceMethods(db.collection('notes'), { watch })
  return { opened, Model }
}

async function watchNotes(
  t: Test,
  options: object = {},
  id = '_id',
  tryNext: () => Promise<unknown> = async () => null,
) {
  const { opened, Model } = createWatched(tryNext)
  const app = createApp()
  const service = app.use('notes', new MongoDBService({ Model, id })).service('notes')
  const warnings: unknown[] = []
  const log = (...entry: unknown[]): void => void warnings.push(entry)
  app.logger = { info: log, warn: log, error: log, debug: log } as never
  const seen: SeenChange[] = []
  service.on(SEEN_CHANGE as never, (change: SeenChange) => void seen.push(change))
  const stop = await watchCollection(service, options)
  t.teardown(stop)
  const write = (change: object, stream = opened.length - 1) =>
    opened[stream]?.changes.write(change)
  return { opened, seen, service, stop, warnings, write }
}

const place = db.collection('notes').namespace

t.test('each kind of change is told as its event', async (t) => {
  const { seen, write } = await watchNotes(t)
  t.strictSame(seen, [{ name: 'changed', id: null, place, position: null }], 'at first all of them')
  const kinds = [
    ['insert', 'created'],
    ['update', 'patched'],
    ['replace', 'updated'],
    ['delete', 'removed'],
  ] as const
  for (const [index, [operationType]] of kinds.entries()) {
    const wallTime = new Date(index * 1_000)
    write({ operationType, documentKey: { _id: index }, _id: { _data: `token${index}` }, wallTime })
  }
  await until(() => seen.length >= 5)
  for (const [index, [, name]] of kinds.entries()) {
    const { position, ...change } = seen[index + 1] as SeenChange
    const storedAt = index * 1_000
    t.strictSame(change, { name, id: index, place, record: undefined, storedAt })
    t.match(position, /^[\w-]{22}$/)
  }
  t.equal(new Set(seen.map(({ position }) => position)).size, 5)
})

t.test('the position of a change is the same everywhere, and does not tell the id', async (t) => {
  const [one, other] = [await watchNotes(t), await watchNotes(t)]
  const _data = '8263F0A1B2000000012B0229296E5A1004AA46645F69640064'
  const change = {
    operationType: 'insert',
    documentKey: { _id: 'ann@example.org' },
    _id: { _data },
  }
  for (const { write } of [one, other]) write(change)
  await until(() => one.seen.length >= 2 && other.seen.length >= 2)
  t.equal(one.seen[1]?.position, other.seen[1]?.position)
  t.notMatch(one.seen[1]?.position, _data)
})

t.test('a removed record is told as it was, where the database has kept it', async (t) => {
  const { opened, seen, write } = await watchNotes(t, { preImages: true })
  t.strictSame(opened[0]?.options, { fullDocumentBeforeChange: 'whenAvailable' })
  const record = { _id: 1, text: 'a' }
  const change = { operationType: 'delete', documentKey: { _id: 1 }, _id: { _data: 'a' } }
  write({ ...change, fullDocumentBeforeChange: record })
  await until(() => seen.length >= 2)
  t.match(seen[1], { name: 'removed', record })
})

t.test('another id field is read from the record', async (t) => {
  const { opened, seen, write } = await watchNotes(t, {}, 'sku')
  t.strictSame(opened[0]?.options, { fullDocument: 'updateLookup' })
  const change = { documentKey: { _id: 1 }, _id: { _data: 'a' } }
  write({ ...change, operationType: 'update', fullDocument: { _id: 1, sku: 's1' } })
  write({ ...change, operationType: 'delete' })
  await until(() => seen.length >= 3)
  t.match(seen[1], { name: 'patched', id: 's1' })
  t.match(seen[2], { name: 'changed', id: null }, 'nobody knows which one')
})

t.test('what changes more than records has streams begin anew', async (t) => {
  const { seen, write } = await watchNotes(t)
  write({ operationType: 'drop', _id: { _data: 'a' } })
  await until(() => seen.length >= 2)
  t.match(seen[1], { name: 'changed', id: null })
})

t.test('a change stream that ends is opened again', async (t) => {
  const { opened, seen, service, stop, warnings, write } = await watchNotes(t)
  opened[0]?.changes.destroy(new Error('history lost'))
  await until(() => opened.length === 2)
  const details = { path: 'notes', err: { message: 'history lost' } }
  t.match(warnings, [[details, 'watchCollection(): the change stream has broken']])
  t.match(seen[1], { name: 'changed' }, 'with what was missed')
  write({ operationType: 'insert', documentKey: { _id: 5 }, _id: { _data: 'b' } })
  await until(() => seen.length >= 3)
  t.match(seen[2], { name: 'created', id: 5 })
  t.equal(service.isWatched, true)
  await stop()
  t.equal(service.isWatched, false, 'the events of calls count again')
  t.ok(opened[1]?.changes.destroyed)
})

t.test('a change stream that is being opened again is closed as well', async (t) => {
  const gate = new Gate()
  let waits = false
  const tryNext = async () => (waits ? gate.pass() : null)
  const { opened, seen, stop } = await watchNotes(t, {}, '_id', tryNext)
  waits = true
  opened[0]?.changes.destroy(new Error('history lost'))
  await until(() => gate.arrived === 1)
  await stop()
  gate.open()
  await until(() => opened[1]?.changes.destroyed)
  t.equal(seen.length, 1, 'and nothing more is told')
})

t.test('a server without change streams is refused, and what is no service', async (t) => {
  const refusal = new MongoServerError({
    message: 'The $changeStream stage is only supported on replica sets',
    code: 40573,
  })
  const watch = () => ({ tryNext: () => Promise.reject(refusal), close: async () => undefined })
  const Model = Object.assign(await empty('refused'), { watch })
  await t.rejects(watchCollection(new MongoDBService({ Model } as never)), {
    code: 501,
    message: 'The server has no change streams',
  })
  await t.rejects(watchCollection({}), { message: 'watchCollection() takes a MongoDBService' })
  const service = new MongoDBService({ Model: db.collection('notes') })
  await t.rejects(
    watchCollection(service, { preImage: true } as never),
    /unknown option 'preImage'/,
  )
})
