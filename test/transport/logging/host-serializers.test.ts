import type { FastifyServerOptions, RegisterOptions } from 'fastify'
import fastify from 'fastify'
import t from 'tap'
import { createApp, remex } from '../../../src/transport/index.ts'
import type { TestScope } from '../../support/http.ts'

const SECRET = 'hunter2-do-not-log'

/** Starts a host with services and a logger; returns what it has logged of the requests to a path. */
async function openHost(
  t: TestScope,
  logger: Exclude<FastifyServerOptions['logger'], boolean | undefined>,
  options: RegisterOptions = {},
) {
  const lines: { msg: string; req?: unknown }[] = []
  const write = (line: string) => void lines.push(JSON.parse(line))
  const host = fastify({ logger: { stream: { write }, ...logger } })
  t.teardown(() => host.close())
  const app = createApp()
  app.use('notes', { find: async () => [] })
  host.get('/host', async () => ({}))
  await host.register(remex, { app, ...options })
  return async (path: string) => {
    lines.length = 0
    await host.inject(path)
    return { text: JSON.stringify(lines), requests: lines.flatMap(({ req }) => req ?? []) }
  }
}

const QUERY = `code=${SECRET}&feathers_token=${SECRET}&tab=2`

t.test('the log of a host names no secrets of the requests to services', async (t) => {
  const getLogged = await openHost(t, {}, { prefix: '/api' })
  for (const path of ['/api/notes', '/api/notes/', '/api/none/1']) {
    const { text, requests } = await getLogged(`${path}?${QUERY}`)
    t.notMatch(text, SECRET, path)
    const url = `${path}?code=[redacted]&feathers_token=[redacted]&tab=2`
    t.match(requests, [{ method: 'GET', url, host: 'localhost:80', remoteAddress: '127.0.0.1' }])
  }
  t.match(await getLogged(`/host?${QUERY}`), { requests: [{ url: `/host?${QUERY}` }] })
})

t.test('a serializer of the host decides what is logged of a request', async (t) => {
  const req = ({ url, headers }: { url: string; headers: object }) => ({ seen: url, headers })
  const getLogged = await openHost(t, { serializers: { req } })
  const { text, requests } = await getLogged(`/notes?${QUERY}`)
  t.notMatch(text, SECRET)
  t.match(requests, [{ seen: '/notes?code=[redacted]&', headers: { host: 'localhost:80' } }])
})

t.test('a serializer that the plugin is registered with counts as it is', async (t) => {
  const req = () => 'token=shown'
  const getLogged = await openHost(t, {}, { logSerializers: { req } })
  t.strictSame((await getLogged('/notes')).requests, ['token=shown'])
})
