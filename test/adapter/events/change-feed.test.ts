import { PassThrough } from 'node:stream'
import { MongoServerError } from 'mongodb'
import t from 'tap'
import { ChangeFeed } from '../../../src/adapter/events/change-feed.ts'
import { pluck } from '../../support/pluck.ts'
import { laterTurns, until } from '../../support/until.ts'

/** A feed of change streams that the test writes, and what it has told, in its order. */
function createFeed(tryNext: (count: number) => Promise<unknown> = async () => null) {
  const streams: PassThrough[] = []
  const told: string[] = []
  const feed = new ChangeFeed({
    watch: () => {
      const stream = new PassThrough({ objectMode: true })
      streams.push(stream)
      const [count, close] = [streams.length, async () => void stream.destroy()]
      return Object.assign(stream, { tryNext: () => tryNext(count), close }) as never
    },
    onOpen: () => void told.push('open'),
    onChange: (change) => void told.push((change as unknown as { name: string }).name),
    onFault: (cause) => void told.push(cause === null ? 'mended' : (cause as Error).message),
    pauseMs: 1,
  })
  return { feed, streams, told }
}

t.test('one change stream is opened after the other, and never two at once', async (t) => {
  const { feed, streams, told } = createFeed(async (count) => {
    if (count === 2) throw new Error('away')
  })
  t.teardown(() => feed.close())
  await feed.open()
  streams[0]?.write({ name: 'one' })
  await until(() => told.includes('one'))
  streams[0]?.destroy(new Error('broken'))
  await until(() => told.includes('mended'))
  streams[2]?.write({ name: 'two' })
  await until(() => told.includes('two'))
  t.strictSame(told, ['open', 'one', 'broken', 'away', 'open', 'mended', 'two'])
  const open = streams.filter(({ destroyed }) => !destroyed)
  t.strictSame(open, [streams[2]])
})

t.test('what an open feed is closed for is no fault, and it is not opened again', async (t) => {
  const { feed, streams, told } = createFeed()
  await feed.open()
  await feed.close()
  await laterTurns()
  t.strictSame(told, ['open'])
  t.strictSame(pluck(streams, 'destroyed'), [true])
})

t.test('a server without change streams is told from one that is away', async (t) => {
  const refusal = new MongoServerError({ message: 'no change streams here', code: 40573 })
  const none = createFeed(() => Promise.reject(refusal))
  await t.rejects(none.feed.open(), { name: 'NotImplemented', cause: refusal })
  const away = createFeed(() => Promise.reject(new Error('away')))
  await t.rejects(away.feed.open(), { message: 'away' })
  for (const { streams } of [none, away]) t.ok(streams[0]?.destroyed)
})
