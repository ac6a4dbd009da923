import type { ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { laterTurns, until } from '../../support/until.ts'
import { linesSoFar, startLiveServer, toLines } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
const MEGABYTE = 'm'.repeat(2 ** 20)

t.beforeEach(() => empty('tasks'))

t.test('a record of a megabyte comes whole, in the snapshot and as it changes', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })))
  const service = server.app.service('a')
  await service.create({ name: 'first', text: MEGABYTE } as never)
  const stream = await server.open('/a')
  t.equal((await stream.next()).data[0].text.length, MEGABYTE.length)
  for (const name of ['a', 'b']) {
    const created = await service.create({ name, text: MEGABYTE } as never)
    const frame = await stream.next()
    t.equal(frame.data.text, MEGABYTE)
    await service.patch((created as unknown as { _id: ObjectId })._id, { name: `${name}!` })
    t.equal((await stream.next()).data.name, `${name}!`)
  }
  t.notOk(stream.hasEnded)
})

t.test('a snapshot of many megabytes comes whole', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })))
  await Model.insertMany(Array.from({ length: 12 }, (_, n) => ({ n, text: MEGABYTE })))
  const stream = await server.open('/a')
  t.equal((await stream.next()).data.length, 12)
  t.strictSame(await linesSoFar(stream, server.app.service('a')), [])
})

t.test('a reader that does not read is cut off, and comes back for what he missed', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })), {
    // A reader that waits is cut off at a heartbeat. It may have missed many megabytes by then.
    realtime: { maxWaitingBytes: 1_000, heartbeatMs: 200, maxReplayBytes: 1_000_000_000 },
  })
  const service = server.app.service('a')
  const [reads, sleeps] = [await server.open('/a'), await server.open('/a')]
  await Promise.all([reads.next(), sleeps.next()])
  sleeps.pause()
  let count = 0
  while (server.hub.size === 2) {
    count += 1
    await service.create({ name: `${count}`, text: MEGABYTE } as never)
    t.equal((await reads.next()).data.name, `${count}`)
  }
  t.equal(server.hub.size, 1)
  t.strictSame(await linesSoFar(reads, service), [], 'those who read are told as before')
  const again = await server.open('/a', { 'last-event-id': sleeps.lastId })
  const frames = await again.upTo(({ data }) => data.name === 'fence')
  t.equal(frames.at(0)?.data.name, '1')
  t.equal(frames.length, count + 1)
})

t.test('a client that leaves during the snapshot is forgotten', async (t) => {
  const gate = new Gate()
  let where = ''
  const wait = (place: string) => async () => {
    if (place === where) await gate.pass()
  }
  const server = await startLiveServer(t, (app) => {
    app.use('a', new MongoDBService({ Model }))
    app.service('a').hooks({
      around: {
        find: [
          async (_context: HookContext, next: () => Promise<void>) => {
            await next()
            await wait('around')()
          },
        ],
      },
      before: { find: [wait('before')] },
      after: { find: [wait('after')] },
    })
  })
  let arrived = 0
  for (const place of ['before', 'after', 'around']) {
    where = place
    const leaving = server.open('/a').catch(() => undefined)
    arrived += 1
    await gate.arrivals(arrived)
    server.fastify.server.closeAllConnections()
    await leaving
  }
  await laterTurns()
  gate.open()
  await until(() => server.hub.size === 0)
  where = ''
  t.equal((await (await server.open('/a')).next()).event, 'snapshot')
  t.equal(server.hub.size, 1)
})

t.test('an event that can not be written is told to nobody, and stops nothing', async (t) => {
  const events = ['rung']
  const server = await startLiveServer(t, (app) => {
    app.use('a', new MongoDBService({ Model, events }))
    app.use('shaped', new MongoDBService({ Model, events }))
    app.service('shaped').hooks({ after: { find: [() => undefined] } })
  })
  for (const path of ['a', 'shaped']) {
    const service = server.app.service(path)
    const created = await service.create({ name: 'a' } as never)
    const { _id } = created as unknown as { _id: ObjectId }
    const streams = [await server.open(`/${path}`), await server.open(`/${path}`)]
    for (const stream of streams) await stream.next()
    const circular: Record<string, unknown> = { _id, name: 'circular' }
    circular['self'] = circular
    service.emit?.('rung', circular)
    service.emit?.('rung', { _id, name: 'big', size: 1n })
    service.emit?.('rung', { _id, name: 'fine' })
    for (const stream of streams) {
      const lines = toLines(await stream.upTo(({ data }) => data.name === 'fine'))
      t.strictSame(lines, ['rung fine'], path)
    }
    await service.create({ name: 'b' } as never)
    t.equal((await streams[1]?.next())?.data.name, 'b', path)
  }
})
