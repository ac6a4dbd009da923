import t from 'tap'
import type { ConnectionOptions, RemoteService } from '../../src/client/index.ts'
import { rest } from '../../src/client/index.ts'
import { setAuthorizer } from '../../src/client/sent-call.ts'
import { BadRequest } from '../../src/core/index.ts'
import { CONNECTORS } from './connectors.ts'
import { startOddServer } from './odd-server.ts'

/** Options by which each library is told to follow. */
const FOLLOWING: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ofetch: { redirect: 'follow' },
  fetch: { redirect: 'follow' },
  axios: { maxRedirects: 5 },
  superagent: { redirects: 5 },
}

/** Returns a service whose calls are sent with a header. */
function addHeader(service: RemoteService, headers: Record<string, string>): RemoteService {
  setAuthorizer(service, (call) => call.send(headers))
  return service
}

for (const [library, { connect, followsRedirects }] of Object.entries(CONNECTORS)) {
  t.test(library, async (t) => {
    const { url: elsewhere, requests } = await startOddServer(t, (_request, response) =>
      response.end('[]'),
    )
    const { url } = await startOddServer(t, (_request, response) =>
      response.writeHead(307, { location: `${elsewhere}/things` }).end(),
    )
    const getService = (options?: ConnectionOptions): RemoteService =>
      connect(url, options).service('things') as unknown as RemoteService

    t.test('a token in a header of its own goes nowhere else, whatever options say', async (t) => {
      const connection = FOLLOWING[library] ?? {}
      const service = addHeader(getService({ connection }), { 'x-token': 'secret' })
      const message = /redirects this call, and the token would be sent to any origin/
      for (const params of [{}, { connection }]) {
        await t.rejects(service.find(params), { message, response: { status: 307 } })
        await t.rejects(service.create({}, params), { message })
      }
      t.equal(requests.length, 0)
    })

    t.test('says why a redirect is not followed', async (t) => {
      await t.rejects(getService().create({}), /redirects this call, and only reads follow/)
      if (followsRedirects) return
      await t.rejects(getService().find(), /and the HTTP library does not follow/)
    })

    t.test('options of the library allow a write to follow', async (t) => {
      if (!followsRedirects) {
        t.pass('it follows none')
        return
      }
      const before = requests.length
      await getService({ connection: FOLLOWING[library] ?? {} }).create({ a: 1 })
      t.match(requests.slice(before), [{ method: 'POST', body: '{"a":1}' }])
    })
  })
}

/** Has the platform look like a browser, whose requests follow redirects without a word. */
function addXMLHttpRequest(t: { teardown(close: () => unknown): void }): void {
  Object.assign(globalThis, { XMLHttpRequest: class {} })
  t.teardown(() => Reflect.deleteProperty(globalThis, 'XMLHttpRequest'))
}

t.test('in browsers, axios calls by fetch what must not be redirected', async (t) => {
  addXMLHttpRequest(t)
  const sent: object[] = []
  const request = async (config: object): Promise<unknown> => {
    sent.push(config)
    return { status: 200, headers: {}, data: new TextEncoder().encode('[]') }
  }
  const service = rest('http://a').axios({ request }).service('things') as unknown as RemoteService
  await service.find()
  await service.create({})
  await service.create({}, { connection: { maxRedirects: 2 } })
  await addHeader(service, { 'x-token': 'secret' }).find({ connection: { adapter: 'xhr' } })
  const manual = { maxRedirects: 0, adapter: 'fetch', fetchOptions: { redirect: 'manual' } }
  t.match(sent, [{ adapter: undefined }, manual, { adapter: undefined, maxRedirects: 2 }, manual])
})

t.test('in browsers, superagent sends no token where a redirect would take it', async (t) => {
  addXMLHttpRequest(t)
  const superagent = (): never => {
    throw new Error('A request was made')
  }
  const connection = rest('http://a').superagent(superagent)
  const service = connection.service('things') as unknown as RemoteService
  await t.rejects(addHeader(service, { 'x-token': 'secret' }).find(), BadRequest)
})
