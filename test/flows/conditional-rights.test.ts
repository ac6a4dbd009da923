import type { Document } from 'mongodb'
import t from 'tap'
import { limitTo, MongoDBService } from '../../src/adapter/index.ts'
import type { HookContext, Params } from '../../src/transport/index.ts'
import { conditional, NotAuthenticated, NotFound } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import type { TestScope } from '../support/http.ts'
import { startServer } from '../support/http.ts'

const { empty } = await openDatabase(t)

const readVersion = ({ revision }: Document): number => revision
const versions = () => conditional<Document>(readVersion)

/** Takes the header `x-user` for a proof. */
const logIn = (context: HookContext, next?: () => Promise<void>) => {
  const user = context.params.headers?.['x-user']
  if (context.params.provider !== undefined && user === undefined)
    throw new NotAuthenticated('Who?')
  context.params = { ...context.params, user } as Params
  return next?.()
}
const limit = () => limitTo((params) => ({ owner: (params as { user?: string }).user }))

const owned = limit()

/** Hooks by which only its owner reaches a record, in the orders in which people write them. */
const ORDERS: Record<string, object> = {
  'around, before the login': { around: { all: [versions()] }, before: { all: [logIn, limit()] } },
  'around, behind the login': {
    around: { all: [logIn, versions()] },
    before: { all: [limit()] },
  },
  'around of methods': {
    around: { get: [versions()], update: [versions()], patch: [versions()], remove: [versions()] },
    before: { all: [logIn], get: [owned], update: [owned], patch: [owned], remove: [owned] },
  },
  'a limit of the writes alone': {
    around: { all: [versions()] },
    before: { all: [logIn], update: [limit()], patch: [limit()], remove: [limit()] },
  },
  'inside of another hook': {
    around: {
      all: (context: HookContext, next: () => Promise<void>) =>
        context.method === 'find' ? next() : versions()(context, next),
    },
    before: { all: [logIn, limit()] },
  },
}

/** The requests that ask for a record or its version. */
const REQUESTS = ['PATCH', 'PUT', 'DELETE'].flatMap((method) =>
  [
    {},
    { 'if-match': '"v-7"' },
    { 'if-match': '"v-99"' },
    { 'if-match': '"x"' },
    { 'if-match': '*' },
  ].map((headers: Record<string, string>) => ({
    ...{ method, headers },
    ...(method === 'DELETE' ? {} : { data: { text: 'b', owner: 'eve' } }),
  })),
)
const READS = [{}, { 'if-none-match': '"v-7"' }, { 'if-none-match': '*' }].map(
  (headers: Record<string, string>) => ({ method: 'GET', headers }),
)

for (const [order, hooks] of Object.entries(ORDERS)) {
  t.test(`a stranger gets what a missing record gives: ${order}`, async (t) => {
    const Model = await empty('owned')
    const service = new MongoDBService<Document>({ Model, allowClientId: true })
    await service.create({ _id: 'there', owner: 'ann', text: 'a', revision: 7 } as never)
    const { request } = await startServer(t, 'standalone', {
      services: (app) =>
        app
          .use('owned', service)
          .service('owned')
          .hooks(hooks as never),
    })
    const ask = async (id: string, one: (typeof REQUESTS)[number], user: object) => {
      const { status, headers, text } = await request(`/owned/${id}`, {
        ...one,
        headers: { ...one.headers, ...user },
      })
      return { status, etag: headers.etag, text: text.replaceAll(id, 'ID') }
    }
    for (const user of [{}, { 'x-user': 'eve' }]) {
      const reads = order.startsWith('a limit of the writes') ? [] : READS
      for (const one of [...REQUESTS, ...reads]) {
        const label = JSON.stringify([one, user])
        t.strictSame(await ask('there', one, user), await ask('none', one, user), label)
      }
    }
    t.match(await service.get('there'), { text: 'a', revision: 7 })
    const ann = { 'x-user': 'ann' }
    const patch = (tag: string) =>
      ask(
        'there',
        { method: 'PATCH', headers: { 'if-match': tag }, data: { revision: 8 } as never },
        ann,
      )
    t.match(await patch('"v-6"'), { status: 412, etag: '"v-7"' })
    t.match(await patch('"v-7"'), { status: 200, etag: '"v-8"' })
    t.match(await patch('"v-7"'), { status: 412, etag: '"v-8"' })
  })
}

t.test('the read before a write has the rights of the caller in any kind of service', async (t) => {
  const seen: unknown[] = []
  const service = {
    async get(id: string, { provider, user }: Params & { user?: string }) {
      seen.push(provider)
      // One that looks at rights itself, for external callers.
      if (id !== 'there' || (provider !== undefined && user !== 'ann')) throw new NotFound('None')
      return { id, revision: 7 }
    },
    patch: async (id: string, data: object) => ({ id, ...data, revision: 8 }),
  }
  const { request, app } = await startServer(t, 'standalone', {
    services: (app) =>
      app
        .use('notes', service as never)
        .service('notes')
        .hooks({ around: { all: [versions()] }, before: { all: [logIn] } } as never),
  })
  const patch = (id: string, user: object) =>
    request(`/notes/${id}`, {
      ...{ method: 'PATCH', data: { text: 'b' } },
      headers: { 'if-match': '"v-6"', ...user },
    })
  for (const user of [{}, { 'x-user': 'eve' }]) {
    t.equal((await patch('there', user)).text, (await patch('none', user)).text)
  }
  t.match(await patch('there', { 'x-user': 'ann' }), {
    status: 412,
    body: { data: { current: 7 } },
  })
  t.notOk(seen.includes(undefined))
  await t.rejects(app.service('notes').patch('there', {}, { version: 6 }), { code: 412 })
  t.equal(seen.at(-1), undefined, 'an internal write reads as an internal call')
})

t.test('a version that external callers do not see is compared', async (t) => {
  const service = {
    get: async (id: string) => ({ id, revision: 7 }),
    patch: async (id: string, data: object) => ({ id, ...data, revision: 8 }),
  }
  const { request } = await startServer(t, 'standalone', {
    services: (app) =>
      app
        .use('notes', service)
        .service('notes')
        .hooks({
          around: { patch: [versions()] },
          after: {
            get: ({ params, result }: HookContext) => {
              if (params.provider !== undefined) delete (result as Document)['revision']
            },
          },
        } as never),
  })
  const patch = (tag: string) =>
    request('/notes/1', { method: 'PATCH', headers: { 'if-match': tag }, data: {} })
  t.match(await patch('"v-6"'), { status: 412 })
  t.match(await patch('"v-7"'), { status: 200 })
})

t.test('a version of many records is rejected', async (t) => {
  const written: unknown[] = []
  const service = {
    get: async (id: string) => ({ id, revision: 7 }),
    patch: async (id: unknown) => void written.push(id),
    remove: async (id: unknown) => void written.push(id),
  }
  const { request, app } = await startServer(t, 'standalone', {
    services: (app) =>
      app
        .use('notes', service)
        .service('notes')
        .hooks({ around: { all: [versions()] } } as never),
  })
  for (const method of ['PATCH', 'DELETE']) {
    const headers = { 'if-match': '"v-7"' }
    const data = method === 'PATCH' ? { data: {} } : {}
    t.match(await request('/notes', { method, headers, ...data }), {
      status: 400,
      body: { message: /one by one/ },
    })
  }
  await t.rejects(app.service('notes').remove(null, { version: 7 }), { code: 400 })
  t.strictSame(written, [])
})

t.test('where a version is required, a write on many records needs one too', async (t) => {
  const written: unknown[] = []
  const { request } = await startServer(t, 'standalone', {
    services: (app) =>
      app
        .use('notes', { patch: async (id: unknown) => void written.push(id) })
        .service('notes')
        .hooks({ around: { all: [conditional<Document>(readVersion, { required: true })] } }),
  })
  t.match(await request('/notes', { method: 'PATCH', data: {} }), { status: 428 })
  t.strictSame(written, [])
  const headers = { 'if-match': '*' }
  t.match(await request('/notes', { method: 'PATCH', headers, data: {} }), { status: 204 })
})

t.test('a write that a hook tries again is compared again', async (t) => {
  let revision = 7
  const written: unknown[] = []
  const service = {
    get: async (id: string) => ({ id, revision }),
    patch: async (id: string) => {
      // Somebody else has written meanwhile.
      revision += 1
      written.push(id)
      throw new Error('not now')
    },
  }
  const again = async (_context: unknown, next: () => Promise<void>) => next().catch(() => next())
  for (const around of [
    [versions(), again],
    [again, versions()],
  ]) {
    revision = 7
    written.length = 0
    const { app } = await startServer(t, 'standalone', {
      services: (app) =>
        app
          .use('notes', { ...service })
          .service('notes')
          .hooks({ around } as never),
    })
    await t.rejects(app.service('notes').patch('1', {}, { version: 7 }), {
      ...{ code: 412, data: { current: 8 } },
    })
    t.strictSame(written, ['1'])
  }
})

/** A service whose `remove` is done by a hook, in the ways in which hooks do it. */
async function startMarking(t: TestScope, remove: object) {
  const record = { id: '1', revision: 7, gone: false }
  const service = {
    get: async () => ({ ...record }),
    patch: async (_id: unknown, data: object) => {
      Object.assign(record, data, { revision: record.revision + 1 })
      return { ...record }
    },
    remove: async () => record,
  }
  const logged: unknown[] = []
  const { request } = await startServer(t, 'standalone', {
    services: (app) => {
      app.logger = { ...app.logger, error: (...values: unknown[]) => void logged.push(...values) }
      app.use('marked', service as never)
      app.service('marked').hooks({ around: { all: [versions()] }, ...remove } as never)
    },
  })
  const send = (version: string) =>
    request('/marked/1', { method: 'DELETE', headers: { 'if-match': version } })
  return { send, record, logged }
}

interface PatchService {
  patch(id: unknown, data: object, params: Params): Promise<unknown>
}

type Mark = (context: HookContext) => Promise<void>

const markBy =
  (toParams: (params: Params) => Params): Mark =>
  async (context) => {
    const { id, params } = context
    const service = context.service as unknown as PatchService
    context.result = await service.patch(id, { gone: true }, toParams(params))
  }

for (const [name, toHooks] of [
  ['a before hook', (mark: Mark) => ({ before: { remove: [mark] } })],
  ['an around hook', (mark: Mark) => ({ around: { all: [versions()], remove: [mark] } })],
] as const) {
  t.test(`${name} that writes in place of the method passes the version on`, async (t) => {
    for (const toParams of [
      (params: Params) => params,
      (params: Params) => ({ ...params }),
      (params: Params) => ({ ...params, provider: undefined }),
    ]) {
      const { send, record } = await startMarking(t, toHooks(markBy(toParams)))
      t.equal((await send('"v-6"')).status, 412)
      t.match(record, { gone: false, revision: 7 })
      t.equal((await send('"v-7"')).status, 200)
      t.match(record, { gone: true, revision: 8 })
    }
  })

  t.test(`${name} that writes without the version is a fault of the code`, async (t) => {
    for (const version of ['"v-6"', '"v-7"']) {
      const { send, logged } = await startMarking(t, toHooks(markBy(() => ({}))))
      t.equal((await send(version)).status, 500)
      t.match(String(JSON.stringify(logged, toErrorText)), /Pass context.params to the call/)
      t.equal((await send('*')).status, 200)
    }
  })
}

function toErrorText(_name: string, value: unknown): unknown {
  return value instanceof Error ? `${value.message} ${(value.cause as Error)?.message}` : value
}

t.test('a call of another service takes the version from no write', async (t) => {
  const { send, record } = await startMarking(t, {
    before: {
      remove: async ({ service, params }: HookContext) => {
        const other = service as unknown as PatchService
        await other.patch('2', {}, params).catch(() => undefined)
      },
    },
  })
  t.equal((await send('"v-6"')).status, 412)
  t.match(record, { gone: false, revision: 7 })
})
