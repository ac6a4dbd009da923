import t from 'tap'
import { Emitter } from '../../../src/core/index.ts'

interface Failure {
  readonly error: unknown
  readonly event: string | symbol
}

function createEmitter(): { emitter: Emitter; calls: unknown[][]; failures: Failure[] } {
  const failures: Failure[] = []
  const emitter = new Emitter((error, event) => failures.push({ error, event }))
  return { emitter, calls: [], failures }
}

t.test('calls every listener with all values, in the order of their registration', async (t) => {
  const { emitter, calls } = createEmitter()
  emitter.on('saved', (...values: unknown[]) => calls.push(['first', ...values]))
  emitter.addListener('saved', (...values: unknown[]) => calls.push(['second', ...values]))

  t.equal(emitter.emit('saved', 1, 2), true)
  t.equal(emitter.emit('lost', 1), false)
  t.same(calls, [
    ['first', 1, 2],
    ['second', 1, 2],
  ])
})

t.test('puts prepended listeners in front', async (t) => {
  const { emitter, calls } = createEmitter()
  emitter.on('saved', () => calls.push(['on']))
  emitter.prependListener('saved', () => calls.push(['prepended']))
  emitter.prependOnceListener('saved', () => calls.push(['prepended once']))

  emitter.emit('saved')
  emitter.emit('saved')
  t.same(calls.flat(), ['prepended once', 'prepended', 'on', 'prepended', 'on'])
})

t.test('calls a listener of once() once, also when it emits the event itself', async (t) => {
  const { emitter, calls } = createEmitter()
  emitter.once('saved', () => {
    calls.push(['first'])
    emitter.emit('saved')
  })
  emitter.once('saved', () => calls.push(['second']))

  emitter.emit('saved')
  emitter.emit('saved')
  t.same(calls.flat(), ['first', 'second'])
})

t.test('keeps the lasting registration of a listener when another was once', async (t) => {
  const { emitter, calls } = createEmitter()
  const listener = (): void => void calls.push(['called'])
  emitter.once('saved', listener).on('saved', listener)

  emitter.emit('saved')
  t.equal(calls.length, 2)
  emitter.emit('saved')
  emitter.emit('saved')
  t.equal(calls.length, 4)
})

t.test('removes one registration at a time, or all of an event', async (t) => {
  const { emitter, calls } = createEmitter()
  const listener = (): void => void calls.push(['called'])
  emitter.on('saved', listener).on('saved', listener).on('lost', listener)

  emitter.off('saved', listener)
  t.equal(emitter.listenerCount('saved'), 1)
  emitter.removeListener('saved', listener).removeListener('saved', listener)
  t.same(emitter.eventNames(), ['lost'])
  emitter.on('saved', listener).removeAllListeners('saved')
  t.same(emitter.eventNames(), ['lost'])
  emitter.removeAllListeners()
  t.same(emitter.eventNames(), [])
  t.equal(emitter.emit('lost'), false)
})

t.test('removes the latest of two registrations of a listener', async (t) => {
  const { emitter, calls } = createEmitter()
  const listener = (): void => void calls.push(['twice'])
  emitter
    .on('saved', listener)
    .on('saved', () => calls.push(['between']))
    .on('saved', listener)

  emitter.off('saved', listener).emit('saved')
  t.same(calls.flat(), ['twice', 'between'])
})

t.test('tells which listeners there are', async (t) => {
  const { emitter } = createEmitter()
  const first = (): void => undefined
  const second = (): void => undefined
  emitter.on('saved', first).once('saved', second)

  t.same(emitter.listeners('saved'), [first, second])
  t.same(emitter.listeners('constructor'), [])
  t.equal(emitter.listenerCount('lost'), 0)
})

t.test('goes on with the listeners it began with while one removes another', async (t) => {
  const { emitter, calls } = createEmitter()
  const second = (): void => void calls.push(['second'])
  emitter.on('saved', () => emitter.off('saved', second))
  emitter.on('saved', second)

  emitter.emit('saved')
  emitter.emit('saved')
  t.same(calls.flat(), ['second'])
})

t.test('reports a listener that throws and calls the others', async (t) => {
  const { emitter, calls, failures } = createEmitter()
  const error = new Error('broken')
  emitter.on('saved', () => {
    throw error
  })
  emitter.on('saved', () => calls.push(['second']))

  t.doesNotThrow(() => emitter.emit('saved'))
  t.same(calls.flat(), ['second'])
  t.equal(failures[0]?.error, error)
  t.equal(failures[0]?.event, 'saved')
})

t.test('reports a listener that rejects', async (t) => {
  const { emitter, failures } = createEmitter()
  const event = Symbol('saved')
  emitter.on(event, async () => {
    throw new Error('broken')
  })

  emitter.emit(event)
  await new Promise(setImmediate)
  t.match(failures, [{ error: { message: 'broken' }, event }])
})

t.test('refuses a listener that is no function', async (t) => {
  const { emitter } = createEmitter()
  const wrong = 'saved' as unknown as () => void
  t.throws(() => emitter.on('saved', wrong), {
    name: 'TypeError',
    message: "The listener of 'saved' must be a function",
  })
})
