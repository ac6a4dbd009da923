import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { openDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import { startLiveServer, toLines } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')

t.beforeEach(() => empty('tasks'))

const CONDITIONS: Readonly<Record<string, number>> = {
  '': 0,
  'a=1&b=2': 2,
  'a[$gt]=1&a[$lt]=3': 2,
  '$or[0][a]=1&$or[1][a]=2&$or[1][b]=3': 3,
  'a[$in][]=1&a[$in][]=2&a[$in][]=3': 1,
  'a[$all][]=1&a[$all][]=2': 2,
  'a[$elemMatch][x]=1&a[$elemMatch][y][$ne]=2': 2,
  'a[$not][$gt]=1': 1,
  'a[$regex]=abc&a[$options]=i': 1,
}

for (const [query, count] of Object.entries(CONDITIONS)) {
  t.test(`a stream of ?${query} has ${count} conditions`, async (t) => {
    const operators = ['$all', '$elemMatch', '$not', '$regex', '$options']
    const configure = (max: number) =>
      startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model, operators })), {
        realtime: { maxConditions: max },
      })
    const stream = await (await configure(count)).open(`/a?${query}`)
    t.equal((await stream.next()).event, 'snapshot')
    if (count === 0) return
    const { status, body } = await (await configure(count - 1)).refusal(`/a?${query}`)
    t.equal(status, 400)
    t.equal(body.message, `The query of a stream can have at most ${count - 1} conditions`)
  })
}

t.test('a stream has no more than 50 conditions, where find may have more', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })))
  const query = Array.from({ length: 51 }, (_, n) => `$and[${n}][tags][$nin][]=${n}`).join('&')
  t.match(await server.refusal(`/a?${query}`), { status: 400, body: { message: /at most 50/ } })
  t.equal((await fetch(`${server.url}/a?${query}`)).status, 200)
})

t.test('a stream for which a change would take too long to judge begins anew', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })), {
    realtime: { maxComparedBytes: 1_000 },
  })
  const service = server.app.service('a')
  const cheap = await server.open('/a?name=big')
  const costly = await server.open('/a?tags[$ne]=x')
  await Promise.all([cheap.next(), costly.next()])
  const tags = Array.from({ length: 200 }, (_, n) => `tag ${n}`)
  await service.create({ name: 'small', tags: ['a'] } as never)
  t.strictSame(toLines([await costly.next()]), ['created small'])
  await service.create({ name: 'big', tags } as never)
  t.strictSame(toLines([await costly.next(), await costly.next()]), ['resync', 'snapshot'])
  t.strictSame(toLines([await cheap.next()]), ['created big'], 'by what its query looks at')
  await service.create({ name: 'last' } as never)
  t.strictSame(toLines([await costly.next()]), ['created last'])
})

t.test('a client that lacks more than may be read at once begins anew', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })), {
    realtime: { maxReplayBytes: 10_000 },
  })
  const service = server.app.service('a')
  const text = 'x'.repeat(4_000)
  const [stays, goes] = [await server.open('/a'), await server.open('/a')]
  await Promise.all([stays.next(), goes.next()])
  await server.leave(goes)
  const names = ['1', '2', '3', '4']
  for (const name of names) {
    await service.create({ name, text } as never)
    t.equal((await stays.next()).data.name, name, 'who is there is told of each')
  }
  const again = await server.open('/a', { 'last-event-id': goes.lastId })
  t.strictSame(toLines([await again.next(), await again.next()]), ['resync', 'snapshot'])
  await server.leave(stays)
  await service.create({ name: 'huge', text: text.repeat(10) } as never)
  const back = await server.open('/a', { 'last-event-id': stays.lastId })
  t.strictSame(toLines([await back.next()]), ['created huge'], 'a single record comes whole')
})

t.test('no more is made for a client than it reads, and one that stops is cut off', async (t) => {
  let judged = 0
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })), {
    realtime: { maxReplayBytes: 1e9, maxWaitingBytes: 2 ** 21, heartbeatMs: 200 },
  })
  const service = server.app.service('a')
  const first = await server.open('/a')
  await first.next()
  let { lastId } = first
  await server.leave(first)
  const text = 'm'.repeat(2 ** 18)
  const names = Array.from({ length: 60 }, (_, n) => `${n}`)
  for (const name of names) await service.create({ name, text } as never)
  service.publish(() => {
    judged += 1
    return true
  })
  const sleeps = await server.open('/a', { 'last-event-id': lastId })
  sleeps.pause()
  await until(() => server.hub.size === 0)
  t.ok(judged > 0 && judged < names.length, `${judged}`)
  const lines: string[] = []
  while (!lines.includes('created 59')) {
    // A machine that is slow enough may have this one cut off as well: it has got further each time.
    const reads = await server.open('/a', { 'last-event-id': lastId })
    await until(() => reads.hasEnded || reads.frames.at(-1)?.data.name === '59')
    lines.push(...toLines(reads.frames))
    lastId = reads.lastId
  }
  t.strictSame(
    [...new Set(lines)],
    names.map((name) => `created ${name}`),
  )
})
