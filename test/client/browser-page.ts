// What a page does with the client: bundled, and run by a browser. It tells the server what came of it.
import axios from 'axios'
import superagent from 'superagent'
import type { RestConnection } from '../../src/client/index.ts'
import { createClient, rest } from '../../src/client/index.ts'
import { BadRequest, createApp, NotFound } from '../../src/core/index.ts'

/** What each step of the page resolved to. */
export type PageResults = Readonly<Record<string, unknown>>

const client = createClient()
const todos = client.service('todos')

/** By `window.fetch` itself, which fails when it is called as the method of another object. */
const byFetch = createApp().configure(rest().fetch(globalThis.fetch))

/** By each library, a write that the server redirects. */
async function redirectWrites(): Promise<unknown> {
  const connections = [rest().ofetch(), rest().axios(axios), rest().superagent(superagent)]
  const toCall = (connection: RestConnection): Promise<unknown> =>
    createApp().configure(connection).service('moved').create({})
  return Promise.all(connections.map((connection) => nameOf(toCall(connection))))
}

async function nameOf(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: Error) => [error.name, error.message])
}

const controller = new AbortController()
const stream = (await todos.find({ connection: { responseType: 'stream' } })) as ReadableStream
const events: unknown[] = []
todos.on('created', (todo) => events.push(todo))

const results: PageResults = {
  found: await todos.find({ query: { text: { $ne: 'ü & b' }, $limit: 1 } }),
  created: await todos.create({ text: 'from a page', at: new Date(0) }),
  events,
  patched: await todos.patch(1, { done: true }),
  byFetch: await byFetch.service('todos').get(0),
  missing: await todos.get('99').catch((error) => [error instanceof NotFound, error.message]),
  refused: await todos.find({ query: { text: {} } }).catch((error) => error instanceof BadRequest),
  aborted: await Promise.all([
    nameOf(todos.get('slow', { connection: { signal: controller.signal } })),
    Promise.resolve().then(() => controller.abort()),
  ]),
  late: await nameOf(todos.get('slow', { connection: { timeoutMs: 50 } })),
  nobody: await nameOf(createClient({ baseURL: 'http://127.0.0.1:9' }).service('todos').find()),
  redirected: await redirectWrites(),
  stream: await new Response(stream).text(),
}

await fetch('/results', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(results),
})
