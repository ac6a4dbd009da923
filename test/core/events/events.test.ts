import { EventEmitter } from 'node:events'
import t from 'tap'
import type { Application } from '../../../src/core/index.ts'
import { createApp, HookContext } from '../../../src/core/index.ts'
import { pluck } from '../../support/pluck.ts'
import type { RecordingLogger } from '../recording-logger.ts'
import { createLogger } from '../recording-logger.ts'

const echo = {
  find: async () => ['found'],
  get: async (id: string | number) => ({ id }),
  create: async (data: unknown) => data,
  update: async (_id: unknown, data: unknown) => data,
  patch: async (_id: unknown, data: unknown) => data,
  remove: async (id: unknown) => ({ id }),
  shout: async (data: unknown) => data,
}

function createEchoApp(): { app: Application; logger: RecordingLogger; seen: unknown[] } {
  const logger = createLogger()
  const app = createApp().use('echo', echo, { methods: ['create', 'find', 'shout'] })
  app.logger = logger
  const seen: unknown[] = []
  for (const event of ['created', 'updated', 'patched', 'removed', 'shouted', 'found']) {
    app.service('echo').on(event, (data) => seen.push([event, data]))
  }
  return { app, logger, seen }
}

t.test('emits the event of each writing method, and none for the others', async (t) => {
  const { app, seen } = createEchoApp()
  const service = app.service('echo')
  await service.create({ a: 1 })
  await service.update(1, { b: 1 })
  await service.patch(1, { c: 1 })
  await service.remove(1)
  await service.find()
  await service.get(1)
  await service['shout']?.({ d: 1 })

  t.same(seen, [
    ['created', { a: 1 }],
    ['updated', { b: 1 }],
    ['patched', { c: 1 }],
    ['removed', { id: 1 }],
  ])
})

t.test('gives listeners the context of the call', async (t) => {
  const { app } = createEchoApp()
  const seen: HookContext[] = []
  app.service('echo').on('created', (_data, context) => seen.push(context))

  await app.service('echo').create({ a: 1 }, { query: { b: 1 } })
  t.type(seen[0], HookContext)
  t.match(seen[0], { path: 'echo', method: 'create', data: { a: 1 }, params: { query: { b: 1 } } })
})

t.test('emits once for each item of an array, never for an empty one, once per page', async (t) => {
  const { app, seen } = createEchoApp()
  const service = app.service('echo')
  await service.create([{ a: 1 }, { a: 2 }])
  t.same(seen.splice(0), [
    ['created', { a: 1 }],
    ['created', { a: 2 }],
  ])
  await service.create([])
  t.same(seen, [])
  await service.create({ total: 0, data: [] })
  t.same(seen, [['created', { total: 0, data: [] }]])
})

t.test('emits after every hook, with the result and not with dispatch', async (t) => {
  const { app, seen } = createEchoApp()
  const log: string[] = []
  app.service('echo').on('created', () => log.push('event'))
  app.hooks([
    async (context, next) => {
      await next()
      context.result = { last: true }
      context.dispatch = { hidden: true }
      log.push('outermost hook')
    },
  ])

  await app.service('echo').create({ a: 1 })
  t.same(log, ['outermost hook', 'event'])
  t.same(seen, [['created', { last: true }]])
})

t.test('hooks may change, add or suppress the event', async (t) => {
  const { app, seen } = createEchoApp()
  app.service('echo').hooks({
    before: {
      create: (context) => void Object.assign(context, { event: null }),
      find: (context) => void Object.assign(context, { event: 'found' }),
      shout: (context) => void Object.assign(context, { event: 'shouted' }),
    },
  })

  await app.service('echo').create({ a: 1 })
  await app.service('echo').find()
  await app.service('echo')['shout']?.({ loud: true })
  t.same(seen, [
    ['found', 'found'],
    ['shouted', { loud: true }],
  ])
})

t.test('emits for a result that a before hook set, and one that an error hook set', async (t) => {
  const { app, seen } = createEchoApp()
  app.service('echo').hooks({
    before: {
      create: (context) => void Object.assign(context, { result: 'cached' }),
      update: () => Promise.reject(new Error('broken')),
    },
    error: { update: (context) => void Object.assign(context, { result: 'rescued' }) },
  })

  await app.service('echo').create({})
  await app.service('echo').update(1, {})
  t.same(seen, [
    ['created', 'cached'],
    ['updated', 'rescued'],
  ])
})

t.test('emits nothing when the call fails', async (t) => {
  const { app, seen } = createEchoApp()
  app.service('echo').hooks({ after: () => Promise.reject(new Error('broken')) })
  await t.rejects(app.service('echo').create({}))
  t.same(seen, [])
})

t.test('leaves events to the service that it says it emits itself', async (t) => {
  const seen: unknown[] = []
  const app = createApp().use('own', { ...echo, events: ['created', 'done', 7] })
  app.use('option', echo, { events: ['created'] })
  for (const path of ['own', 'option']) {
    const service = app.service(path)
    service.on('created', (data) => seen.push(data)).on('patched', (data) => seen.push(data))
    await service.create('by itself')
    await service.patch(1, 'automatic')
  }

  t.same(seen, ['automatic', 'automatic'])
  const options = app.entries.get('own')?.options
  t.same(options?.events, ['created', 'done'])
  t.ok(options?.serviceEvents.includes('done'))
})

t.test('a listener that throws or rejects changes nothing for a call, is logged', async (t) => {
  const { app, logger, seen } = createEchoApp()
  const service = app.service('echo')
  service.on('created', () => {
    throw new Error('thrown')
  })
  service.on('created', async () => {
    throw new Error('rejected')
  })
  service.on('created', () => seen.push('after them'))

  t.same(await service.create({ a: 1 }), { a: 1 })
  await new Promise(setImmediate)
  t.same(seen, [['created', { a: 1 }], 'after them'])
  t.match(logger.entries, [
    { level: 'error', details: { event: 'echo created', err: { message: 'thrown' } } },
    { level: 'error', details: { event: 'echo created', err: { message: 'rejected' } } },
  ])
})

t.test('each service has listeners of its own, and its methods return it', async (t) => {
  const app = createApp().use('a', echo).use('b', echo)
  const seen: unknown[] = []
  const service = app.service('a')
  const listener = (data: unknown): void => void seen.push(data)

  t.equal(service.on('created', listener), service)
  t.equal(service.listenerCount('created'), 1)
  await app.service('b').create('b')
  await service.create('a')
  t.equal(service.off('created', listener), service)
  await service.create('gone')
  t.same(seen, ['a'])
})

t.test('a service can emit events of its own', async (t) => {
  const { app, seen } = createEchoApp()
  t.equal(app.service('echo').emit('shouted', 'by hand'), true)
  t.equal(app.service('echo').emit('whispered'), false)
  t.same(seen, [['shouted', 'by hand']])
})

class NodeEmitter extends EventEmitter {
  async create(data: unknown): Promise<unknown> {
    this.emit('working', data)
    return data
  }
}

t.test('a service that is an emitter of Node keeps its listeners', async (t) => {
  const service = new NodeEmitter()
  const seen: unknown[] = []
  service.on('working', (data) => seen.push(['working', data]))
  const app = createApp().use('node', service)
  service.once('created', (data, context) => seen.push([data, context.path]))

  await app.service('node').create('x')
  await app.service('node').create('y')
  t.same(seen, [
    ['working', 'x'],
    ['x', 'node'],
    ['working', 'y'],
  ])
})

t.test('a failing listener of such a service stops neither the call nor the others', async (t) => {
  const service = new NodeEmitter()
  const logger = createLogger()
  const app = createApp().use('node', service)
  app.logger = logger
  const seen: unknown[] = []
  service.on('created', () => {
    throw new Error('thrown')
  })
  service.on('created', () => Promise.reject(new Error('rejected')))
  service.on('created', (data) => seen.push(data))

  t.equal(await app.service('node').create('x'), 'x')
  await new Promise(setImmediate)
  t.same(seen, ['x'])
  t.match(logger.entries, [
    { details: { err: { message: 'thrown' } } },
    { details: { err: { message: 'rejected' } } },
  ])
  t.throws(() => service.emit('error', new Error('nobody listens')), { message: 'nobody listens' })
})

t.test('a service that emits in a way of its own does so, and may fail', async (t) => {
  const seen: unknown[] = []
  class Forwarding extends NodeEmitter {
    override emit(event: string | symbol, ...values: unknown[]): boolean {
      seen.push(event)
      if (event === 'created') throw new Error('no network')
      return super.emit(event, ...values)
    }
  }
  const logger = createLogger()
  const app = createApp().use('node', new Forwarding())
  app.logger = logger

  t.equal(await app.service('node').create('x'), 'x')
  t.same(seen, ['working', 'created'])
  t.match(logger.entries, [{ details: { event: 'node created', err: { message: 'no network' } } }])
})

t.test('warns of a listener for a method, unless the service has such an event', async (t) => {
  const app = createApp()
  const logger = createLogger()
  app.logger = logger
  const service = { create: async () => ({}) }
  app.use('todos', service).use('others', service, { events: ['create'] })
  for (const path of ['todos', 'others']) {
    for (const event of ['create', 'find', 'created', 'done']) {
      app.service(path).on(event, () => undefined)
    }
  }
  await app.setup()
  t.strictSame(pluck(logger.entries, 'details'), [{ service: 'todos', event: 'create' }])
})
