import t from 'tap'
import { MongoDBService, mongoEvents } from '../../../src/adapter/index.ts'
import { leadClock } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import { startLiveServer, toLines } from './live-server.ts'

const { empty } = await openDatabase(t)

const HOUR_MS = 3_600_000

for (const [title, isSilent] of [
  ['after a silence longer than the buffer', true],
  ['with a clock that is ahead', false],
] as const) {
  t.test(`with a bus, events are told ${title}`, async (t) => {
    const Model = await empty('tasks')
    const events = await empty('events')
    const clock = leadClock(t)
    if (!isSilent) clock.advance(HOUR_MS)
    const bus = mongoEvents({ collection: events, pollMs: 5 })
    const server = await startLiveServer(
      t,
      (app) => {
        app.use('tasks', new MongoDBService({ Model }), { events: ['reminded'] })
      },
      { realtime: { bus, bufferMs: HOUR_MS / 2 } },
    )
    const tasks = server.app.service('tasks')
    const stream = await server.open('/tasks')
    const emit = (event: string, data: object): void => {
      ;(tasks as unknown as { emit(event: string, data: object): void }).emit(event, data)
    }
    await stream.next()
    const record = (await tasks.create({ name: 'first' })) as { readonly _id: unknown }
    t.strictSame(toLines([await stream.next()]), ['created first'])
    await until(async () => (await events.countDocuments()) === 1)
    if (isSilent) clock.advance(HOUR_MS)
    await tasks.patch(record._id as never, { name: 'second' })
    t.strictSame(toLines([await stream.next()]), ['patched second'])
    if (isSilent) clock.advance(HOUR_MS)
    emit('reminded', { _id: record._id, name: 'third' })
    t.strictSame(toLines([await stream.next()]), ['reminded third'])
    await until(async () => (await events.countDocuments()) === 3)
    if (isSilent) return
    const { id = '' } = stream.frames.at(-1) ?? {}
    await server.leave(stream)
    const again = await server.open('/tasks', { 'last-event-id': String(id) })
    await tasks.create({ name: 'fence' })
    const frames = await again.upTo(({ data }) => data.name === 'fence')
    t.notMatch(toLines(frames).join(), 'resync')
  })
}
