import t from 'tap'
import type { ConnectionOptions, RemoteService } from '../../src/client/index.ts'
import type { AnyService } from '../../src/core/index.ts'
import { BadRequest, createApp, NotAcceptable, NotFound } from '../../src/core/index.ts'
import type { Application, Headers, Params } from '../../src/transport/index.ts'
import type { ListeningServer } from '../support/http.ts'
import { startServer } from '../support/http.ts'
import type { Todo } from '../support/remote-todos.ts'
import { REMOTE_TODOS, TODO_METHODS } from '../support/remote-todos.ts'
import { CONNECTORS } from './connectors.ts'
import { errorOf } from './error-of.ts'

/** Says what it was called with. */
const echo = {
  find: async ({ query, headers, route }: Params) => ({ query, headers, route }),
  get: async (id: string, { query }: Params) => ({ id, query }),
  create: async (data: unknown) => ({ data }),
}

const SERVER = {
  ...REMOTE_TODOS,
  services: (app: Application) => {
    REMOTE_TODOS.services(app)
    app.use('echo', echo)
  },
}

for (const [library, { connect, hasStreams }] of Object.entries(CONNECTORS)) {
  t.test(library, async (t) => {
    const server = await startServer(t, 'plugin', SERVER)
    const client = createClient(server)
    const todos = client.service('todos')

    function createClient({ url }: Pick<ListeningServer, 'url'>, options?: ConnectionOptions) {
      const connection = connect(url, options)
      return createApp()
        .configure(connection)
        .use('todos', connection.service('todos'), { methods: TODO_METHODS })
    }

    t.test('finds', async (t) => {
      t.strictSame(await todos.find(), [{ id: 0, text: 'some todo', complete: false }])
    })

    t.test('gets, and nested queries arrive as they were sent', async (t) => {
      const query = { some: 'thing', other: ['one', 'two'], nested: { a: { b: 'object' } } }
      t.strictSame(await todos.get(0, { query }), {
        ...{ id: 0, text: 'some todo', complete: false },
        query,
      })
    })

    t.test('a query of every kind of value arrives as strings', async (t) => {
      const sent = {
        n: 1.5,
        yes: true,
        at: new Date(0),
        id: { toHexString: () => '65' },
        empty: '',
      }
      const { query } = (await client.service('echo').find({ query: sent })) as Params
      const at = '1970-01-01T00:00:00.000Z'
      t.strictSame(query, { n: '1.5', yes: 'true', at, id: '65', empty: '' })
    })

    t.test('200 ids in $in arrive in their order', async (t) => {
      const ids = Array.from({ length: 200 }, (_, index) => `id${index}`)
      const { query } = (await todos.find({ query: { echo: 1, id: { $in: ids } } })) as {
        query: { id: { $in: object } }
      }
      t.strictSame(Object.values(query.id.$in), ids)
    })

    t.test('creates, updates, patches and removes, with an event for each', async (t) => {
      const events: string[] = []
      for (const event of ['created', 'updated', 'patched', 'removed']) {
        todos.once(event, (record) => events.push(`${event} ${(record as Todo)['id']}`))
      }
      const created = await todos.create({ text: 'new', complete: true })
      t.strictSame(created, { text: 'new', complete: true, id: 1 })
      t.strictSame(await todos.update(1, { text: 'other' }), { text: 'other', id: '1' })
      t.strictSame(await todos.patch(1, { complete: false }), {
        ...{ text: 'other', id: '1', complete: false },
      })
      t.match(await todos.remove(1), { id: '1' })
      t.strictSame(events, ['created 1', 'updated 1', 'patched 1', 'removed 1'])
    })

    t.test('null as the id addresses many records', async (t) => {
      t.strictSame(await todos.remove(null), { id: null, text: 'deleted many' })
      t.strictSame(await todos.patch(null, { a: 1 }), { a: 1, id: null, many: true })
    })

    t.test('an answer without a body is null', async (t) => {
      t.equal(await todos.remove(0, { query: { noContent: true } }), null)
    })

    t.test('calls a custom method, with hooks of the client around it', async (t) => {
      const client = createClient(server)
      client.hooks({
        before: {
          all: [
            (context) => {
              context.data = { hooked: context.method }
            },
          ],
        },
      })
      t.strictSame(await client.service('todos').customMethod?.({ message: 'hi' }), {
        ...{ data: { hooked: 'customMethod' }, provider: 'rest', type: 'customMethod' },
      })
    })

    t.test('sends data of every kind that JSON has, and none', async (t) => {
      const service = client.service('echo')
      for (const data of [{ a: [null, 1.5, 'ü'] }, [], [{ a: 1 }], { at: new Date(0) }]) {
        t.strictSame(await service.create(data), { data: JSON.parse(JSON.stringify(data)) })
      }
      t.strictSame(await service.create(undefined), { data: {} })
    })

    t.test('sends headers, of which those of the call win', async (t) => {
      const headers = { Authorization: 'of all calls', 'X-All': 'a', 'X-List': ['1', '2'] }
      const service = createClient(server, { headers }).service('echo')
      const result = (await service.find({
        headers: { 'x-one': 'b', authorization: 'of the params' },
        connection: { headers: new globalThis.Headers({ AUTHORIZATION: 'of the connection' }) },
      })) as { headers: Headers }
      t.match(result.headers, {
        accept: 'application/json',
        authorization: 'of the connection',
        'x-all': 'a',
        'x-one': 'b',
        'x-list': '1, 2',
      })
      t.notOk(result.headers['content-type'], 'there is no body')
    })

    t.test('turns errors into the classes of the server', async (t) => {
      const error = await errorOf(todos.get(0, { query: { feathersError: true } }))
      t.ok(error instanceof NotAcceptable)
      t.match(error, {
        name: 'NotAcceptable',
        message: 'This is a Feathers error',
        code: 406,
        className: 'not-acceptable',
        data: { data: true },
        response: { status: 406, headers: { 'content-type': /json/ } },
      })
      t.ok((await errorOf(todos.get(-1))) instanceof NotFound)
      await t.rejects(todos.get(0, { query: { error: true } }), {
        ...{ name: 'GeneralError', message: 'Something went wrong', code: 500 },
      })
      await t.rejects(client.service('nothing').find(), { name: 'NotFound', code: 404 })
      await t.rejects(client.service('echo').remove(1), { name: 'MethodNotAllowed', code: 405 })
    })

    for (const id of [
      'a/b c%',
      'ünïcode ☃',
      '?a=b&c#d',
      'quote\'"',
      '%2F',
      '...',
      'a@b.c',
      '@:$,',
    ]) {
      t.test(`keeps the id ${JSON.stringify(id)} as it is`, async (t) => {
        t.match(await client.service('echo').get(id), { id })
        const route = { userId: id }
        t.match(await client.service('users/:userId/todos').get(id, { route }), { id, route })
      })
    }

    t.test(
      'gives up when the signal of the call aborts, and sends nothing if it has',
      async (t) => {
        const controller = new AbortController()
        controller.abort()
        const connection = { signal: controller.signal }
        await t.rejects(todos.find({ connection }), { name: 'AbortError' })
        const own = new BadRequest('own')
        const aborted = todos.find({ connection: { signal: AbortSignal.abort(own) } })
        t.equal(await errorOf(aborted), own)
      },
    )

    t.test('reads bytes, text and streams where they are asked for', async (t) => {
      const text = '[{"id":0,"text":"some todo","complete":false}]'
      const ask = (responseType: string) =>
        client.service('todos').find({ connection: { responseType } })
      t.equal(await ask('text'), text)
      t.equal(new TextDecoder().decode((await ask('arrayBuffer')) as ArrayBuffer), text)
      t.equal(await ((await ask('blob')) as Blob).text(), text)
      if (hasStreams) {
        t.equal(await new Response((await ask('stream')) as ReadableStream).text(), text)
      } else await t.rejects(ask('stream'), { name: 'BadRequest', message: /streams/ })
      const failing = todos.get(-1, { connection: { responseType: 'arrayBuffer' } })
      await t.rejects(failing, { name: 'NotFound', message: /-1/ })
    })

    t.test('several servers can be behind one application', async (t) => {
      const other = await startServer(t, 'standalone', {
        services: (app) => app.use('echo', { get: async (id: string) => `other ${id}` }),
      })
      const app = createApp().configure(connect(server.url))
      app.use('elsewhere', connect(other.url).service('echo'))
      t.equal(await app.service('elsewhere').get(1), 'other 1')
      t.match(await app.service('echo').get(1), { id: '1' })
    })

    t.test('services are reached without an application as well', async (t) => {
      const service = connect(server.url).service('todos') as unknown as RemoteService
      t.equal(service.name, 'todos')
      t.match(await service.get(0), { id: 0 })
      const { customMethod } = service.methods('customMethod') as unknown as AnyService
      t.match(await customMethod?.({ a: 1 }), { data: { a: 1 } })
    })
  })
}
