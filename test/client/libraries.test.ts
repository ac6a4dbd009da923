import type { ServerResponse } from 'node:http'
import superagent from 'superagent'
import t from 'tap'
import { rest } from '../../src/client/index.ts'
import { createApp, NotFound } from '../../src/core/index.ts'
import { until } from '../support/until.ts'
import { CONNECTORS } from './connectors.ts'
import { errorOf } from './error-of.ts'
import { startOddServer } from './odd-server.ts'

t.test('options of superagent are methods of its requests that change no answer', async (t) => {
  const { url, requests } = await startOddServer(t, (_request, response) => response.end('[]'))
  const things = createApp().configure(rest(url).superagent(superagent)).service('things')
  await things.find({ connection: { buffer: true, withCredentials: true } })
  t.equal(requests.length, 1)
  for (const name of ['nothing', 'toString', 'url', 'send', 'then', 'end', 'auth', 'set', '_end']) {
    await t.rejects(things.find({ connection: { [name]: 1 } }), new RegExp(`'${name}'`))
  }
  t.equal(requests.length, 1)
})

t.test('an agent of superagent is no library', (t) => {
  const agent = superagent.agent() as unknown as typeof superagent
  t.throws(() => rest('http://a').superagent(agent), /superagent has to be provided/)
  t.end()
})

t.test('ofetch has its own hooks, and the time limit of the client', async (t) => {
  const { url, requests } = await startOddServer(t, (_request, response) => response.end('[]'))
  const onRequest = ({ options }: { options: { headers: Headers } }): void =>
    options.headers.set('x-hook', 'ofetch')
  const app = createApp().configure(rest(url).ofetch({ connection: { onRequest } }))
  await app.service('things').find()
  t.match(requests, [{ headers: { 'x-hook': 'ofetch', accept: 'application/json' } }])
})

t.test('no library names the type of a body that is not there', async (t) => {
  const { url, requests } = await startOddServer(t, (_request, response) => response.end('[]'))
  for (const { connect } of Object.values(CONNECTORS)) {
    const things = createApp().configure(connect(url)).service('things')
    await things.create(undefined)
    await things.remove(1)
    const [sent, removed] = requests.splice(0)
    t.match(sent, { method: 'POST', body: '', headers: { 'content-type': undefined } })
    t.match(removed, { method: 'DELETE', body: '', headers: { 'content-type': undefined } })
    await things.create(undefined, { headers: { 'content-type': 'of/params' } })
    t.match(requests.splice(0), [{ headers: { 'content-type': 'of/params' } }])
  }
})
t.test('what a hook of ofetch puts in the place of a body is the body', async (t) => {
  const { url } = await startOddServer(t, (_request, response) => response.end('[1]'))
  const onResponse = async ({ response }: { response: Response & { _data?: unknown } }) => {
    response._data = (await response.text()).replace('1', '2')
  }
  const app = createApp().configure(rest(url).ofetch({ connection: { onResponse } }))
  t.strictSame(await app.service('things').find(), [2])
})

t.test('it may be an object or a list, as hooks of ofetch make them of JSON', async (t) => {
  const { url } = await startOddServer(t, (request, response) =>
    response.writeHead(request.url === '/things/3' ? 404 : 200).end('{"a":1}'),
  )
  const values: readonly unknown[] = [{ a: 2 }, [{ a: 3 }], null, { message: 'of a hook' }]
  const onResponse = ({ response }: { response: Response & { _data?: unknown } }) => {
    response._data = values[Number(response.url.at(-1))]
  }
  const app = createApp().configure(rest(url).ofetch({ connection: { onResponse } }))
  const things = app.service('things')
  t.strictSame([await things.get(0), await things.get(1), await things.get(2)], values.slice(0, 3))
  const error = await errorOf(things.get(3))
  t.ok(error instanceof NotFound)
  t.equal(error.message, 'of a hook')
})

t.test('options that would have no effect are refused by their names', async (t) => {
  const refused = { onResponseError: () => undefined, origin: 'http://a', responseHeaders: 'raw' }
  for (const [name, value] of Object.entries(refused)) {
    const connection = { [name]: value }
    const error = { name: 'TypeError', message: new RegExp(`cannot hold '${name}'`) }
    t.throws(() => rest('http://a').ofetch({ connection }).service('things'), error)
    const things = createApp().configure(rest('http://a').ofetch()).service('things')
    await t.rejects(things.find({ connection }), error)
  }
})

t.test('what has no method dispatch is no dispatcher', async (t) => {
  for (const dispatcher of [{}, 1, 'agent']) {
    const error = { name: 'TypeError', message: /'dispatcher' must be one of undici/ }
    const connection = { dispatcher }
    t.throws(() => rest('http://a').ofetch({ connection }).service('things'), error)
    const things = createApp().configure(rest('http://a').ofetch()).service('things')
    await t.rejects(things.find({ connection }), error)
  }
})

const READING = {
  ofetch: (url: string) => rest(url).ofetch(),
  fetch: (url: string) => rest(url).fetch(fetch),
}

for (const [library, connect] of Object.entries(READING)) {
  t.test(`${library}: an error is read until it is too long for one`, async (t) => {
    const responses: ServerResponse[] = []
    const { url } = await startOddServer(t, (_request, response) => {
      responses.push(response)
      response.writeHead(404, { 'content-type': 'application/json' })
      const write = (): unknown => response.write('x'.repeat(100_000), (error) => error ?? write())
      write()
    })
    const app = createApp().configure(connect(url))
    t.ok((await errorOf(app.service('things').find())) instanceof NotFound)
    await until(() => responses[0]?.destroyed === true)
  })
}
