import authenticationClient, { MemoryStorage } from '@feathersjs/authentication-client'
import restClient from '@feathersjs/rest-client'
import type { Document } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../src/adapter/index.ts'
import { authenticate } from '../../src/auth/index.ts'
import { rest } from '../../src/client/index.ts'
import type { Application, Params } from '../../src/transport/index.ts'
import { createApp } from '../../src/transport/index.ts'
import { CREDENTIALS } from '../auth/login-app.ts'
import type { TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/database.ts'
import type { Mode, TestScope } from '../support/http.ts'
import { MODES } from '../support/http.ts'
import { startApp } from '../support/test-app.ts'

/** What the plug-ins add to an application. */
interface ClientMembers {
  rest: unknown
  authenticate(data: object): Promise<{ user: Document; accessToken: string }>
  reAuthenticate(): Promise<{ user: Document }>
  logout(): Promise<{ user: Document } | null>
}

type Client = Application & ClientMembers

type Plugin = Parameters<Application['configure']>[0]

type Connection = Plugin & { service(path: string): object }

/** Ways to a server, which the official authentication client works with. */
const CONNECTIONS: Readonly<Record<string, (url: string) => Connection>> = {
  'the official connection': (url) => restClient.default(url).fetch(fetch) as unknown as Connection,
  'our own': (url) => rest(url).fetch(fetch),
}

const METHODS = ['find', 'get', 'create', 'patch', 'remove', 'shout'] as const

/** A server with one user, and an application of our own with the official plug-ins of clients. */
async function start(
  t: TestScope,
  mode: Mode,
  database: TestDatabase,
  connect: (url: string) => Connection,
) {
  const Model = await database.empty('notes')
  const shout = async (data: { text: string }, { user }: Params) => ({
    text: data.text.toUpperCase(),
    by: (user as Document)['email'],
  })
  const notes = Object.assign(new MongoDBService({ Model, multi: true }), { shout })
  const { signUp, url } = await startApp(t, {
    ...{ mode, database, accounts: {}, stores: { users: {} } },
    services: { notes: [notes, { methods: METHODS }] },
    hooks: { notes: { before: { all: [authenticate('jwt')] } } },
  })
  await signUp()
  const connection = connect(url)
  const client = createApp()
    .configure(connection)
    .configure(authenticationClient.default({ storage: new MemoryStorage() }) as unknown as Plugin)
  return { connection, client: client as Client }
}

t.test('official plug-ins of clients work on an application of our own', async (t) => {
  const database = await openDatabase(t)
  const cases = MODES.flatMap((mode) =>
    Object.entries(CONNECTIONS).map(([name, connect]) => ({ mode, name, connect })),
  )
  for (const { mode, name, connect } of cases) {
    await t.test(`log in, call with hooks and events, log out, ${mode}, ${name}`, async (t) => {
      const { client } = await start(t, mode, database, connect)
      const events: unknown[] = []
      client.on('login', () => events.push('login'))
      client.on('logout', () => events.push('logout'))
      await t.rejects(client.service('notes').find(), { name: 'NotAuthenticated', code: 401 })

      const { user } = await client.authenticate(CREDENTIALS)
      t.match(user, { email: CREDENTIALS.email, password: undefined })
      const notes = client.service('notes')
      notes.on('created', (note: unknown) => events.push(note))
      notes.hooks({
        before: { create: (context) => Object.assign(context.data as object, { b: 2 }) },
      })
      const note = (await notes.create({ a: 'x' })) as Document
      t.match(note, { a: 'x', b: 2 })
      t.same(await notes.find({ query: { a: 'x', $limit: 5 } }), [note])
      t.match(await notes.patch(note['_id'], { a: 'y' }), { a: 'y', b: 2 })
      t.match((await client.reAuthenticate()).user, { email: CREDENTIALS.email })
      await client.logout()
      t.same(events, ['login', note, 'logout'])
      await t.rejects(notes.find(), { code: 401 })
    })

    await t.test(`name custom methods in the options, ${mode}, ${name}`, async (t) => {
      const { client, connection } = await start(t, mode, database, connect)
      client.use('notes', connection.service('notes'), { methods: [...METHODS] })
      await client.authenticate(CREDENTIALS)
      t.same(await client.service('notes')['shout']?.({ text: 'hi' }), {
        text: 'HI',
        by: CREDENTIALS.email,
      })
    })

    await t.test(`find placeholders, errors and the library, ${mode}, ${name}`, async (t) => {
      const { client, connection } = await start(t, mode, database, connect)
      t.equal(client.rest, fetch)
      await client.authenticate(CREDENTIALS)
      await t.rejects(client.service('notes').get('568225fbfe21222432e836ff'), {
        name: 'NotFound',
        code: 404,
      })
      t.throws(() => client.configure(connection), {
        message: 'Only one default client provider can be configured',
      })
    })
  }
})
