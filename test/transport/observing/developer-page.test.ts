import { tracingChannel } from 'node:diagnostics_channel'
import t from 'tap'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  MemoryThrottleStore,
  protect,
  rateLimit,
  requireScope,
} from '../../../src/auth/index.ts'
import { resolveData, resolveExternal, Type, validateData } from '../../../src/core/schema/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import {
  createApp,
  developerPage,
  fastifyApp,
  NotFound,
  rest,
} from '../../../src/transport/index.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import { findChromium, openPage } from '../../support/chromium.ts'
import { setEnvironment } from '../../support/environment.ts'
import { openFrames } from '../../support/event-frames.ts'
import { openApp, startOwnServer } from '../../support/own-server.ts'
import { until } from '../../support/until.ts'

setEnvironment(t, 'development')

const chromium = findChromium()
const skip = chromium === undefined && 'the page needs Chromium: install the package `chromium`'

const notes = {
  find: async () => [],
  get: async (id: string) => {
    if (id === 'odd') throw Object.assign(new NotFound('secret'), { name: '<b>Odd</b>' })
    return { id, text: 'secret' }
  },
  create: async (data: object) => data,
}

const AUTHENTICATION = {
  secret: 'a secret of at least 32 bytes for tests',
  entity: null,
  authStrategies: ['jwt'],
  jwtOptions: { issuer: 'notes', audience: 'notes', expiresIn: '1d' },
}

function createServed(configure: (app: FastifyApplication) => void): FastifyApplication {
  const app = fastifyApp(createApp())
  app.configure(rest())
  configure(app)
  return app
}

async function ask(app: FastifyApplication, url: string, headers: Record<string, string> = {}) {
  await app.fastify.ready()
  return app.fastify.inject({ url, headers: { host: '127.0.0.1:3030', ...headers } })
}

t.test('services are shown with their hooks in order, and their schemas', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.set('authentication', AUTHENTICATION)
    const authentication = new AuthenticationService(app as never)
    authentication.register('jwt', new JwtStrategy())
    app.configure(developerPage()).use('authentication', authentication as never)
    const schemas = { create: Type.Object({ text: Type.String() }) }
    app.use('notes', { ...notes } as never, { methods: ['find', 'create'], schemas } as never)
    const [note, setDate, logError] = ['note', 'setDate', 'logError'].map(createHook)
    const tell = async (_context: unknown, next: () => Promise<void>) => next()
    app.service('notes').hooks({
      around: { all: [tell] },
      before: { all: [authenticate('jwt'), note], create: [setDate] },
      after: { create: [() => undefined] },
    } as never)
    app.hooks({ error: { all: [logError] } } as never)
  })
  const { text } = await server.request('/developer/services.json')
  const [login, service, ...others] = JSON.parse(text)
  t.match(login, { path: 'authentication', className: 'AuthenticationService' })
  t.strictSame(others, [])
  t.match(service, { path: 'notes', className: 'Object', events: ['created'] })
  const [find, get, create] = service.methods
  t.match(find, { name: 'find', isExternal: true, hooks: { after: [] } })
  t.match(get, { name: 'get', isExternal: false, schemas: null })
  t.strictSame(create.hooks, {
    before: ['tell (around)', "authenticate('jwt')", 'checkSchemas', 'note', 'setDate'],
    after: ['anonymous'],
    error: ['logError'],
  })
  t.match(create.schemas.data, { properties: { text: { type: 'string' } } })
})

t.test('hooks of this package are shown by their factories and arguments', async (t) => {
  const limit = rateLimit({
    max: 10,
    windowSeconds: 60,
    by: () => 'all',
    store: new MemoryThrottleStore(),
  })
  const hooks = {
    create: [resolveData(), validateData(true), hashPassword('password'), limit],
    find: [requireScope('notes:read')],
  }
  const app = createServed((app) => {
    app.configure(developerPage()).use('notes', { ...notes } as never)
    const around = { all: [resolveExternal()] }
    app
      .service('notes')
      .hooks({ around, before: hooks, after: { all: [protect('password', 'resetToken')] } })
  })
  t.teardown(() => app.close())
  const [service] = (await ask(app, '/developer/services.json')).json()
  t.match(service.methods[2].hooks, {
    before: [
      'resolveExternal (around)',
      'resolveData',
      'validateData',
      "hashPassword('password')",
      'rateLimit({ max: 10, windowSeconds: 60, by: …, store: … })',
    ],
    after: ["protect('password', 'resetToken')"],
  })
  t.match(service.methods[0].hooks.before, [/^resolveExternal/, "requireScope('notes:read')"])
})

t.test('the last calls are shown without data, the newest first', async (t) => {
  const app = createServed((app) =>
    app.configure(developerPage()).use('notes', { ...notes } as never),
  )
  t.teardown(() => app.close())
  await ask(app, '/notes/1')
  await ask(app, '/notes/odd')
  await app.service('notes').create({ text: 'secret' })
  const answer = await ask(app, '/developer/calls.json')
  t.notMatch(answer.body, /secret/)
  t.match(answer.json().calls, [
    { path: 'notes', method: 'create', outcome: 'success', durationMs: Number },
    { method: 'get', provider: 'rest', code: 404, databaseCalls: 0 },
    { method: 'get', provider: 'rest', outcome: 'success', endedAt: Number },
  ])
  for (let index = 0; index < 120; index += 1) await app.service('notes').find()
  t.equal((await ask(app, '/developer/calls.json')).json().calls.length, 100)
})

t.test('open streams are counted by their service', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app
      .configure(realtime())
      .configure(developerPage())
      .use('notes', { ...notes } as never)
  })
  const stream = await openFrames(t, `${server.url}/notes`)
  await stream.next()
  const { body } = await server.request('/developer/calls.json')
  t.match(body, { streams: { notes: 1 } })
})

t.test('others than browsers on this machine get 404', async (t) => {
  const app = createServed((app) => app.configure(developerPage()))
  t.teardown(() => app.close())
  for (const url of ['/', '/developer/services.json', '/developer/calls.json']) {
    t.equal((await ask(app, url)).statusCode, 200)
    t.equal(
      (await ask(app, url, { host: 'my.localhost:3030', 'sec-fetch-site': 'none' })).statusCode,
      200,
    )
    const foreign = [
      { host: 'attacker.example' },
      { host: '127.0.0.1.attacker.example' },
      { host: 'localhost.attacker.example:3030' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'x-forwarded-for': '192.0.2.1' },
      { forwarded: 'for=192.0.2.1' },
      { via: '1.1 proxy' },
    ]
    for (const headers of foreign) {
      const answer = await ask(app, url, headers as Record<string, string>)
      t.match(answer.json(), { name: 'NotFound', code: 404 }, JSON.stringify(headers))
    }
    const headers = { host: '127.0.0.1' }
    const answer = await app.fastify.inject({ url, headers, remoteAddress: '192.0.2.1' })
    t.equal(answer.statusCode, 404)
  }
})

t.test('unless NODE_ENV is development the page is not there, and nothing is kept', async (t) => {
  const lines: (string | undefined)[] = []
  for (const environment of [undefined, '', 'production', 'prod', 'test', 'Development']) {
    setEnvironment(t, environment)
    // A proxy on this machine that adds no header, as nginx does by default, asks like a browser of the developer.
    const app = createServed((app) => {
      app.logger = { ...app.logger, info: (_details, message) => void lines.push(message) }
      app.configure(developerPage())
    })
    for (const url of ['/', '/developer', '/developer/calls.json', '/developer/services.json']) {
      t.equal((await ask(app, url)).statusCode, 404, String(environment))
    }
    t.notOk(tracingChannel('remex:call').asyncEnd.hasSubscribers)
    await app.close()
  }
  t.match(lines, [/is not set: start with NODE_ENV=development/, /NODE_ENV=development/])
  t.equal(lines.length, 2)
})

t.test('it stands back where something else is served', async (t) => {
  const route = createServed((app) => {
    app.configure(developerPage())
    app.fastify.get('/', async () => 'mine')
  })
  const wildcard = createServed((app) => {
    app.configure(developerPage())
    app.fastify.get('/*', async () => 'mine')
  })
  const service = createServed((app) => {
    app.configure(developerPage()).use('/', { find: async () => 'mine' } as never)
  })
  for (const app of [route, wildcard, service]) {
    t.match((await ask(app, '/')).body, 'mine')
    t.match((await ask(app, '/developer')).body, /<title>Services/)
    t.equal((await ask(app, '/developer/calls.json')).statusCode, 200)
    await app.close()
  }
  const taken = createServed((app) => {
    app.configure(developerPage({ path: '/notes' })).use('notes', { ...notes } as never)
  })
  await t.rejects(Promise.resolve(taken.fastify.ready()), /there is a route at '\/notes'/)
})

t.test('it is below the prefix of the services', async (t) => {
  const app = openApp(t)
  app.configure(rest({ prefix: '/api' } as never)).configure(developerPage({ path: '/dev' }))
  t.match((await ask(app, '/api/dev')).body, 'data-base=""')
  t.equal((await ask(app, '/api/dev/services.json')).statusCode, 200)
})

t.test('it lets go of the process with the server', async (t) => {
  const app = createServed((app) => app.configure(developerPage()))
  await app.fastify.ready()
  t.ok(tracingChannel('remex:call').asyncEnd.hasSubscribers)
  await app.close()
  t.notOk(tracingChannel('remex:call').asyncEnd.hasSubscribers)
})

t.test('what can not work is refused', async (t) => {
  t.throws(() => developerPage({ url: '/' } as never), /unknown option 'url'/)
  for (const path of ['/a b', 'a', '/a//b', '/a/', '/:id', '']) {
    t.throws(() => developerPage({ path }), /'path' must be a path of plain segments/)
  }
  t.throws(() => createApp().configure(developerPage as never), /lacks the call/)
  const { app } = await startOwnServer(t, (app) => {
    app.configure(developerPage())
    t.throws(() => app.configure(developerPage()), /has one already/)
  })
  t.throws(() => app.configure(developerPage()), /has started/)
})

t.test('a browser shows calls as they come, and hostile names as text', { skip }, async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.configure(developerPage()).use('notes', { ...notes } as never)
    app.service('notes').hooks({ before: { get: [createHook('<b>Hook</b>')] } } as never)
  })
  const { evaluate, read, click } = await openPage(t, String(chromium), `${server.url}/`)
  t.match(await read('#services summary'), '/notes')
  await click('#services summary')
  t.match(await read('#services table'), '<b>Hook</b>')
  const marked =
    "[...document.querySelectorAll('#services b')].map((one) => one.textContent).join()"
  t.notMatch(await evaluate(marked), 'Hook')
  await server.request('/notes/odd')
  t.match(await read('#calls tr'), '404 NotFound')
  await server.request('/notes')
  await until(async () =>
    /notes\.find/.test(String(await evaluate("document.querySelector('#calls').textContent"))),
  )
  t.equal(await evaluate("document.querySelectorAll('#calls b').length"), 0)
})

t.test('nothing on the page is cut off on a laptop or a phone', { skip }, async (t) => {
  const path = 'organizations/:organizationId/notifications'
  const server = await startOwnServer(t, (app) => {
    app.configure(developerPage()).use(path, { ...notes } as never)
    const limit = rateLimit({
      max: 10,
      windowSeconds: 60,
      name: 'notifications-of-an-organization',
    })
    app.service(path).hooks({
      before: { all: [limit, createHook('loadOrganizationOfTheCurrentUser')] },
      after: { all: [protect('password', 'passwordResetToken', 'verificationToken')] },
    } as never)
  })
  await server.request('/organizations/7/notifications/odd')
  const { evaluate, read, click, setWidth } = await openPage(t, String(chromium), `${server.url}/`)
  await read('#calls tr')
  await click('#services summary')
  for (const width of [1280, 390]) {
    await setWidth(width)
    const cut = await evaluate(`[...document.querySelectorAll('main *')]
      .filter((it) => it.getBoundingClientRect().right > it.closest('section').getBoundingClientRect().right + 1)
      .map((it) => it.textContent).join()`)
    t.equal(cut, '', `${width} pixels`)
    t.equal(
      await evaluate(
        '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.documentElement)',
      ),
      0,
    )
  }
})

t.test('internal calls can be hidden', { skip }, async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.configure(developerPage()).use('notes', { ...notes } as never)
  })
  await server.request('/notes')
  await server.app.service('notes').create({ text: 'internal' })
  const { evaluate, read, click } = await openPage(t, String(chromium), `${server.url}/`)
  t.match(await read('#calls tr'), 'notes.create internal')
  const calls = "[...document.querySelectorAll('#calls code')].map((it) => it.textContent).join()"
  await click('#internal')
  await until(async () => (await evaluate(calls)) === 'notes.find')
  t.match(await read('#calls tr'), 'notes.find rest')
})

/** Returns a hook of a name. */
function createHook(name: string): () => undefined {
  return Object.defineProperty(() => undefined, 'name', { value: name })
}
