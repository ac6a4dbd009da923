import type { Document, ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { publish } from '../../../src/transport/realtime/index.ts'
import { openDatabase } from '../../support/database.ts'
import { linesSoFar, startLiveServer } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
const red = { team: 'red' }

/** Leaves out of what is read what only the boss may see, as code that no query can say. */
function hideBossy({ result, params }: HookContext): void {
  if (params.provider === undefined) return
  const page = result as unknown as { data: Document[] }
  page.data = page.data.filter(({ bossy }) => bossy !== true)
}

const server = await startLiveServer(t, (app) => {
  app.use('tasks', new MongoDBService({ Model, multi: true }))
  app.use('filtered', new MongoDBService({ Model, paginate: { default: 10 }, events: ['rung'] }))
  app.service('filtered').hooks({ after: { find: [hideBossy] } })
  app.use('published', new MongoDBService({ Model }))
  publish(app.service('published'), ({ bossy }) => bossy !== true)
})
const tasks = server.app.service('tasks')

async function create(data: object, service: object = tasks): Promise<ObjectId> {
  const created = await (service as typeof tasks).create(data as never)
  return (created as unknown as { _id: ObjectId })._id
}

async function open(path: string) {
  const stream = await server.open(path)
  t.equal((await stream.next()).event, 'snapshot')
  return stream
}

t.beforeEach(() => empty('tasks'))

t.test('a record that no longer matches has left those who had it, by its id alone', async (t) => {
  const known = await create({ ...red, name: 'known' })
  const stream = await open('/tasks?team=red')
  const told = await create({ ...red, name: 'told' })
  t.match(await stream.next(), { event: 'created' })
  for (const id of [known, told]) await tasks.patch(id, { team: 'blue', name: 'secret' })
  const frames = await stream.upTo(({ data }) => data._id === `${told}` && data.name === undefined)
  t.match(frames, [
    { event: 'left', data: { _id: `${known}` } },
    { event: 'left', data: { _id: `${told}` } },
  ])
  t.strictSame(frames[0]?.data, { _id: `${known}` })
  t.notMatch(JSON.stringify(stream.frames), /secret|blue/)
})

t.test('ids that are documents or dates are told apart', async (t) => {
  const ids = [{ a: 1 }, { a: 2 }, new Date(5), new Date(6)]
  await Model.insertMany(ids.map((_id) => ({ _id, ...red, name: 'a' })) as never)
  const stream = await open('/tasks?team=red')
  await Model.updateMany({ _id: { $in: [ids[1], ids[3]] } } as never, { $set: { team: 'blue' } })
  for (const _id of ids) tasks.emit?.('patched', { _id })
  const frames = await stream.upTo(({ event, data }) => event === 'left' && data._id === toISO(6))
  t.strictSame(
    frames.map(({ event, data }) => [event, data._id]),
    [
      ['patched', { a: 1 }],
      ['left', { a: 2 }],
      ['patched', toISO(5)],
      ['left', toISO(6)],
    ],
  )
})

function toISO(ms: number): string {
  return new Date(ms).toISOString()
}

t.test('a record leaves once, and comes back by its change', async (t) => {
  const id = await create({ ...red, name: 'a' })
  const stream = await open('/tasks?team=red')
  await tasks.patch(id, { team: 'blue' })
  t.match(await stream.next(), { event: 'left' })
  await tasks.patch(id, { name: 'b' })
  t.strictSame(await linesSoFar(stream, tasks, red), [])
  await tasks.patch(id, { ...red, name: 'c' })
  t.match(await stream.next(), { event: 'patched', data: { name: 'c' } })
  await tasks.patch(id, { team: 'blue' })
  t.match(await stream.next(), { event: 'left' })
  await tasks.remove(id)
  t.strictSame(await linesSoFar(stream, tasks, red), [])
})

t.test('nobody hears of records that do not match, whatever happens to them', async (t) => {
  const id = await create({ team: 'blue', name: 'other' })
  const stream = await open('/tasks?team=red')
  const second = await create({ team: 'blue', name: 'second' })
  await tasks.patch(id, { name: 'x' })
  await tasks.update(id, { team: 'green', name: 'y' })
  await tasks.remove(id)
  await tasks.patch(null as never, { name: 'z' }, { query: { team: 'blue' } })
  await tasks.remove(null as never, { query: { team: 'blue' } })
  await tasks.remove(second).catch(() => undefined)
  t.strictSame(await linesSoFar(stream, tasks, red), [])
})

t.test('a record beyond $limit was not sent: it leaves unseen', async (t) => {
  await create({ ...red, name: 'a', rank: 1 })
  const beyond = await create({ ...red, name: 'b', rank: 2 })
  const stream = await open('/tasks?team=red&$limit=1&$sort[rank]=1')
  await tasks.patch(beyond, { team: 'blue' })
  t.strictSame(await linesSoFar(stream, tasks, red), [])
})

t.test('a record that is removed after it has changed unseen is told by its id', async (t) => {
  const id = await create({ ...red, name: 'a' })
  const stream = await open('/tasks?team=red')
  await Model.updateOne({ _id: id }, { $set: { team: 'blue', name: 'secret' } })
  await tasks.remove(id)
  const frame = await stream.next()
  t.match(frame, { event: 'removed' })
  t.strictSame(frame.data, { _id: `${id}` })
})

t.test('what an after hook hides is neither told nor left by those who never had it', async (t) => {
  const filtered = server.app.service('filtered')
  const stream = await open('/filtered?team=red')
  const id = await create({ ...red, name: 'hidden', bossy: true }, filtered)
  await filtered.patch(id, { name: 'hidden still' })
  filtered.emit?.('rung', { _id: id, bossy: true })
  await filtered.remove(id)
  t.strictSame(await linesSoFar(stream, filtered, red), [])
})

t.test('what an after hook begins to hide has left those who had it', async (t) => {
  const filtered = server.app.service('filtered')
  const id = await create({ ...red, name: 'a' }, filtered)
  const stream = await open('/filtered?team=red')
  await filtered.patch(id, { name: 'secret', bossy: true })
  const frame = await stream.next()
  t.strictSame([frame.event, frame.data], ['left', { _id: `${id}` }])
  await filtered.patch(id, { name: 'b', bossy: false })
  t.match(await stream.next(), { event: 'patched', data: { name: 'b' } })
  filtered.emit?.('rung', { _id: id, bossy: true })
  await filtered.patch(id, { name: 'c' })
  t.match(await stream.next(), { event: 'patched' }, 'an event of its own hidden by a hook is none')
  t.strictSame(await linesSoFar(stream, filtered, red), [])
  await Model.updateOne({ _id: id }, { $set: { bossy: true } })
  await filtered.remove(id)
  const gone = await stream.next()
  t.strictSame(
    [gone.event, gone.data],
    ['removed', { _id: `${id}` }],
    'who had it hears it is gone',
  )
})

t.test('publish() narrows what is heard, not what is found', async (t) => {
  const published = server.app.service('published')
  const id = await create({ ...red, name: 'a', bossy: true }, published)
  const stream = await server.open('/published?team=red')
  t.match((await stream.next()).data, [{ name: 'a' }])
  await published.patch(id, { name: 'b' })
  const unseen = await create({ ...red, name: 'c', bossy: true }, published)
  await published.remove(unseen)
  t.strictSame(await linesSoFar(stream, published, red), [])
  await published.patch(id, { team: 'blue' })
  t.match(await stream.next(), { event: 'left' }, 'who has it hears that it matches no more')
  const removed = await create({ ...red, name: 'd', bossy: true }, published)
  const other = await server.open('/published?team=red')
  await other.next()
  await published.remove(removed)
  const frame = await other.next()
  t.strictSame([frame.event, frame.data], ['removed', { _id: `${removed}` }], 'or that it is gone')
})
