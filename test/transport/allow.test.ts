import t from 'tap'
import type { Application } from '../../src/transport/index.ts'
import { MethodNotAllowed } from '../../src/transport/index.ts'
import { injectServer, MODES } from '../support/http.ts'

/** A service like an adapter: it refuses many records where its option `multi` does not allow them. */
class RecordService {
  readonly options: { readonly multi?: boolean | readonly string[] }
  constructor(options: RecordService['options']) {
    this.options = options
  }
  async find(): Promise<object[]> {
    return []
  }
  async get(id: string): Promise<object> {
    return { id }
  }
  async create(data: object): Promise<object> {
    if (Array.isArray(data)) throw new MethodNotAllowed('Can not create multiple entries')
    return data
  }
  async update(id: string | null): Promise<object> {
    return this.#write(id, 'update')
  }
  async patch(id: string | null): Promise<object> {
    return this.#write(id, 'patch')
  }
  async remove(id: string | null): Promise<object> {
    return this.#write(id, 'remove')
  }
  async #write(id: string | null, method: string): Promise<object> {
    const { multi } = this.options
    if (id !== null || multi === true || (Array.isArray(multi) && multi.includes(method))) return {}
    throw new MethodNotAllowed(`Can not ${method} multiple entries`)
  }
}

const ALL_OF_MANY = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/** What `Allow` lists for all records, by the options of the service. */
const OPTIONS: readonly [title: string, options: RecordService['options'], allow: string][] = [
  ['multi is off', { multi: false }, 'GET, HEAD, POST, OPTIONS'],
  ['multi names methods', { multi: ['create', 'remove'] }, 'GET, HEAD, POST, DELETE, OPTIONS'],
  ['multi is on', { multi: true }, 'GET, HEAD, POST, PATCH, DELETE, OPTIONS'],
  ['the service is no adapter', {}, ALL_OF_MANY],
]

for (const mode of MODES) {
  for (const [title, options, allow] of OPTIONS) {
    t.test(`${mode}: Allow of all records has what works with them, where ${title}`, async (t) => {
      const services = (app: Application) => app.use('notes', new RecordService(options))
      const server = await injectServer(t, { services }, mode)
      const all = await server.request('/notes', { method: 'OPTIONS' })
      t.equal(all.headers.allow, allow)
      const one = await server.request('/notes/1', { method: 'OPTIONS' })
      t.equal(one.headers.allow, ALL_OF_MANY)
    })
  }

  t.test(`${mode}: every 405 has Allow, whoever refuses the call`, async (t) => {
    const services = (app: Application) => {
      app.use('notes', new RecordService({ multi: false }))
      const refuse = () => {
        throw new MethodNotAllowed('Not today')
      }
      app.service('notes').hooks({ before: { get: [refuse] } })
    }
    const server = await injectServer(t, { services }, mode)
    const send = async (method: string, path: string, data?: object): Promise<unknown[]> => {
      const { status, headers } = await server.request(path, { method, ...(data && { data }) })
      return [status, headers.allow]
    }
    const ofAll = 'GET, HEAD, POST, OPTIONS'
    t.strictSame(await send('PATCH', '/notes', { a: 1 }), [405, ofAll])
    t.strictSame(await send('DELETE', '/notes'), [405, ofAll])
    t.strictSame(await send('PUT', '/notes', {}), [405, ofAll])
    // One record may be posted.
    t.strictSame(await send('POST', '/notes', [{ a: 1 }]), [405, ofAll])
    // A verb that a hook refuses is not in it.
    const ofOne = 'POST, PUT, PATCH, DELETE, OPTIONS'
    t.strictSame(await send('GET', '/notes/1'), [405, ofOne])
    t.strictSame(await send('HEAD', '/notes/1'), [405, ofOne])
  })
}

t.test('Allow that a hook of the server has set stays', async (t) => {
  const server = await injectServer(t, {
    services: (app) => app.use('notes', new RecordService({ multi: false })),
    server: (server) =>
      server.addHook('onRequest', async (_request, reply) => {
        reply.header('allow', 'GET')
      }),
  })
  const { status, headers } = await server.request('/notes', { method: 'DELETE' })
  t.strictSame([status, headers.allow], [405, 'GET'])
})
