import fastify from 'fastify'
import t from 'tap'
import type { Application, RestOptions } from '../../src/transport/index.ts'
import {
  createApp,
  fastifyApp,
  parseAuthentication,
  remex,
  rest,
} from '../../src/transport/index.ts'
import { addAccounts, addEcho } from '../support/accounts.ts'
import { openHost } from '../support/own-server.ts'

const WRONG: readonly [authentication: unknown, message: RegExp][] = [
  [{ servce: 'login' }, /unknown option 'authentication\.servce'; did you mean 'service'/],
  [
    { constructor: 'login' },
    /unknown option 'authentication\.constructor', allowed are service, strategies/,
  ],
  [{ service: 7 }, /'authentication\.service' must be a non-empty string/],
  [{ service: '' }, /'authentication\.service' must be/],
  [{ strategies: 'jwt' }, /'authentication\.strategies' must be a list/],
  [{ queryToken: 'false' }, /'authentication\.queryToken' must be true or false/],
  [true, /'authentication' must be an object, a list/],
  [null, /'authentication' must be an object/],
  [[{}, 'login'], /'authentication' must be an object/],
  [
    { service: 'login' },
    /'authentication\.service' is 'login', where no authentication service is/,
  ],
  [[{}, { service: 'users' }], /'authentication\.service' is 'users', where no/],
]

const RIGHT: readonly unknown[] = [
  ...[undefined, false, {}, [], { service: 'authentication' }, { service: '/authentication/' }],
  ...[{ service: undefined, strategies: undefined, queryToken: undefined }],
  ...[[{}, { service: 'authentication', strategies: ['jwt'], queryToken: true }]],
]

function addServices(app: Application): void {
  addAccounts(app)
  addEcho(app)
}

function startOwn(options: RestOptions) {
  const app = fastifyApp(createApp())
  app.configure(rest(options))
  addServices(app as unknown as Application)
  return app.fastify
}

function startPlugin(options: RestOptions) {
  const app = createApp()
  addServices(app)
  const host = fastify()
  host.register(remex, { app, ...options })
  return host
}

for (const [name, start] of Object.entries({ standalone: startOwn, plugin: startPlugin })) {
  t.test(`does not start where it can not find out who calls, ${name} (START-2)`, async (t) => {
    for (const [authentication, message] of WRONG) {
      const startUp = async (): Promise<void> => {
        const server = start({ authentication } as RestOptions)
        t.teardown(() => server.close())
        await server.ready()
      }
      await t.rejects(startUp, { name: 'TypeError', message }, String(message))
    }
  })

  t.test(`starts with services that are there, and with what is not given, ${name}`, async (t) => {
    for (const authentication of RIGHT) {
      const server = start({ authentication } as RestOptions)
      t.teardown(() => server.close())
      await t.resolves(async () => server.ready(), JSON.stringify(authentication))
      t.equal((await server.inject('/open')).statusCode, 200)
    }
  })
}

t.test('parseAuthentication() is checked as the option is (START-2)', async (t) => {
  const app = fastifyApp(createApp())
  app.configure(rest()).configure(parseAuthentication({ service: 'admin-login' }))
  t.teardown(() => app.fastify.close())
  await t.rejects(async () => app.fastify.ready(), { message: /is 'admin-login', where no/ })
})

t.test('a named authentication service that goes away lets nobody through', async (t) => {
  const app = createApp()
  addServices(app)
  const host = openHost(t)
  host.register(remex, { app, authentication: { service: 'authentication' } })
  t.equal((await host.inject('/open')).statusCode, 200)
  await app.unuse('authentication')
  t.equal((await host.inject('/open')).statusCode, 404)
})
