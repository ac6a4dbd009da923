import t from 'tap'
import { createClient } from '../../../src/client/index.ts'
import type { RealtimeOptions } from '../../../src/client/realtime/index.ts'
import { realtime } from '../../../src/client/realtime/index.ts'
import { startEventServer } from '../../support/event-server.ts'
import { until } from '../../support/until.ts'

/** Attempts to connect follow at once. */
const QUICK: RealtimeOptions = { reconnectMs: 1, maxReconnectMs: 1 }

function connect(url: string, options?: RealtimeOptions) {
  return createClient({ baseURL: url }).configure(realtime({ ...QUICK, ...options }))
}

t.test('a loop gets the snapshot, then what is written', async (t) => {
  const server = await startEventServer(t)
  const client = connect(server.url)
  const events = client.service('tasks').subscribe({ query: { team: 7, $sort: { due: 1 } } })
  const first = events.next()
  const stream = await server.stream(0)
  t.equal(stream.url, '/tasks?team=7&%24sort%5Bdue%5D=1')
  stream
    .open([{ id: 1 }])
    .send('patched', { id: 1, done: true })
    .send('left', { id: 1 })
  t.strictSame((await first).value, { type: 'snapshot', data: [{ id: 1 }] })
  t.strictSame((await events.next()).value, { type: 'patched', data: { id: 1, done: true } })
  t.strictSame((await events.next()).value, { type: 'left', data: { id: 1 } })
  await events.return?.()
  await until(() => stream.isClosed)
})
