import t from 'tap'
import { findServiceEntry } from '../../src/core/index.ts'
import { eventStreams } from '../../src/transport/finds/event-streams.ts'
import type { Application, Middleware } from '../../src/transport/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import { REST_FEATURES } from '../../src/transport/rest-features.ts'
import type { RestTransport } from '../../src/transport/rest-transport.ts'
import { recordStreams } from '../../src/transport/streams/record-streams.ts'
import { addAccounts } from '../support/accounts.ts'
import type { EventFrames } from '../support/event-frames.ts'
import { askForFrames } from '../support/event-frames.ts'
import { startOwnServer, useAround } from '../support/own-server.ts'

const NO_JSON = { accept: 'text/plain' }
const notes = {
  id: 'id',
  find: async () => [{ id: 1, text: 'Hello' }],
  get: async (id: string) => ({ id, text: 'Hello' }),
  create: async (data: object) => ({ id: 1, ...data }),
  patch: async (id: string, data: object) => ({ id, ...data }),
}

t.test('no step of a list can change its order', (t) => {
  t.ok(Object.isFrozen(REST_FEATURES))
  t.equal(new Set(REST_FEATURES).size, REST_FEATURES.length)
  t.end()
})

t.test('functions before a service know who calls, before Accept is looked at', async (t) => {
  const seen: unknown[] = []
  const answer: Middleware = (request, reply) => {
    seen.push(request.feathers['authentication'])
    reply.code(418).send({ name: 'Teapot', message: 'short', code: 418, className: 'teapot' })
  }
  const server = await startOwnServer(t, (app) => {
    addAccounts(app as unknown as Application)
    useAround(app, 'notes', answer, notes)
  })
  const headers = { ...NO_JSON, authorization: 'Bearer a.b.c' }
  t.equal((await server.request('/notes', { headers, data: {} })).status, 418)
  t.strictSame(seen, [{ strategy: 'jwt', accessToken: 'a.b.c' }])
})

t.test('Accept of a write is looked at before its query', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('notes', notes))
  const query = '/notes/1?%FF=1'
  const patch = { method: 'PATCH', data: {} }
  t.equal((await server.request(query, patch)).status, 400)
  t.equal((await server.request(query, { ...patch, headers: NO_JSON })).status, 406)
})

t.test('the token of a link is taken before the query is looked for in the body', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('notes', notes), {
    authentication: { queryToken: true },
    queryBodies: true,
  })
  const headers = { 'x-service-method': 'find' }
  t.equal((await server.request('/notes?access_token=a', { headers, data: {} })).status, 200)
  t.equal((await server.request('/notes?other=a', { headers, data: {} })).status, 400)
})

t.test('functions after a service choose the type before Accept of reads is checked', async (t) => {
  const toText: Middleware = (_request, reply) => {
    reply.type('text/plain')
    reply.data = 'Hello'
  }
  const server = await startOwnServer(t, (app) => {
    useAround(app, 'notes', notes, toText)
    app.use('others', notes)
  })
  t.match(await server.request('/notes/1', { headers: NO_JSON }), { status: 200, text: 'Hello' })
  t.equal((await server.request('/others/1', { headers: NO_JSON })).status, 406)
})

t.test('an answer that is not accepted has no entity tag, is not found unchanged', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('notes', notes, { etag: true }))
  const { headers } = await server.request('/notes/1')
  const known = { 'if-none-match': String(headers.etag) }
  t.equal((await server.request('/notes/1', { headers: known })).status, 304)
  const refused = await server.request('/notes/1', { headers: { ...known, ...NO_JSON } })
  t.match(refused, { status: 406, headers: { etag: undefined } })
})

t.test('the entity tag is that of the fields that the schema names', async (t) => {
  let count = 0
  const counted = {
    get: async (id: string) => {
      count += 1
      return { id, count }
    },
  }
  const result = { type: 'object', properties: { id: { type: 'string' } } } as const
  const server = await startOwnServer(t, (app) =>
    app.use('notes', counted, { etag: true, schemas: { result } }),
  )
  const first = await server.request('/notes/1')
  const second = await server.request('/notes/1')
  t.equal(count, 2)
  t.ok(first.headers.etag)
  t.equal(second.headers.etag, first.headers.etag)
})

t.test('a formatter is not called where the client has the answer', async (t) => {
  let calls = 0
  const server = await startOwnServer(
    t,
    (app) => {
      app.use('notes', notes)
      app.service('notes').hooks({
        after: {
          get(context: { http: { etag?: string } }) {
            context.http.etag = '"7"'
          },
        },
      } as never)
    },
    {
      formatter: (_request, reply) => {
        calls += 1
        return reply.data
      },
    },
  )
  t.equal((await server.request('/notes/1')).status, 200)
  t.equal((await server.request('/notes/1', { headers: { 'if-none-match': '"7"' } })).status, 304)
  t.equal(calls, 1)
})

t.test('what is added after the first request counts for the next one', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('notes', notes))
  const { app } = server
  t.equal((await server.request('/notes/1')).headers.etag, undefined)
  app.service('notes').hooks({
    after: {
      all(context: { http: { etag?: string } }) {
        context.http.etag = '"7"'
      },
    },
  } as never)
  t.equal((await server.request('/notes/1')).headers.etag, '"7"')
  const live = { headers: { accept: 'text/event-stream' } }
  t.equal((await server.request('/notes', live)).status, 406)
  app.configure(realtime())
  const frames = (await askForFrames(t, `${server.url}/notes`)) as EventFrames
  t.match(frames.headers, { 'content-type': /event-stream/ })
})

t.test('find has no step for streams that the application does not have', async (t) => {
  const { app } = await startOwnServer(t, (app) => app.use('notes', notes))
  const find = findServiceEntry(app.service('notes'))?.methods.get('find')
  if (find === undefined) throw new Error('find is missing')
  const transport = { app, options: {} } as unknown as RestTransport
  t.equal(eventStreams(find, transport), null)
  t.equal(recordStreams(find, transport), null)
  const { start } = find
  app.configure(realtime())
  t.not(find.start, start)
  t.ok(eventStreams(find, transport))
})
