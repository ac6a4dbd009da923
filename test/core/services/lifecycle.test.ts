import t from 'tap'
import type { Application } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { createLogger } from '../recording-logger.ts'

const later = (): Promise<void> => new Promise(setImmediate)

/** A service that writes down when it is set up and torn down. */
function createService(log: string[], name: string, failsOn?: string): object {
  const record = async (step: string): Promise<void> => {
    log.push(`${name} ${step}`)
    await later()
    if (failsOn === step) throw new Error(`${name} failed`)
    log.push(`${name} ${step} done`)
  }
  return { find: async () => [], setup: () => record('setup'), teardown: () => record('teardown') }
}

t.test('sets services up one after the other and tears them down in reverse', async (t) => {
  const log: string[] = []
  const app = createApp().use('a', createService(log, 'a')).use('b', createService(log, 'b'))

  t.equal(await app.setup(), app)
  t.same(log.splice(0), ['a setup', 'a setup done', 'b setup', 'b setup done'])
  t.equal(await app.teardown(), app)
  t.same(log, ['b teardown', 'b teardown done', 'a teardown', 'a teardown done'])
})

t.test('calls setup and teardown with the application and the path, on the service', async (t) => {
  const seen: unknown[] = []
  const service = {
    async setup(this: unknown, app: Application, path: string) {
      seen.push(this, app, path)
    },
    async teardown(this: unknown, app: Application, path: string) {
      seen.push(this, app, path)
    },
  }
  const app = createApp().use('/todos/', service)
  const expected = [app.service('todos'), app, 'todos']

  await (await app.setup()).teardown()
  t.equal(seen.length, 6)
  t.ok(seen.every((value, index) => value === expected[index % 3]))
})

t.test('sets a service up once, and again after a teardown', async (t) => {
  const log: string[] = []
  const app = createApp().use('a', createService(log, 'a'))

  await app.setup()
  await app.setup()
  await app.teardown()
  await app.teardown()
  await app.setup()
  t.same(
    log.filter((line) => !line.endsWith('done')),
    ['a setup', 'a teardown', 'a setup'],
  )
})

t.test('sets a service up at once that comes after the start', async (t) => {
  const log: string[] = []
  const app = await createApp().setup()

  app.use('a', createService(log, 'a'))
  t.same(log, ['a setup'])
  await app.teardown()
  t.same(log, ['a setup', 'a setup done', 'a teardown', 'a teardown done'])
})

t.test('sets a service up that comes while others are, and waits for it', async (t) => {
  const log: string[] = []
  const app = createApp()
  app.use('a', {
    async setup() {
      await later()
      app.use('b', createService(log, 'b'))
    },
  })

  await app.setup()
  t.same(log, ['b setup', 'b setup done'])
})

t.test('logs the failed setup of a service that comes after the start', async (t) => {
  const app = createApp()
  const logger = createLogger()
  app.logger = logger
  await app.setup()

  app.use('late', createService([], 'late', 'setup'))
  await app.teardown()
  t.match(logger.entries, [
    { level: 'error', details: { path: 'late', err: { message: 'late failed' } } },
  ])
})

t.test('stops at the first setup that fails, and tears down what was set up', async (t) => {
  const log: string[] = []
  const app = createApp()
  app.use('a', createService(log, 'a')).use('b', createService(log, 'b', 'setup'))
  app.use('c', createService(log, 'c'))

  await t.rejects(app.setup(), { message: 'b failed' })
  t.same(log.splice(0), ['a setup', 'a setup done', 'b setup'])
  await app.teardown()
  t.same(log, ['a teardown', 'a teardown done'])
})

t.test('tries a failed setup again', async (t) => {
  let attempts = 0
  const app = createApp().use('a', {
    async setup() {
      attempts += 1
      if (attempts === 1) throw new Error('not yet')
    },
  })

  await t.rejects(app.setup(), { message: 'not yet' })
  await app.setup()
  t.equal(attempts, 2)
})

t.test('sets nothing more up once the teardown has begun', async (t) => {
  const log: string[] = []
  const app = createApp().use('a', createService(log, 'a')).use('b', createService(log, 'b'))

  const isSetUp = app.setup()
  await app.teardown()
  await isSetUp
  t.same(log, ['a setup', 'a setup done', 'a teardown', 'a teardown done'])
})

t.test('tears all services down when one fails, rejects with its error, logs others', async (t) => {
  const log: string[] = []
  const app = createApp()
  const logger = createLogger()
  app.logger = logger
  app.use('a', createService(log, 'a'))
  app.use('b', createService(log, 'b', 'teardown')).use('c', createService(log, 'c', 'teardown'))

  await app.setup()
  await t.rejects(app.teardown(), { message: 'c failed' })
  t.equal(log.at(-1), 'a teardown done')
  t.match(logger.entries, [{ details: { path: 'b', err: { message: 'b failed' } } }])
})

t.test('tears down what has no setup, set up or not, and once', async (t) => {
  const torn: string[] = []
  const app = createApp().use('a', { teardown: async () => void torn.push('a') })
  app.use('b', { setup: async () => undefined, teardown: async () => void torn.push('b') })

  await app.teardown()
  await app.teardown()
  t.same(torn, ['a'])
})

t.test('unuse() waits for a setup that is running', async (t) => {
  const log: string[] = []
  const app = await createApp().setup()
  app.use('a', createService(log, 'a'))

  await app.unuse('a')
  t.same(log, ['a setup', 'a setup done', 'a teardown', 'a teardown done'])
})

t.test('sets mounted services up with the application above and the longer path', async (t) => {
  const seen: unknown[] = []
  const service = { setup: async (app: unknown, path: string) => void seen.push(app, path) }
  const subApp = createApp().use('todos', service)
  const app = createApp().use('api', subApp)

  await app.setup()
  t.equal(seen[0], app)
  t.equal(seen[1], 'api/todos')
})

t.test('runs hooks around setup and teardown', async (t) => {
  const log: string[] = []
  const app = createApp().use('a', createService(log, 'a'))
  const server = { name: 'server' }
  app.hooks({
    setup: [
      async (context, next) => {
        log.push(`before ${context.method}`)
        t.equal(context.app, app)
        t.equal(context.server, server)
        await next()
        log.push(`after ${context.method}`)
      },
    ],
    teardown: async (context, next) => {
      log.push(`before ${context.method}`)
      await next()
    },
  })

  await app.setup(server)
  await app.teardown()
  t.same(log, [
    ...['before setup', 'a setup', 'a setup done', 'after setup'],
    ...['before teardown', 'a teardown', 'a teardown done'],
  ])
})

t.test('refuses hooks for setup that are no functions or stand beside other names', async (t) => {
  const app = createApp()
  const wrong = { setup: [1] } as object
  const mixed = { setup: [async () => undefined], get: [async () => undefined] } as object
  t.throws(() => app.hooks(wrong), { message: /setup hooks of the application/ })
  t.throws(() => app.hooks(mixed), { message: "'get' is not a lifecycle method: setup, teardown" })
})
