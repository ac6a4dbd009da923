import t from 'tap'
import type { Id, Params } from '../../src/transport/index.ts'
import type { RequestOptions, ServerOptions } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'

const FORM = 'application/x-www-form-urlencoded'

/** What a client may send in the place of a character: half of a surrogate pair, in each spelling. */
const REQUESTS: readonly [path: string, status: number, options?: RequestOptions][] = [
  ['/echo/%ED%A0%80', 400],
  ['/echo/%ed%b0%80', 400],
  ['/rooms/%ED%A0%80/echo', 400],
  ['/rooms/a/echo/%ED%A0%80', 400],
  ['/late/%ED%A0%80', 400],
  ['/echo/%uD800', 400],
  ['/echo?a=%ED%A0%80', 400],
  ['/echo?a[b]=1&c[%ED%A0%80]=2', 400],
  // An ordinary text of six characters: no byte is encoded so.
  ['/echo?a=%uD800', 200],
  ['/echo', 201, { data: { name: 'ann%ED%A0%80' } }],
  ['/echo', 400, { body: 'name=%ED%A0%80', headers: { 'content-type': FORM } }],
  ['/echo', 400, { body: 'a[%ED%B0%80]=1', headers: { 'content-type': FORM } }],
  ['/echo', 400, { data: { name: 'ann\ud800' } }],
  ['/echo', 400, { data: [{ '\udc00': 1 }] }],
  ['/echo/1', 400, { method: 'PATCH', data: { deep: { list: ['\ud800'] } } }],
  ['/echo', 400, { data: { id: '\ud800' }, headers: { 'x-service-method': 'check' } }],
]

for (const mode of MODES) {
  t.test(`only well-formed Unicode text reaches a service, ${mode} (HTTP-7)`, async (t) => {
    const seen: unknown[] = []
    const note = async (...args: unknown[]) => {
      const { query, route } = args.at(-1) as Params
      seen.push([...args.slice(0, -1), query, route])
      return {}
    }
    const echo = {
      find: (params: Params) => note(params),
      get: (id: Id, params: Params) => note(id, params),
      create: (data: unknown, params: Params) => note(data, params),
      patch: (id: Id, data: unknown, params: Params) => note(id, data, params),
      check: (data: unknown, params: Params) => note(data, params),
    }
    const methods = ['find', 'get', 'create', 'patch', 'check']
    const services: ServerOptions['services'] = (app) => {
      app.use('echo', echo, { methods })
      app.use('rooms/:room/echo', echo, { methods })
    }
    const server = await startServer(t, mode, { services })
    server.app.use('late', echo, { methods })
    for (const [path, status, options] of REQUESTS) {
      // A path that can't be decoded is answered by the host, before anything of ours.
      const ownErrorBody = mode === 'plugin' && options === undefined
      const answer = await server.request(path, { ...options, ownErrorBody })
      t.equal(answer.status, status, path)
    }
    const accepted = REQUESTS.filter(([, status]) => status < 300)
    t.equal(seen.length, accepted.length)
    // JSON escapes what is not well-formed, and nothing else that was sent here.
    t.notMatch(JSON.stringify(seen), /\\u/)
    t.match(seen[1], [{ name: 'ann%ED%A0%80' }])
  })
}
