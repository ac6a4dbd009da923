import t from 'tap'
import type { RecordView } from '../../../src/core/services/record-view.ts'
import { createApp } from '../../../src/transport/index.ts'
import { EventLog } from '../../../src/transport/realtime/event-log.ts'
import { Round } from '../../../src/transport/realtime/round.ts'
import { Turns } from '../../../src/transport/realtime/turns.ts'

const app = createApp()
app.use('tasks', { find: async () => [] })
const method = app.entries.get('tasks')?.methods.get('find')

/** A round, and views that count what they are asked. */
function createRound() {
  if (method === undefined) throw new Error('No method')
  const log = new EventLog({ bufferEvents: 10, bufferMs: 1_000, overlapMs: 0 }, 'a.0')
  const round = new Round(method, log, new Turns(), [], new Map())
  const asked: string[] = []
  const createView = (key: string): RecordView => ({
    key,
    fieldsKey: key,
    place: 'a.tasks',
    isPage: false,
    matches: () => asked.push(key) > 0,
    pick(record) {
      asked.push(key)
      return record
    },
    read: async () => [],
  })
  return { round, asked, createView }
}

t.test('a frame is made once for all streams that show the same fields', (t) => {
  const { round, asked, createView } = createRound()
  const record = { text: 'a' }
  const frame = round.toFrame(createView('x'), 'patched', record)
  t.equal(frame, 'patched\ndata: {"text":"a"}\n\n')
  t.equal(round.toFrame(createView('x'), 'patched', record), frame)
  t.strictSame(asked, ['x'])
  t.end()
})

t.test('frames of more fields than fit are made again, not kept', (t) => {
  const { round, asked, createView } = createRound()
  const record = { text: 'a'.repeat(6_000_000) }
  for (const key of ['x', 'y', 'x', 'z', 'z', 'x']) {
    round.toFrame(createView(key), 'patched', record)
  }
  t.strictSame(asked, ['x', 'y', 'z', 'x'])
  t.end()
})

t.test('a frame that is longer than all that are kept is made once for all the same', (t) => {
  const { round, asked, createView } = createRound()
  const record = { text: 'a'.repeat(17_000_000) }
  for (let count = 0; count < 3; count += 1) round.toFrame(createView('x'), 'created', record)
  t.strictSame(asked, ['x'])
  t.end()
})

t.test('comparisons of more queries than fit are made again, not kept', (t) => {
  const { round, asked, createView } = createRound()
  const records = Array.from({ length: 40_000 }, () => ({}))
  for (const key of ['x', 'y', 'x', 'z', 'x']) {
    const view = createView(key)
    if (!records.every((record) => round.matches(view, record))) t.fail(key)
  }
  const counts = ['x', 'y', 'z'].map((key) => asked.filter((one) => one === key).length)
  t.strictSame(counts, [80_000, 40_000, 40_000])
  t.end()
})
