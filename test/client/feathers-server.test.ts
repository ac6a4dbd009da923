import t from 'tap'

import type { Page } from '../../src/core/index.ts'
import {
  BadRequest,
  createApp,
  GeneralError,
  NotAcceptable,
  NotFound,
} from '../../src/core/index.ts'
import { startFeathersServer } from '../support/feathers-server.ts'
import { CONNECTORS } from './connectors.ts'
import { errorOf } from './error-of.ts'

type Todos = Page<{ id: number; text: string }>

const METHODS = ['find', 'get', 'create', 'update', 'patch', 'remove', 'customMethod']

for (const [library, { connect }] of Object.entries(CONNECTORS)) {
  t.test(`a server of Feathers on Express, by ${library}`, async (t) => {
    const url = await startFeathersServer(t)
    const connection = connect(url)
    const client = createApp()
      .configure(connection)
      .use('todos', connection.service('todos'), { methods: METHODS })
    const todos = client.service('todos')

    t.test('finds a page, and queries with operators, lists and sorting', async (t) => {
      await todos.create([{ text: 'b' }, { text: 'a' }, { text: 'c' }])
      const query = {
        text: { $in: ['a', 'b', 'c'] },
        $sort: { text: -1 },
        $limit: 2,
        $skip: 1,
        $select: ['text'],
      }
      const { total, limit, skip, data } = (await todos.find({ query })) as Todos
      t.strictSame([total, limit, skip], [3, 2, 1])
      t.strictSame(
        data.map(({ text }) => text),
        ['b', 'a'],
      )
      const either = { $or: [{ text: 'a' }, { text: { $gt: 'b', $ne: 'some todo' } }] }
      t.equal(((await todos.find({ query: either })) as Todos).total, 2)
      t.equal(
        ((await todos.remove(null, { query: { text: { $lt: 'd' } } })) as unknown[]).length,
        3,
      )
    })

    t.test('what stands in a query arrives as it was meant', async (t) => {
      const sent = { a: 'ü &=+%', b: ['1', '2'], c: { d: { e: ['x y'] } }, f: '', g: 1, h: true }
      const { query } = (await client.service('echo').find({ query: sent })) as { query: object }
      t.strictSame(query, { ...sent, g: '1', h: 'true' })
      const ids = Array.from({ length: 60 }, (_, index) => `id${index}`)
      const found = (await client.service('echo').find({ query: { id: { $in: ids } } })) as {
        query: { id: { $in: object } }
      }
      t.strictSame(Object.values(found.query.id.$in), ids)
    })

    t.test('creates, updates, patches and removes, with an event for each', async (t) => {
      const events: string[] = []
      for (const event of ['created', 'updated', 'patched', 'removed']) {
        todos.on(event, () => events.push(event))
      }
      const { id } = (await todos.create({ text: 'new' })) as { id: number }
      t.match(await todos.update(id, { text: 'other' }), { id, text: 'other' })
      t.match(await todos.patch(id, { complete: true }), { text: 'other', complete: true })
      t.match(await todos.get(id), { id, text: 'other', complete: true })
      t.match(await todos.remove(id), { id, text: 'other' })
      t.strictSame(events, ['created', 'updated', 'patched', 'removed'])
    })

    t.test('changes many records at once', async (t) => {
      await todos.create([{ text: 'x' }, { text: 'x' }])
      const query = { text: 'x' }
      t.equal(((await todos.patch(null, { done: 1 }, { query })) as unknown[]).length, 2)
      t.equal(((await todos.remove(null, { query })) as unknown[]).length, 2)
    })

    t.test('calls custom methods; an answer without a body is null', async (t) => {
      t.strictSame(await todos.customMethod?.({ message: 'hi' }), {
        ...{ data: { message: 'hi' }, provider: 'rest', type: 'customMethod' },
      })
      t.equal(await todos.customMethod?.({ empty: true }), null)
    })

    t.test('turns its errors into the classes of this package', async (t) => {
      const error = await errorOf(todos.get(0, { query: { feathersError: true } }))
      t.ok(error instanceof NotAcceptable)
      t.match(error, { message: 'This is a Feathers error', code: 406, data: { data: true } })
      t.ok((await errorOf(todos.get(99))) instanceof NotFound)
      const failed = await errorOf(todos.get(0, { query: { error: true } }))
      t.ok(failed instanceof GeneralError)
      t.match(failed, { message: 'Something went wrong', code: 500 })
      await t.rejects(client.service('nowhere').find(), { name: 'NotFound', code: 404 })
      await t.rejects(client.service('echo').remove(1), { name: 'MethodNotAllowed', code: 405 })
      await t.rejects(todos.find({ query: { $nope: 1 } }), { name: 'BadRequest' })
    })

    t.test('sends headers, and ids and route values percent-encoded', async (t) => {
      const headers = { authorization: 'Bearer x' }
      t.match(await todos.get(0, { headers }), { authorization: 'Bearer x' })
      for (const id of ['a/b c%', 'ünï ☃', '?a=b#c']) {
        const route = { userId: id }
        const got = await client.service('users/:userId/todos').get(id, { route })
        // This server does not decode them.
        const arrived = encodeURIComponent(id)
        t.strictSame(got, { id: arrived, route: { userId: arrived } })
      }
    })

    t.test('sends nothing where the server would read something else', async (t) => {
      for (const query of [{ text: { $in: [] } }, { text: undefined }, { text: null }, { a: {} }]) {
        t.ok((await errorOf(todos.remove(null, { query }))) instanceof BadRequest)
      }
      t.equal(((await todos.find()) as Todos).total, 1)
    })
  })
}
