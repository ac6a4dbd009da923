import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel } from 'node:diagnostics_channel'
import type { Test } from 'tap'
import t from 'tap'
import { createApp as createCoreApp } from '../../../src/core/index.ts'
import { createApp, NotFound } from '../../../src/transport/index.ts'
import type { ObservedCall, ObservedHook } from '../../../src/transport/observing/call-channel.ts'
import { startOwnServer } from '../../support/own-server.ts'

const calls = tracingChannel<unknown, ObservedCall>('remex:call')
const hooks = tracingChannel<unknown, ObservedHook>('remex:hook')

/** Notes what a channel tells while a test runs. */
function observe(t: Test, channel: typeof calls | typeof hooks) {
  const told: [event: string, message: object][] = []
  const note = (event: string) => (message: object) => void told.push([event, { ...message }])
  const names = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const
  const listeners = Object.fromEntries(names.map((name) => [name, note(name)])) as never
  channel.subscribe(listeners)
  t.teardown(() => channel.unsubscribe(listeners))
  return told
}

function createNotes() {
  return {
    get: async (id: string) => {
      if (id === 'none') throw new NotFound('No note', { secret: 'in data' })
      if (id === 'broken') throw new RangeError('secret text')
      return { id, text: 'secret' }
    },
    find: () => ['secret'],
    create: async (data: object) => data,
  }
}

t.test('a call in the process is told from its start to its end, without data', async (t) => {
  const app = createApp().use('notes', createNotes() as never)
  const told = observe(t, calls)
  await app.service('notes').get('7')
  t.strictSame(
    told.map(([event]) => event),
    ['start', 'end', 'asyncStart', 'asyncEnd'],
  )
  const call = { path: 'notes', method: 'get', provider: undefined, requestId: undefined }
  const unsettled = { outcome: undefined, code: undefined, durationMs: undefined }
  t.strictSame(told[0]?.[1], { ...call, ...unsettled, databaseCalls: undefined })
  t.match(told[3]?.[1], { ...call, outcome: 'success', code: undefined, durationMs: Number })
  t.notMatch(JSON.stringify(told), /secret|"7"/)
})

t.test('a call that fails is told by the name and the status of its error', async (t) => {
  const app = createApp().use('notes', createNotes() as never)
  const told = observe(t, calls)
  await t.rejects(app.service('notes').get('none'), { message: 'No note' })
  await t.rejects(app.service('notes').get('broken'), { message: 'secret text' })
  const ends = told.filter(([event]) => event === 'error').map(([, message]) => message)
  t.match(ends, [
    { outcome: 'NotFound', code: 404 },
    { outcome: 'GeneralError', code: 500 },
  ])
  t.notMatch(JSON.stringify(told), /secret/)
})

t.test('a call from outside has its provider and the id of its request', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('notes', createNotes() as never))
  const told = observe(t, calls)
  t.equal((await server.request('/notes/7')).status, 200)
  t.equal((await server.request('/notes/none')).status, 404)
  t.equal((await server.request('/notes')).status, 200)
  const ends = told.filter(([event]) => event === 'asyncEnd').map(([, message]) => message)
  t.match(ends, [
    { method: 'get', provider: 'rest', requestId: String, outcome: 'success' },
    { method: 'get', provider: 'rest', requestId: String, outcome: 'NotFound', code: 404 },
    { method: 'find', provider: 'rest', requestId: String, outcome: 'success' },
  ])
})

t.test('nobody is told who does not ask, and everything works the same', async (t) => {
  const app = createApp().use('notes', createNotes() as never)
  const seen: unknown[] = []
  app.service('notes').on('created', (note) => void seen.push(note))
  t.strictSame(await app.service('notes').create({ a: 1 }), { a: 1 })
  const told = observe(t, calls)
  t.strictSame(await app.service('notes').create({ a: 2 }), { a: 2 })
  t.strictSame(await app.service('notes').find(), ['secret'])
  t.equal(told.length, 8)
  t.strictSame(seen, [{ a: 1 }, { a: 2 }])
})

t.test('what is bound to the start of a call is there in all that it does', async (t) => {
  const spans = new AsyncLocalStorage<string>()
  const app = createApp()
  app.use('inner', { get: async () => spans.getStore() } as never)
  app.use('outer', {
    get: async () => [spans.getStore(), await app.service('inner').get(1)],
  } as never)
  calls.start.bindStore(spans, (call) => `${spans.getStore() ?? ''}/${(call as ObservedCall).path}`)
  t.teardown(() => calls.start.unbindStore(spans))
  const told = observe(t, calls)
  t.strictSame(await app.service('outer').get(1), ['/outer', '/outer/inner'])
  t.ok(told.length > 0)
})

t.test('hooks that have a name are told, where somebody asks before they are added', async (t) => {
  const told = observe(t, hooks)
  const app = createApp().use('notes', createNotes() as never)
  const results: unknown[] = []
  app.service('notes').hooks({
    around: {
      get: async function timed(context, next) {
        await next()
        results.push(context.result)
      },
    },
    before: {
      get: [
        function check(): void {
          results.push('checked')
        },
        () => undefined,
      ],
    },
    after: {
      get: async function refuse() {
        throw new NotFound('secret')
      },
    },
  })
  await t.rejects(app.service('notes').get('7'), { message: 'secret' })
  const ends = told.filter(([event]) => event === 'asyncEnd').map(([, message]) => message)
  t.match(ends, [
    { path: 'notes', method: 'get', hook: 'check', type: 'before', outcome: 'success' },
    { hook: 'refuse', type: 'after', outcome: 'NotFound' },
    { hook: 'timed', outcome: 'NotFound' },
  ])
  t.equal(ends.length, 3)
  t.notMatch(JSON.stringify(told), /secret/)
})

t.test('applications of remex/core alone tell nothing', async (t) => {
  const told = observe(t, calls)
  const app = createCoreApp().use('notes', createNotes() as never)
  await app.service('notes').get('7')
  t.strictSame(told, [])
})
