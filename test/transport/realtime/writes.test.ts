import { Long, ObjectId } from 'mongodb'
import t from 'tap'
import type { MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService, transaction } from '../../../src/adapter/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { linesSoFar, startLiveServer, toLines } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
/** Where patches wait when they have written, if there is one. */
let gates: Record<string, Gate> = {}

const server = await startLiveServer(t, (app) => {
  app.use('tasks', new MongoDBService({ Model, multi: true, allowClientId: true }))
  app.use('clock', { find: async () => [] } as never, { events: ['ticked'] })
  app.use('remind', new MongoDBService({ Model, events: ['reminded'] }))
  const pass = async ({ params }: HookContext) => gates[String(Reflect.get(params, 'gate'))]?.pass()
  app.service('tasks').hooks({ after: { patch: [pass], remove: [pass] } })
})
const tasks = server.app.service('tasks')
const red = { team: 'red' }

async function openRed() {
  const stream = await server.open('/tasks?team=red')
  t.equal((await stream.next()).event, 'snapshot')
  return stream
}

t.beforeEach(async () => {
  gates = {}
  await empty('tasks')
})

t.test('writes to many are told record by record', async (t) => {
  const stream = await openRed()
  await tasks.create(['a', 'b', 'c'].map((name) => ({ ...red, name })))
  t.strictSame(await linesSoFar(stream, tasks, red), ['created a', 'created b', 'created c'])
  await tasks.patch(null, { done: true }, { query: { name: { $in: ['a', 'c'] } } })
  t.strictSame((await linesSoFar(stream, tasks, red)).sort(), ['patched a', 'patched c'])
  await tasks.remove(null, { query: { name: { $in: ['b', 'c'] } } })
  t.strictSame((await linesSoFar(stream, tasks, red)).sort(), ['removed b', 'removed c'])
})

t.test('ids of two types that look alike are of two records', async (t) => {
  const stream = await openRed()
  await tasks.create([1, '1'].map((_id) => ({ ...red, _id, name: typeof _id })))
  t.strictSame(await linesSoFar(stream, tasks, red), ['created number', 'created string'])
  await tasks.patch(null, { done: true }, { query: { name: 'number' } })
  t.strictSame(await linesSoFar(stream, tasks, red), ['patched number'])
})

t.test('an id that the driver reads as another number is told', async (t) => {
  const stream = await openRed()
  await tasks.create({ ...red, _id: Long.fromNumber(5), name: 'long' } as never)
  t.strictSame(await linesSoFar(stream, tasks, red), ['created long'])
})

t.test('an upsert that adds a record is told as one that was created', async (t) => {
  const stream = await openRed()
  const docdb = { docdb: { upsert: true } } as MongoDBParams
  await tasks.patch(new ObjectId(), { ...red, name: 'new' }, docdb as never)
  t.strictSame(await linesSoFar(stream, tasks, red), ['created new'])
})

t.test('writes without records have all streams begin anew', async (t) => {
  await tasks.create(['a', 'b'].map((name) => ({ ...red, name })))
  const stream = await openRed()
  await tasks.patch(null, { done: true }, { docdb: { returning: false } } as never)
  t.match(await stream.next(), { event: 'resync', id: '', data: {} })
  const snapshot = await stream.next()
  t.match(snapshot, { event: 'snapshot', data: [{ done: true }, { done: true }] })
  t.equal(stream.lastId, snapshot.id)
  await tasks.remove(null, { docdb: { returning: false } } as never)
  t.match(await stream.upTo(({ event }) => event === 'snapshot'), [
    { event: 'resync' },
    { data: [] },
  ])
})

t.test('what is written within a transaction is told after the commit, or never', async (t) => {
  const stream = await openRed()
  const failing = transaction(server.app, async (params: object) => {
    await tasks.create({ ...red, name: 'rolled back' }, params)
    throw new Error('no')
  })
  await t.rejects(failing, { message: 'no' })
  const gate = new Gate()
  const writing = transaction(server.app, async (params: object) => {
    const { _id } = (await tasks.create({ ...red, name: 'first' }, params)) as { _id: ObjectId }
    await tasks.patch(_id, { name: 'in the end' }, params)
    await gate.pass()
  })
  await gate.arrivals(1)
  await tasks.create({ ...red, name: 'meanwhile' })
  t.match(await stream.next(), { event: 'created', data: { name: 'meanwhile' } })
  gate.open()
  await writing
  const lines = await linesSoFar(stream, tasks, red)
  t.ok(lines.length > 0)
  t.ok(
    lines.every((line) => line.endsWith('in the end')),
    `${lines}`,
  )
})

t.test('another collection of the same service is another matter', async (t) => {
  await empty('archive')
  const archive = db.collection('archive')
  const stream = await openRed()
  const byTenant = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model }))
    app.service('tasks').hooks({
      before: {
        all: [
          ({ params }: HookContext) => {
            if (params.headers?.['x-archive'] !== undefined) {
              Object.assign(params, { adapter: { Model: archive } })
            }
          },
        ],
      },
    })
  })
  const usual = await byTenant.open('/tasks?team=red')
  const archived = await byTenant.open('/tasks?team=red', { 'x-archive': 'yes' })
  t.match([await usual.next(), await archived.next()], [{ data: [] }, { data: [] }])
  const service = byTenant.app.service('tasks')
  const elsewhere = { adapter: { Model: archive } } as never
  const { _id } = (await service.create({ ...red, name: 'old' }, elsewhere)) as { _id: ObjectId }
  await service.create({ ...red, _id, name: 'new' } as never)
  await service.patch(_id, { name: 'older' }, elsewhere)
  await service.patch(_id, { name: 'newer' })
  await service.remove(_id, elsewhere)
  t.strictSame(
    (await linesSoFar(usual, service, red)).filter((line) => /old/.test(line)),
    [],
  )
  await service.create({ ...red, name: 'last' }, elsewhere)
  const lines = toLines(await archived.upTo(({ data }) => data.name === 'last'))
  t.strictSame(
    lines.filter((line) => /new|fence/.test(line)),
    [],
  )
  t.strictSame(lines.slice(-2), ['removed older', 'created last'])
  t.equal(stream.frames.length, 1, 'the service of another application emits events of its own')
})

t.test('the last frame has the newest state, in whatever order events come', async (t) => {
  const { _id } = (await tasks.create({ ...red, name: 'a' })) as { _id: ObjectId }
  const stream = await openRed()
  gates = { first: new Gate() }
  const first = tasks.patch(_id, { name: 'first' }, { gate: 'first' } as never)
  await gates['first']?.arrivals(1)
  await tasks.patch(_id, { name: 'second' })
  gates['first']?.open()
  await first
  const lines = await linesSoFar(stream, tasks, red)
  t.equal(lines.at(-1), 'patched second')
  t.notOk(lines.includes('patched first'), 'what was no longer so when it was told')
})

t.test('a record that is gone when its change is told is not told as it was', async (t) => {
  const { _id } = (await tasks.create({ ...red, name: 'a' })) as { _id: ObjectId }
  const stream = await openRed()
  gates = { late: new Gate() }
  const late = tasks.patch(_id, { name: 'b' }, { gate: 'late' } as never)
  await gates['late']?.arrivals(1)
  await tasks.remove(_id)
  gates['late']?.open()
  await late
  t.strictSame(await linesSoFar(stream, tasks, red), ['removed b'])
})

t.test('a record that is there again when its removal is told has not gone', async (t) => {
  const _id = 'again'
  await tasks.create({ ...red, _id, name: 'a' } as never)
  const stream = await openRed()
  gates = { late: new Gate() }
  const late = tasks.remove(_id, { gate: 'late' } as never)
  await gates['late']?.arrivals(1)
  await tasks.create({ ...red, _id, name: 'b' } as never)
  gates['late']?.open()
  await late
  const lines = await linesSoFar(stream, tasks, red)
  t.notMatch(lines.join(), /removed/)
  t.equal(lines.at(-1), 'created b')
})

t.test(
  'an event without a record has the streams begin anew, and is told in the log',
  async (t) => {
    const stream = await openRed()
    tasks.emit?.('patched', { name: 'nobody' })
    t.match(await stream.next(), { event: 'resync' })
    t.match(await stream.next(), { event: 'snapshot' })
    tasks.emit?.('created', null)
    tasks.emit?.('removed', undefined)
    t.match(await stream.upTo(({ event }) => event === 'snapshot'), [{ event: 'resync' }, {}])
    const warnings = server.logged.filter(({ message }) =>
      /no record with '_id'/.test(`${message}`),
    )
    t.match(warnings, [{ details: { service: 'tasks', event: 'patched' } }], 'once')
  },
)

t.test('events of the service itself are told for the records that match', async (t) => {
  const service = server.app.service('remind')
  const [one, other] = [new ObjectId(), new ObjectId()]
  await service.create({ _id: one, ...red, name: 'one' } as never)
  await service.create({ _id: other, team: 'blue', name: 'other' } as never)
  const stream = await server.open('/remind?team=red')
  await stream.next()
  service.emit?.('reminded', { _id: other, text: 'secret' })
  service.emit?.('reminded', { _id: new ObjectId(), text: 'of nothing' })
  service.emit?.('reminded', { _id: one, text: 'now' })
  t.match(await stream.next(), { event: 'reminded', data: { _id: `${one}`, text: 'now' } })
  t.equal(stream.frames.length, 2)
})

t.test('a custom event that is about no record is not sent, and the log says so', async (t) => {
  const service = server.app.service('remind')
  const stream = await server.open('/remind')
  await stream.next()
  for (const data of ['text', [{ _id: 1 }], { text: 'no id' }, { _id: null }, null, undefined, 7]) {
    service.emit?.('reminded', data)
  }
  const { _id } = (await service.create({ name: 'a' } as never)) as unknown as { _id: ObjectId }
  t.match(await stream.next(), { event: 'created', data: { _id: `${_id}` } }, 'nothing begins anew')
  const expected = `its data must be the record with its '_id', or an object with that`
  t.match(
    server.logged.filter(({ message }) => `${message}`.includes(expected)),
    Array(7).fill({ details: { service: 'remind', event: 'reminded' } }),
  )
})

t.test('a service without records to compare sends custom events that are objects', async (t) => {
  const service = server.app.service('clock')
  const stream = await server.open('/clock')
  await stream.next()
  for (const data of ['text', [{ at: 1 }], null]) service.emit?.('ticked', data)
  service.emit?.('ticked', { at: 2 })
  t.match(await stream.next(), { event: 'ticked', data: { at: 2 } })
  t.match(
    server.logged.filter(({ message }) => /its data must be an object$/.test(`${message}`)),
    Array(3).fill({ details: { service: 'clock', event: 'ticked' } }),
  )
})

t.test('a listener of the application that throws changes nothing', async (t) => {
  const stream = await openRed()
  const listener = (): never => {
    throw new Error('listener')
  }
  tasks.prependListener?.('created', listener)
  await tasks.create({ ...red, name: 'heard' })
  tasks.off?.('created', listener)
  t.strictSame(await linesSoFar(stream, tasks, red), ['created heard'])
})
