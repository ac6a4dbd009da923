import type { ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { Forbidden } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import type { EventFrames } from '../../support/event-frames.ts'
import { Gate } from '../../support/gate.ts'
import { linesSoFar, startLiveServer, toLines } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
const red = { team: 'red' }
const server = await startLiveServer(t, (app) => {
  app.use('tasks', new MongoDBService({ Model, multi: true, events: ['rung'] }))
  app.use('lists', new MongoDBService({ Model: db.collection('lists'), multi: true }))
  app.use('memory', { id: 'id', find: async () => [{ id: 1 }] } as never)
  app.use('shaped', new MongoDBService({ Model }))
  app.service('shaped').hooks({ after: { find: [() => undefined] } })
})
const tasks = server.app.service('tasks')

async function create(data: object, service: object = tasks): Promise<ObjectId> {
  const created = await (service as typeof tasks).create(data as never)
  return (created as unknown as { _id: ObjectId })._id
}

/** Opens a stream and has its snapshot. */
async function open(path = '/tasks?team=red'): Promise<EventFrames> {
  const stream = await server.open(path)
  t.equal((await stream.next()).event, 'snapshot')
  return stream
}

/** Comes back to a stream, from the last event it had. */
function comeBack(lastId: string | string[], path = '/tasks?team=red'): Promise<EventFrames> {
  return server.open(path, { 'last-event-id': lastId })
}

t.beforeEach(() => Promise.all([empty('tasks'), empty('lists')]))

t.test('who comes back is told what he has missed, and nothing else', async (t) => {
  const kept = await create({ ...red, name: 'kept' })
  const stays = await create({ ...red, name: 'stays' })
  const gone = await create({ ...red, name: 'gone' })
  const stream = await open()
  await server.leave(stream)
  await create({ ...red, name: 'new' })
  await tasks.patch(stays, { name: 'stays still' })
  await tasks.patch(kept, { team: 'blue', name: 'secret' })
  await tasks.remove(gone)
  await create({ team: 'blue', name: 'secret' })
  const again = await comeBack(stream.lastId)
  const lines = await linesSoFar(again, tasks, red)
  t.strictSame(
    lines,
    ['created new', 'patched stays still', `left ${kept}`, `removed ${gone}`].map((line) =>
      line === `removed ${gone}` ? lines.find((one) => /^removed/.test(one)) : line,
    ),
  )
  t.match(lines.at(-1), new RegExp(`removed (gone|${gone})`))
  t.equal(again.retryMs, 2_000)
})

t.test('who has missed nothing is told nothing', async (t) => {
  const stream = await open()
  await server.leave(stream)
  const again = await comeBack(stream.lastId)
  t.strictSame(await linesSoFar(again, tasks, red), [])
  await server.leave(again)
  const third = await comeBack(again.lastId)
  t.strictSame(await linesSoFar(third, tasks, red), [])
})

t.test('what was sent, and lost on the way, is told again', async (t) => {
  const left = await create({ ...red, name: 'left' })
  const removed = await create({ ...red, name: 'removed' })
  const hidden = await create({ team: 'blue', name: 'hidden' })
  const stream = await open()
  const { lastId } = stream
  await tasks.patch(left, { team: 'blue' })
  await tasks.remove(removed)
  await tasks.patch(hidden, { name: 'x' })
  t.equal((await linesSoFar(stream, tasks, red)).length, 2)
  await server.leave(stream)
  const again = await comeBack(lastId)
  const lines = toLines(await again.upTo(({ data }) => data.name === 'fence'))
  t.strictSame(lines, [`left ${left}`, `removed ${removed}`, 'created fence'])
})

t.test(
  'an event of the service itself is told as it was, to those too who come back',
  async (t) => {
    const id = await create({ ...red, name: 'a', secret: 'of the record' })
    const [stays, goes] = [await open(), await open()]
    await server.leave(goes)
    tasks.emit?.('rung', { _id: id, name: 'rung' })
    t.match(await stays.next(), { event: 'rung' })
    await linesSoFar(stays, tasks, red)
    const again = await comeBack(goes.lastId)
    const frame = await again.next()
    t.strictSame([frame.event, frame.data], ['rung', { _id: `${id}`, name: 'rung' }])
  },
)

t.test('who comes back again and again is remembered, as long as nothing is told', async (t) => {
  const id = await create({ ...red, name: 'a' })
  const stream = await open()
  await server.leave(stream)
  for (let times = 0; times < 3; times += 1) {
    await server.leave(await comeBack(stream.lastId))
    await create({ team: 'blue', name: 'other' })
  }
  await tasks.patch(id, { team: 'blue' })
  const again = await comeBack(stream.lastId)
  t.strictSame(await linesSoFar(again, tasks, red), [`left ${id}`])
})

t.test('what is from before a snapshot is no place to go on from', async (t) => {
  await create({ ...red, name: 'a' })
  const stream = await open()
  const { lastId } = stream
  await tasks.patch(null as never, { team: 'blue' }, { docdb: { returning: false } } as never)
  await stream.upTo(({ event }) => event === 'snapshot')
  await server.leave(stream)
  const again = await comeBack(lastId)
  t.strictSame(toLines([await again.next(), await again.next()]), ['resync', 'snapshot'])
})

t.test('who may read something else by now begins anew', async (t) => {
  let team = 'red'
  const tenants = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model }))
    const restrict = ({ params }: HookContext): void => {
      params.query = { ...params.query, team }
    }
    app.service('tasks').hooks({ before: { find: [restrict] } })
  })
  await Model.insertMany([
    { team: 'red', name: 'r' },
    { team: 'blue', name: 'b' },
  ])
  const stream = await tenants.open('/tasks')
  t.match((await stream.next()).data, [{ name: 'r' }])
  await tenants.leave(stream)
  team = 'blue'
  // Nobody knows the stream of a stranger: another process, or one that has started anew.
  for (const id of [stream.lastId, stream.lastId.replace(/[^.]*$/, 'somebody')]) {
    const again = await tenants.open('/tasks', { 'last-event-id': id })
    await tenants.app.service('tasks').create({ team: 'blue', name: 'b, too' })
    t.strictSame((await again.next()).event, 'resync', id)
    t.match((await again.next()).data[0], { name: 'b' })
  }
})

t.test('what hooks were still at for a client that has gone does not count as told', async (t) => {
  const gate = new Gate()
  let waits = false
  const shaping = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model }))
    app.service('tasks').hooks({
      after: { find: [async () => void (waits && (await gate.pass()))] },
    })
  })
  const service = shaping.app.service('tasks')
  const left = await create({ ...red, name: 'a' }, service)
  const stays = await create({ ...red, name: 'b' }, service)
  const stream = await shaping.open('/tasks?team=red')
  await stream.next()
  waits = true
  await Model.updateOne({ _id: left }, { $set: { team: 'blue' } })
  for (const _id of [stays, left]) service.emit?.('patched', { _id })
  await gate.arrivals(1)
  await shaping.leave(stream)
  waits = false
  gate.open()
  await new Promise((resolve) => setImmediate(resolve))
  const again = await shaping.open('/tasks?team=red', { 'last-event-id': stream.lastId })
  t.strictSame(await linesSoFar(again, service, red), ['patched b', `left ${left}`])
})

t.test('a refused return forgets nothing', async (t) => {
  let refuses = false
  const strict = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model }))
    const refuse = (): void => {
      if (refuses) throw new Forbidden('Not now')
    }
    app.service('tasks').hooks({ before: { find: [refuse] } })
  })
  const service = strict.app.service('tasks')
  const id = await create({ ...red, name: 'a' }, service)
  const stream = await strict.open('/tasks?team=red')
  await stream.next()
  await strict.leave(stream)
  await service.patch(id, { team: 'blue' })
  const headers = { 'last-event-id': stream.lastId }
  refuses = true
  t.match(await strict.refusal('/tasks?team=red', headers), { status: 403 })
  refuses = false
  const again = await strict.open('/tasks?team=red', headers)
  t.strictSame(await linesSoFar(again, service, red), [`left ${id}`])
})

t.test('the stream of a stranger is resumed where nothing has been missed', async (t) => {
  const stream = await open()
  await create({ ...red, name: 'a' })
  await stream.next()
  const blind = stream.lastId.replace(/[^.]*$/, 'somebody')
  await create({ ...red, name: 'b' })
  const again = await comeBack(blind)
  t.match(await again.next(), { event: 'created', data: { name: 'b' } })
  t.strictSame(await linesSoFar(again, tasks, red), [])
})

t.test('the stream of a stranger begins anew where a record may have left', async (t) => {
  const stream = await open()
  const { lastId } = stream
  await server.leave(stream)
  await create({ team: 'blue', name: 'other' })
  const again = await comeBack(lastId.replace(/[^.]*$/, 'somebody'))
  t.strictSame(toLines([await again.next(), await again.next()]), ['resync', 'snapshot'])
  await create({ team: 'blue', name: 'other' })
  t.strictSame(await linesSoFar(again, tasks, red), [], 'it is known from then on what was sent')
})

t.test('a broken Last-Event-ID is a new beginning, and no error', async (t) => {
  const other = await server.open('/lists')
  await other.next()
  const lists = server.app.service('lists')
  for (const name of ['a', 'b', 'c']) await create({ name }, lists)
  await other.upTo(({ data }) => data.name === 'c')
  const stream = await open()
  for (const name of ['a', 'b', 'c', 'd']) await create({ ...red, name })
  await stream.upTo(({ data }) => data.name === 'd')
  const [epoch, sequence] = stream.lastId.split('.')
  const broken = [
    'text',
    '0',
    '-1',
    '..',
    '...',
    `${epoch}`,
    `${epoch}.`,
    `${epoch}.x.y`,
    `${epoch}.-1.y`,
    `${epoch}.1e3.y`,
    `${epoch}.${Number(sequence) + 1}.y`,
    `${epoch}.999999999999999999999.y`,
    `other.${sequence}.y`,
    'x'.repeat(8_000),
    'ü\u00ff',
    other.lastId,
    [stream.lastId, other.lastId],
    '__proto__.constructor.toString',
  ]
  for (const id of broken) {
    const label = String(id).slice(0, 60)
    const again = await comeBack(id)
    const frames = [await again.next(), await again.next()]
    t.strictSame(
      frames.map(({ event }) => event),
      ['resync', 'snapshot'],
      label,
    )
    t.equal(frames[1]?.data.length, 4, label)
    await server.leave(again)
  }
  const first = await comeBack('')
  t.equal((await first.next()).event, 'snapshot', 'an empty one is none')
})

t.test('a Last-Event-ID can break no line of the answer', async (t) => {
  const answer = await server.raw(
    'GET /tasks?team=red HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n' +
      'Last-Event-ID: a\nevent: removed\r\nConnection: close\r\n\r\n',
  )
  t.match(answer, /^HTTP\/1.1 400/)
})

t.test('an id of another query has no record of that one', async (t) => {
  await create({ team: 'blue', name: 'secret' })
  const stream = await open('/tasks?team=blue')
  const { lastId } = stream
  await server.leave(stream)
  const mine = await create({ ...red, name: 'mine' })
  await create({ team: 'blue', name: 'secret' })
  const again = await comeBack(lastId)
  const lines = await linesSoFar(again, tasks, red)
  t.ok(lines.length > 0)
  t.notMatch(lines.join(), /secret/)
  t.ok(mine)
})

t.test('a service without a query of its records begins anew', async (t) => {
  const stream = await open('/memory')
  await server.leave(stream)
  const again = await comeBack(stream.lastId, '/memory')
  t.strictSame(toLines([await again.next(), await again.next()]), ['resync', 'snapshot'])
})

t.test('more than the buffer holds is a new beginning', async (t) => {
  const small = await startLiveServer(
    t,
    (app) => app.use('tasks', new MongoDBService({ Model, multi: true })),
    { realtime: { bufferEvents: 3 } },
  )
  const service = small.app.service('tasks')
  const [stays, goes] = [await small.open('/tasks?team=red'), await small.open('/tasks?team=red')]
  await Promise.all([stays.next(), goes.next()])
  await small.leave(goes)
  for (const name of ['a', 'b', 'c']) await create({ ...red, name }, service)
  const back = await small.open('/tasks?team=red', { 'last-event-id': goes.lastId })
  t.equal((await back.next()).data.name, 'a', 'as many as it holds')
  await create({ ...red, name: 'd' }, service)
  const late = await small.open('/tasks?team=red', { 'last-event-id': goes.lastId })
  t.strictSame(toLines([await late.next(), await late.next()]), ['resync', 'snapshot'])
  await stays.upTo(({ data }) => data.name === 'd')
  const many = ['e', 'f', 'g', 'h', 'i'].map((name) => ({ ...red, name }))
  await service.create(many as never)
  t.strictSame(toLines(await stays.upTo(({ event }) => event === 'snapshot')), [
    'resync',
    'snapshot',
  ])
})

t.test('hooks that shape what is told shape what is told again', async (t) => {
  const stream = await open('/shaped?team=red')
  await server.leave(stream)
  await create({ ...red, name: 'a' }, server.app.service('shaped'))
  const again = await comeBack(stream.lastId, '/shaped?team=red')
  t.match(await again.next(), { event: 'created', data: { name: 'a' } })
})

t.test('a HEAD takes nothing from who comes back', async (t) => {
  const kept = await create({ ...red, name: 'kept' })
  const stream = await open()
  await server.leave(stream)
  const headers = { accept: 'text/event-stream', 'last-event-id': stream.lastId }
  const head = await server.request('/tasks?team=red', { method: 'HEAD', headers })
  t.equal(head.status, 200)
  await tasks.patch(kept, { team: 'blue' })
  const again = await comeBack(stream.lastId)
  t.match(await again.next(), { event: 'left' })
})
