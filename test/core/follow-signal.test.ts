import { getEventListeners } from 'node:events'
import t from 'tap'
import { followSignal } from '../../src/core/follow-signal.ts'

function count(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length
}

t.test('however many follow a signal, it has one listener, and none after the last', async (t) => {
  const { signal } = new AbortController()
  const ends = Array.from({ length: 100 }, () => followSignal(signal, () => undefined))
  t.equal(count(signal), 1)
  for (const end of ends.slice(1)) end()
  t.equal(count(signal), 1)
  ends[0]?.()
  ends[0]?.()
  t.equal(count(signal), 0)
  t.strictSame(Reflect.ownKeys(signal), Reflect.ownKeys(new AbortController().signal))
})

t.test('all who still follow are called once, in their order', async (t) => {
  const controller = new AbortController()
  const { signal } = controller
  const heard: unknown[] = []
  const end = followSignal(signal, () => heard.push('ended'))
  followSignal(signal, () => heard.push(signal.reason))
  followSignal(signal, () => heard.push(count(signal)))
  end()
  controller.abort('gone')
  controller.abort('again')
  t.strictSame(heard, ['gone', 0])
})

t.test('who ends in the middle of an abort disturbs nobody', async (t) => {
  const controller = new AbortController()
  const { signal } = controller
  const heard: string[] = []
  const ends = ['first', 'second', 'third'].map((name) =>
    followSignal(signal, () => {
      heard.push(name)
      for (const end of ends) end()
    }),
  )
  controller.abort()
  t.strictSame(heard, ['first', 'second', 'third'])
  const end = followSignal(signal, () => undefined)
  t.equal(count(signal), 1, 'a signal can be followed anew')
  end()
  t.equal(count(signal), 0)
})
