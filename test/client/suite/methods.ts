import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import type { SharedRemote } from './clients.ts'
import { sameNamed } from './named-keys.ts'

type Send = (echo: SharedRemote) => Promise<unknown>

const DATA = { name: 'Ann' }
const QUERY = { query: { a: 'b' } }

/** What each call is on its way, by the method and the request that the server sees. */
const REQUESTS: Readonly<Record<string, [send: Send, expected: object]>> = {
  'find GET /echo': [(echo) => echo.find({}), { query: {} }],
  'find GET /echo?a=b': [(echo) => echo.find(QUERY), QUERY],
  'get GET /echo/1': [(echo) => echo.get(1, {}), { id: 1, query: {} }],
  'get GET /echo/x?a=b': [(echo) => echo.get('x', QUERY), { id: 'x', ...QUERY }],
  'create POST /echo': [(echo) => echo.create(DATA, {}), { data: DATA }],
  'create POST /echo?a=b': [(echo) => echo.create(DATA, QUERY), { data: DATA, ...QUERY }],
  'update PUT /echo/1': [(echo) => echo.update(1, DATA, {}), { id: 1, data: DATA }],
  'update PUT /echo?a=b': [(echo) => echo.update(null, DATA, QUERY), { id: null, ...QUERY }],
  'patch PATCH /echo/1': [(echo) => echo.patch(1, DATA, {}), { id: 1, data: DATA }],
  'patch PATCH /echo?a=b': [(echo) => echo.patch(null, DATA, QUERY), { id: null, ...QUERY }],
  'remove DELETE /echo/1': [(echo) => echo.remove(1, {}), { id: 1 }],
  'remove DELETE /echo?a=b': [(echo) => echo.remove(null, QUERY), { id: null, ...QUERY }],
}

/** What each method sends, and what it resolves to. */
export function testMethods(t: Cases, { service, remote, expected }: Cell): void {
  t.test('each method is a request of its own', async (t) => {
    for (const [request, [send, received]] of Object.entries(REQUESTS)) {
      const [method, verb, url] = request.split(' ')
      const facts = expected.request({ sent: { verb, url } })
      const { id } = received as { readonly id?: unknown }
      const arrived = typeof id === 'number' ? { ...received, id: expected.readId(id) } : received
      const sent = { method, provider: expected.provider, ...facts, ...arrived }
      sameNamed(t, await send(remote('echo')), sent, `${request}, without an application`)
      sameNamed(t, await send(service('echo')), sent, request)
    }
  })

  t.test('finds, creates, gets, updates, patches and removes a record', async (t) => {
    const todos = service('todos')
    t.strictSame(await todos.find(), [{ id: 0, text: 'some todo', complete: false }])
    const created = await todos.create({ text: 'new', complete: true })
    t.strictSame(created, { text: 'new', complete: true, id: 1 })
    t.strictSame(await todos.update(1, { text: 'other' }), { text: 'other', id: 1 })
    t.strictSame(await todos.patch(1, { done: 1 }), { text: 'other', id: 1, done: 1 })
    t.strictSame(await todos.get(1), { text: 'other', id: 1, done: 1, query: {} })
    t.strictSame(await todos.remove(1), { text: 'other', id: 1, done: 1 })
    t.equal(((await todos.find()) as unknown[]).length, 1)
  })

  t.test('a list is many records, and so is the id null', async (t) => {
    const todos = service('todos')
    const created = await todos.create([{ text: 'x' }, { text: 'x' }])
    sameNamed(t, created, [
      { text: 'x', id: Number },
      { text: 'x', id: Number },
    ])
    const query = { text: 'x' }
    sameNamed(t, await todos.patch(null, { done: 1 }, { query }), [{ done: 1 }, { done: 1 }])
    sameNamed(t, await todos.remove(null, { query }), [{ text: 'x' }, { text: 'x' }])
    sameNamed(t, await todos.find(), { length: 1 })
  })

  t.test('sends data of every kind that JSON has, and none', async (t) => {
    const echo = remote('echo')
    for (const data of [{ a: [null, 1.5, 'ü', true, {}] }, [], [{ a: 1 }], { at: new Date(0) }]) {
      sameNamed(t, await echo.create(data, {}), { data: JSON.parse(JSON.stringify(data)) })
    }
    const outcome = await outcomeOf(() => echo.create(undefined, {}))
    sameNamed(t, outcome, expected.createOfNothing)
  })
}
