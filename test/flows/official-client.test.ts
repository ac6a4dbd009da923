import { feathers } from '@feathersjs/feathers'
import type { RestService } from '@feathersjs/rest-client'
import restClient from '@feathersjs/rest-client'
import axios from 'axios'
import superagent from 'superagent'
import t from 'tap'

import { MODES, startServer } from '../support/http.ts'
import type { Todo } from '../support/remote-todos.ts'
import { REMOTE_TODOS, TODO_METHODS } from '../support/remote-todos.ts'

/** How the official client sends its requests, and what it makes of an answer without a body. */
const LIBRARIES = {
  fetch: { connect: (url: string) => restClient.default(url).fetch(fetch), nothing: null },
  axios: { connect: (url: string) => restClient.default(url).axios(axios), nothing: '' },
  superagent: {
    connect: (url: string) => restClient.default(url).superagent(superagent),
    nothing: {},
  },
} as const

interface RemoteTodos extends RestService {
  customMethod(data: unknown): Promise<Todo>
}

interface RemoteServices {
  todos: RemoteTodos
  nothing: RestService
  'users/:userId/todos': RestService
}

function createClient(connect: (url: string) => ReturnType<typeof LIBRARIES.fetch.connect>) {
  return (url: string) => {
    const connection = connect(url)
    const client = feathers<RemoteServices>().configure(connection)
    client.use('todos', connection.service('todos') as RemoteTodos, { methods: TODO_METHODS })
    return client
  }
}

for (const mode of MODES) {
  for (const [library, { connect, nothing }] of Object.entries(LIBRARIES)) {
    t.test(`${library} with ${mode}`, async (t) => {
      const server = await startServer(t, mode, REMOTE_TODOS)
      const client = createClient(connect)(server.url)
      const todos = client.service('todos')

      t.test('finds', async (t) => {
        t.strictSame(await todos.find(), [{ id: 0, text: 'some todo', complete: false }])
      })

      t.test('gets, and nested queries arrive as they were sent', async (t) => {
        const query = { some: 'thing', other: ['one', 'two'], nested: { a: { b: 'object' } } }
        t.strictSame(await todos.get(0, { query }), {
          id: 0,
          text: 'some todo',
          complete: false,
          query,
        })
        const inQuery = { test: { $in: ['0', '1', '2'] } }
        t.strictSame((await todos.get(0, { query: inQuery })).query, inQuery)
      })

      t.test('200 ids in $in arrive in their order', async (t) => {
        const ids = Array.from({ length: 200 }, (_, index) => `id${index}`)
        const { query } = await todos.find({ query: { echo: '1', id: { $in: ids } } })
        t.strictSame(Object.values(query.id.$in), ids)
      })

      t.test('creates, updates, patches and removes, with an event for each', async (t) => {
        const events: string[] = []
        for (const event of ['created', 'updated', 'patched', 'removed']) {
          todos.once(event, (record: Todo) => events.push(`${event} ${record['id']}`))
        }
        const created = await todos.create({ text: 'new', complete: true })
        t.strictSame(created, { text: 'new', complete: true, id: 1 })
        t.strictSame(await todos.update(1, { text: 'other' }), { text: 'other', id: '1' })
        t.strictSame(await todos.patch(1, { complete: false }), {
          ...{ text: 'other', id: '1', complete: false },
        })
        t.strictSame((await todos.remove(1)).id, '1')
        t.strictSame(events, ['created 1', 'updated 1', 'patched 1', 'removed 1'])
      })

      t.test('null as the id addresses many records', async (t) => {
        t.strictSame(await todos.remove(null), { id: null, text: 'deleted many' })
        t.strictSame(await todos.patch(null, { a: 1 }), { a: 1, id: null, many: true })
      })

      t.test('an answer without a body is nothing', async (t) => {
        t.strictSame(await todos.remove(0, { query: { noContent: true } }), nothing)
      })

      t.test('calls a custom method', async (t) => {
        t.strictSame(await todos.customMethod({ message: 'hi' }), {
          data: { message: 'hi' },
          provider: 'rest',
          type: 'customMethod',
        })
      })

      t.test('data that is undefined arrives as an empty object', async (t) => {
        t.strictSame((await todos.customMethod(undefined)).data, {})
      })

      t.test('sends headers', async (t) => {
        const headers = { Authorization: 'let me in' }
        t.equal((await todos.get(0, { headers })).authorization, 'let me in')
      })

      t.test('turns errors into their classes', async (t) => {
        await t.rejects(todos.get(0, { query: { feathersError: true } }), {
          name: 'NotAcceptable',
          message: 'This is a Feathers error',
          code: 406,
          className: 'not-acceptable',
          data: { data: true },
        })
        await t.rejects(todos.get(-1), { name: 'NotFound', code: 404 })
        await t.rejects(todos.get(0, { query: { error: true } }), {
          name: 'GeneralError',
          message: 'Something went wrong',
          code: 500,
        })
        await t.rejects(client.service('nothing').find(), { name: 'NotFound', code: 404 })
      })

      for (const id of ['a/b c%', 'ünïcode ☃', '?a=b&c#d', 'quote\'"', '%2F']) {
        t.test(`keeps the id ${JSON.stringify(id)} as it is`, async (t) => {
          await todos.create({ id, text: 'odd' })
          t.equal((await todos.get(id)).id, id)
          t.equal((await todos.patch(id, { text: 'even' })).text, 'even')
          t.equal((await todos.remove(id)).id, id)
        })
      }

      t.test('replaces placeholders in the path', async (t) => {
        const nested = client.service('users/:userId/todos')
        t.strictSame(await nested.get('7', { route: { userId: 'u1' } }), {
          id: '7',
          route: { userId: 'u1' },
        })
      })
    })
  }

  t.test(`a raised arrayLimit keeps long lists as arrays with ${mode}`, async (t) => {
    const server = await startServer(t, mode, { ...REMOTE_TODOS, query: { arrayLimit: 200 } })
    const todos = createClient(LIBRARIES.fetch.connect)(server.url).service('todos')
    const query = { echo: '1', id: { $in: Array.from({ length: 200 }, (_, id) => String(id)) } }
    t.strictSame(await todos.find({ query }), { query })
  })
}
