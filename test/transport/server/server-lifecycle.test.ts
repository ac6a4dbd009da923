import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import t from 'tap'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../../src/transport/index.ts'
import { holdTimers } from '../../support/clock.ts'
import type { TestScope } from '../../support/http.ts'
import { openApp } from '../../support/own-server.ts'

interface Opened {
  readonly app: FastifyApplication
  readonly steps: string[]
  /** Resolves when the setup of the services has begun. */
  readonly begun: Promise<void>
  /** Lets the setup go on, which waits for it. */
  goOn(): void
}

/** Opens an application with a service that notes its setup and teardown. */
function open(t: TestScope, { server = {}, waits = false } = {}): Opened {
  const app = fastifyApp(createApp(), server).configure(rest())
  const steps: string[] = []
  let begin = (): void => undefined
  let goOn = (): void => undefined
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const gate = new Promise<void>((resolve) => {
    goOn = resolve
  })
  app.use('notes', {
    get: async (id: string) => ({ id }),
    async setup() {
      begin()
      if (waits) await gate
      steps.push('setup')
    },
    teardown: async () => steps.push('teardown'),
  })
  t.teardown(() => app.fastify.close())
  return { app, steps, begun, goOn }
}

const BOTH = ['setup', 'teardown']

/** Ways to end an application. */
const ENDS: Readonly<Record<string, (app: FastifyApplication) => Promise<unknown>>> = {
  'close()': (app) => app.close(),
  'teardown()': (app) => app.teardown(),
  'fastify.close()': (app) => app.fastify.close(),
}

for (const [title, end] of Object.entries(ENDS)) {
  t.test(`listen() rejects after ${title} during the setup, with nothing open`, async (t) => {
    const { app, steps, begun, goOn } = open(t, { waits: true })
    const listening = app.listen(0)
    const rejected = t.rejects(listening, { name: 'Unavailable', message: /closed while/ })
    await begun
    const ended = end(app)
    goOn()
    await Promise.all([rejected, ended])
    t.notOk(app.server.listening)
    t.strictSame(steps, BOTH)
  })

  t.test(`listen() rejects after ${title} in the same moment`, async (t) => {
    const { app } = open(t)
    const rejected = t.rejects(app.listen(0), { name: 'Unavailable' })
    await Promise.all([rejected, end(app)])
    t.notOk(app.server.listening)
  })

  t.test(`${title} closes the server that listens and tears down, once`, async (t) => {
    const { app, steps } = open(t)
    const server = await app.listen(0)
    await end(app)
    t.notOk(server.listening)
    t.strictSame(steps, BOTH)
    for (const again of Object.values(ENDS)) await again(app)
    t.strictSame(steps, BOTH)
  })

  t.test(`listen() after ${title} says that a new application is needed`, async (t) => {
    const { app } = open(t)
    await app.listen(0)
    await end(app)
    await t.rejects(app.listen(0), { name: 'TypeError', message: /make a new one/ })
    t.notOk(app.server.listening)
  })
}

t.test('all ways to end at the same time wait for the same end', async (t) => {
  const { app, steps } = open(t)
  await app.listen(0)
  await Promise.all([app.teardown(), app.close(), app.teardown(), app.close()])
  t.notOk(app.server.listening)
  t.strictSame(steps, BOTH)
})

t.test('a second listen() is refused, and the first one stays', async (t) => {
  const { app } = open(t)
  const first = app.listen(0)
  await t.rejects(app.listen(0), { name: 'TypeError', message: /listens already/ })
  const { port } = (await first).address() as AddressInfo
  await t.rejects(app.listen(0), { name: 'TypeError', message: /listens already/ })
  t.equal((await fetch(`http://127.0.0.1:${port}/notes/1`)).status, 200)
})

t.test('listen() after a close() before it is refused', async (t) => {
  const { app, steps } = open(t)
  await app.close()
  await t.rejects(app.listen(0), { name: 'TypeError', message: /was closed/ })
  t.strictSame(steps, [])
})

t.test('teardown() answers what is in flight before it tears down', async (t) => {
  const { app, steps } = open(t)
  let finish = (): void => undefined
  const arrived = new Promise<void>((resolve) => {
    const get = async (): Promise<object> => {
      resolve()
      await new Promise<void>((done) => {
        finish = done
      })
      steps.push('answered')
      return {}
    }
    app.use('slow', { get })
  })
  const { port } = (await app.listen(0)).address() as AddressInfo
  const answer = fetch(`http://127.0.0.1:${port}/slow/1`)
  await arrived
  const torn = app.teardown()
  finish()
  t.equal((await answer).status, 200)
  t.equal(await torn, app)
  t.strictSame(steps, ['setup', 'answered', 'teardown'])
})

t.test('a teardown that ends the application waits for nothing', async (t) => {
  for (const end of Object.values(ENDS).slice(0, 2)) {
    const { app, steps } = open(t)
    let runs = 0
    app.hooks({
      teardown: async (_context, next) => {
        runs += 1
        await end(app)
        await next()
        await end(app)
      },
    })
    app.use('last', { get: async () => ({}), teardown: async () => end(app) })
    await app.listen(0)
    await end(app)
    t.notOk(app.server.listening)
    t.strictSame([steps, runs], [BOTH, 1])
  }
})

t.test('teardown() without a server that listens leaves it to be started', async (t) => {
  const { app, steps } = open(t)
  await app.setup()
  await app.teardown()
  t.strictSame(steps, BOTH)
  await app.listen(0)
  t.ok(app.server.listening)
  await app.teardown()
  t.strictSame(steps, [...BOTH, ...BOTH])
})

t.test('teardown() closes a server of somebody else only if listen() opened it', async (t) => {
  const host = fastify()
  const { app, steps } = open(t, { server: host })
  await host.listen({ port: 0, host: '127.0.0.1' })
  await app.teardown()
  t.ok(host.server.listening)
  t.strictSame(steps, BOTH)
  const second = open(t, { server: fastify() })
  await second.app.listen(0)
  await second.app.teardown()
  t.notOk(second.app.server.listening)
})

t.test('teardown() leaves a server that was given to setup() to its user', async (t) => {
  const { app, steps } = open(t)
  const server = createServer()
  await app.setup(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  await app.teardown()
  t.ok(server.listening)
  t.strictSame(steps, BOTH)
})

t.test('the teardown of a mounted application closes nothing else', async (t) => {
  const { app } = open(t)
  const sub = createApp().use('inner', { get: async () => ({}) })
  app.use('/sub', sub)
  await app.listen(0)
  await sub.teardown()
  t.ok(app.server.listening)
})

t.test('services that no request reaches are told at the start', async (t) => {
  for (const [paths, isServing, expected] of [
    [['notes', 'users'], false, [[{ services: ['notes', 'users'] }, /rest\(\)\) is missing/]]],
    [[], false, []],
    [['notes'], true, []],
  ] as const) {
    const told: unknown[] = []
    const app = openApp(t)
    if (isServing) app.configure(rest())
    app.logger = { ...console, warn: (...values: unknown[]) => void told.push(values) }
    for (const path of paths) app.use(path, { get: async () => ({}) })
    await app.listen(0)
    t.match(told, expected)
    t.equal(told.length, expected.length)
  }
})

t.test('a process that goes on after a failed start says what keeps it', async (t) => {
  const timers = holdTimers(t, 1_000)
  const warnings: unknown[][] = []
  const fail = async (): Promise<FastifyApplication> => {
    const app = fastifyApp(createApp()).configure(rest())
    app.logger = { ...app.logger, warn: (...values: unknown[]) => void warnings.push(values) }
    app.use('notes', { get: async () => 1, setup: async () => Promise.reject(new Error('no')) })
    await t.rejects(app.listen(0), { message: 'no' })
    return app
  }
  const server = createServer().listen(0)
  t.teardown(() => server.close())
  await fail()
  t.equal(timers.size, 1)
  t.strictSame(warnings, [])
  timers.fire()
  const [[details, message] = []] = warnings as [{ open: string[] }, string][]
  t.ok(details?.open.includes('TCPServerWrap'))
  t.match(message, /start failed, and the process still runs: close/)
  // Ended on purpose: the process may well go on.
  const { app, begun, goOn } = open(t, { waits: true })
  const listening = app.listen(0)
  await begun
  const closed = app.close()
  goOn()
  await Promise.all([t.rejects(listening, { message: /closed while/ }), closed])
  t.equal(timers.size, 0)
})
