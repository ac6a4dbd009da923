import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { authenticate, protect } from '../../src/auth/index.ts'
import { createApp as createCoreApp } from '../../src/core/index.ts'
import type {
  Application,
  FastifyApplication,
  HookContext,
  Params,
} from '../../src/transport/index.ts'
import { Conflict } from '../../src/transport/index.ts'
import { CREDENTIALS } from '../auth/login-app.ts'
import { bearer, logIn } from '../support/accounts.ts'
import type { ServerOptions, TestScope, TestServer } from '../support/http.ts'
import { injectServer } from '../support/http.ts'
import { startApp } from '../support/test-app.ts'

interface User {
  id: number
  name: string
  password: string
  profile: { token: string; city: string }
  [field: string]: unknown
}

class Person {
  readonly id = 1
  readonly name = 'Ann'
  readonly password = 'HASH'
  greet(): string {
    return `I am ${this.name}`
  }
}

/** A record whose JSON is made by itself, of what nobody else can see. */
class Sealed {
  readonly #fields: Record<string, unknown>
  constructor(fields: Record<string, unknown>) {
    this.#fields = fields
  }
  toJSON(): unknown {
    return { ...this.#fields }
  }
}

const SHOWN = { id: 1, name: 'Ann', profile: { city: 'Ulm' } }

function createUser(): User {
  return { id: 1, name: 'Ann', password: 'HASH', profile: { token: 'SECRET', city: 'Ulm' } }
}

/** What `users` returns, in each form that records may have. */
const STORED: Readonly<Record<string, () => object>> = {
  'an object': createUser,
  'a frozen object': () => Object.freeze(createUser()),
  'an object without prototype': () => Object.assign(Object.create(null), createUser()),
  'an object of a class': () => Object.assign(new Person(), createUser()),
  'an object with toJSON': () => new Sealed(createUser()),
}

/** Users whose passwords are kept from callers outside, and answers that hold users. */
function serve(app: Application, user: () => object, populate: (user: User) => unknown): void {
  app.use('users', {
    find: async () => ({ total: 1, limit: 1, skip: 0, data: [user()] }),
    get: async () => user(),
    create: async () => [user()],
  })
  app.use('posts', { find: async () => [], get: async () => ({ id: 7 }), create: async () => [] })
  const users = app.service('users')
  users.hooks({ after: { all: [protect('password', 'profile.token')] } })
  app.service('posts').hooks({
    after: {
      all: async (context: HookContext) => {
        context.result = (await populate((await users.get(1)) as User)) as object
      },
    },
  })
}

function open(
  t: TestScope,
  populate: (user: User, app: Application) => unknown,
  user: () => object = createUser,
  options: ServerOptions = {},
): Promise<TestServer> {
  const services = (app: Application) => serve(app, user, (one) => populate(one, app))
  return injectServer(t, { ...options, services })
}

/** Where a record may end up in an answer, and what is sent then. */
const PLACES: readonly [title: string, put: (user: User) => unknown, sent: unknown][] = [
  ['itself', (user) => user, SHOWN],
  ['a field', (author) => ({ id: 7, author }), { id: 7, author: SHOWN }],
  ['a list', (user) => [user, { user }], [SHOWN, { user: SHOWN }]],
  ['any depth', (user) => ({ a: [{ b: { c: [[user]] } }] }), { a: [{ b: { c: [[SHOWN]] } }] }],
  [
    'what toJSON returns',
    (user) => ({ sealed: new Sealed({ user }) }),
    { sealed: { user: SHOWN } },
  ],
  [
    'a field of a class',
    (user) => Object.assign(new Person(), { password: user }),
    {
      ...{ id: 1, name: 'Ann', password: SHOWN },
    },
  ],
]

for (const [kind, user] of Object.entries(STORED)) {
  for (const [place, put, sent] of PLACES) {
    t.test(`${kind} of a protected service keeps fields back as ${place} (BOLA-6)`, async (t) => {
      const server = await open(t, put, user)
      for (const path of ['/posts/7', '/posts']) {
        const { status, text, body } = await server.request(path)
        t.strictSame([status, body], [200, sent])
        t.notMatch(text, /HASH|SECRET/)
      }
      t.strictSame((await server.request('/users/1')).body, SHOWN)
    })
  }
}

t.test('fields with the names of a stream do not make a record one (BOLA-6)', async (t) => {
  const names = { pipe: 'steel', getReader: 'Bob', [Symbol.toStringTag]: 'Record' }
  const shown = { ...SHOWN, pipe: 'steel', getReader: 'Bob' }
  const ofClass = (): object => Object.assign(new Person(), createUser())
  for (const create of [createUser, ofClass]) {
    const server = await open(
      t,
      (user) => user,
      () => Object.assign(create(), names),
    )
    for (const path of ['/users/1', '/posts/7']) {
      t.strictSame((await server.request(path)).body, shown, path)
    }
  }
})

t.test('so do pages and lists that a hook has read (BOLA-6)', async (t) => {
  const server = await open(t, async (_user, app) => ({
    page: await app.service('users').find(),
    created: await app.service('users').create({}),
  }))
  const { body } = await server.request('/posts/7')
  const page = { total: 1, limit: 1, skip: 0, data: [SHOWN] }
  t.strictSame(body, { page, created: [SHOWN] })
})

t.test('inside the process the record is what it was, and JSON holds all of it', async (t) => {
  const { app } = await open(t, (user) => user)
  const user = (await app.service('users').get(1)) as User
  t.strictSame(user, createUser())
  t.strictSame(Reflect.ownKeys(user), Reflect.ownKeys(createUser()))
  t.strictSame(JSON.parse(JSON.stringify(user)), createUser())
  t.strictSame(structuredClone(user), createUser())
})

t.test('what hooks add to a record or change in it is sent', async (t) => {
  const server = await open(t, (user) => {
    user['friend'] = true
    user.profile.city = 'Bonn'
    return { author: user }
  })
  const { body } = await server.request('/posts/7')
  t.strictSame(body, { author: { ...SHOWN, profile: { city: 'Bonn' }, friend: true } })
})

t.test('a record keeps back its fields where another application sends it (BOLA-6)', async (t) => {
  const directory = createCoreApp().use('users', { get: async () => createUser() })
  directory.service('users').hooks({ after: { all: [protect('password', 'profile.token')] } })
  // This one has no service that hides anything.
  const services = (app: Application) =>
    app.use('posts', {
      get: async (id: string) => ({ id, author: await directory.service('users').get(1) }),
      find: async () => [{ authors: [await directory.service('users').get(1)] }],
    })
  const server = await injectServer(t, { services })
  t.strictSame((await server.request('/posts/7')).body, { id: '7', author: SHOWN })
  t.strictSame((await server.request('/posts')).body, [{ authors: [SHOWN] }])
})

t.test('a record that two services protect keeps back the fields of both', async (t) => {
  const cached = createUser()
  const services = (app: Application) => {
    serve(
      app,
      () => cached,
      (author) => ({ author }),
    )
    app.use('people', { get: async () => app.service('users').get(1), find: async () => [] })
    app.service('people').hooks({ after: { all: [protect('name')] } })
    app.use('teams', { find: async () => ({ lead: await app.service('people').get(1) }) })
  }
  const server = await injectServer(t, { services })
  const shown = { id: 1, profile: { city: 'Ulm' } }
  t.strictSame((await server.request('/teams')).body, { lead: shown })
  t.strictSame((await server.request('/people/1')).body, shown)
  // The service hands out one object to all: what one of them hides is hidden from then on.
  t.strictSame((await server.request('/posts/7')).body, { author: shown })
  t.strictSame(await server.app.service('users').get(1), createUser())
})

t.test('copies that an outer service protects keep back what the records in them do', async (t) => {
  const server = await open(t, (author) => ({ author, authors: [author], draft: 1 }))
  server.app
    .service('posts')
    .hooks({ after: { all: [protect('draft', 'author.name', 'authors.id')] } })
  const { id: _id, ...withoutId } = SHOWN
  const { name: _name, ...withoutName } = SHOWN
  const sent = { author: withoutName, authors: [withoutId] }
  t.strictSame((await server.request('/posts/7')).body, sent)
})

t.test('COPIES LOSE IT: they are new objects that no service has returned', async (t) => {
  const server = await open(t, (user) => ({ author: { ...user } }))
  t.match((await server.request('/posts/7')).body, { author: { password: 'HASH' } })
})

t.test('functions after the service and formatters get what may be sent', async (t) => {
  const seen: unknown[] = []
  const formatter: ServerOptions['formatter'] = (_request, reply) => {
    seen.push(reply.data)
    return JSON.stringify(reply.data)
  }
  const server = await injectServer(t, {
    formatter,
    services: (app) => {
      serve(app, createUser, (author) => ({ author }))
      ;(app as FastifyApplication).use(
        'late',
        { find: async () => ({ author: await app.service('users').get(1) }) },
        async (_request: FastifyRequest, reply: FastifyReply) => {
          seen.push(reply.data)
          reply.data = { late: await app.service('users').get(1) }
        },
      )
    },
  })
  t.strictSame(JSON.parse((await server.request('/posts/7')).text), { author: SHOWN })
  t.strictSame(JSON.parse((await server.request('/late')).text), { late: SHOWN })
  t.strictSame(seen, [{ author: SHOWN }, { author: SHOWN }, { late: SHOWN }])
})

t.test('records in the data of an error keep their fields back too', async (t) => {
  const server = await open(t, (user) => {
    throw new Conflict('Taken', { by: user, errors: [{ user }] })
  })
  const { status, body } = await server.request('/posts/7')
  t.equal(status, 409)
  t.match(body, { data: { by: SHOWN }, errors: [{ user: SHOWN }] })
  t.notMatch(JSON.stringify(body), /HASH|SECRET|password|token/)
})

t.test('so does the user whom a login or a token has proven (BOLA-6)', async (t) => {
  const server = await startApp(t, {
    accounts: {},
    services: { me: { find: async ({ user }: Params) => ({ user, users: [user] }) } },
    hooks: {
      users: { after: { all: [protect('password')] } },
      me: { before: { all: [authenticate('jwt', 'local')] } },
    },
  })
  const token = await logIn(server)
  const shown = { id: 1, email: CREDENTIALS.email }
  const { body } = await server.request('/me', { headers: bearer(token) })
  t.strictSame(body, { user: shown, users: [shown] })
})
