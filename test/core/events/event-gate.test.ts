import t from 'tap'
import { afterCommit, EVENT_GATE } from '../../../src/core/events/event-gate.ts'
import { createApp } from '../../../src/core/index.ts'

t.test('calls nothing after a commit where no transaction runs', async (t) => {
  t.equal(
    afterCommit(() => t.fail('called')),
    false,
  )
})

t.test('hands the events of a call to the gate, and emits what it lets pass', async (t) => {
  const app = createApp().use('echo', { create: async (data: unknown) => data })
  const seen: unknown[] = []
  app.service('echo').on('created', (data) => seen.push(data))
  const held: (() => void)[] = []
  let isClosed = true
  EVENT_GATE.hold = (emit) => {
    if (isClosed) held.push(emit)
    return isClosed
  }
  t.teardown(() => {
    EVENT_GATE.hold = null
  })

  t.same(await app.service('echo').create([1, 2]), [1, 2])
  isClosed = false
  await app.service('echo').create(3)
  t.same(seen, [3])
  for (const emit of held) emit()
  t.same(seen, [3, 1, 2])

  isClosed = true
  t.equal(
    afterCommit(() => void seen.push('after')),
    true,
  )
  t.same(seen.length, 3)
  held.at(-1)?.()
  t.same(seen.at(-1), 'after')
})
