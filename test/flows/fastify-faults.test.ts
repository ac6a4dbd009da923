import t from 'tap'
import type { FastifyApplication } from '../../src/transport/index.ts'
import { createApp, fastifyApp } from '../../src/transport/index.ts'
import { startOwnServer } from '../support/own-server.ts'

function addNotes(app: FastifyApplication): void {
  app.use('notes', { create: async (data: object) => data })
}

/** The same noise in every run. */
function createNoise(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

t.test('every content type is answered, and none with a server error (FST-2)', async (t) => {
  const server = await startOwnServer(t, addNotes)
  const random = createNoise(7)
  const pieces = [
    'application/json',
    'text/plain',
    ';',
    '=',
    '"',
    'a',
    '/',
    ' ',
    'charset',
    ',',
    '\\',
  ]
  const types = Array.from({ length: 500 }, () =>
    Array.from(
      { length: 1 + random() * 8 },
      () => pieces[Math.floor(random() * pieces.length)],
    ).join(''),
  )
  types.push(
    ';',
    'a/b;=',
    `application/json;a="${'\\"'.repeat(4_000)}`,
    `a/b;${'a="'.repeat(2_700)}`,
  )
  types.push(`application/json${' '.repeat(8_000)}x`, `application/json;${';'.repeat(8_000)}`)
  for (const type of types) {
    const { status } = await server.request('/notes', {
      body: '{}',
      headers: { 'content-type': type },
    })
    if (![201, 400, 415].includes(status)) t.fail(`${status} for ${type}`)
  }
  t.pass(`${types.length} content types`)
})

t.test('what a client says of itself is not believed (FST-4)', async (t) => {
  const addresses = async (trustProxy?: string): Promise<unknown> => {
    const options = trustProxy === undefined ? {} : { trustProxy }
    const proxied = await startOwnServer(t, { fastify: options }, (app) => {
      app.fastify.get('/who', async ({ ip, host, protocol }) => ({ ip, host, protocol }))
    })
    const headers = {
      ...{ 'x-forwarded-for': '9.9.9.9', 'x-forwarded-host': 'evil.test' },
      ...{ 'x-forwarded-proto': 'https', host: 'a.test' },
    }
    return (await proxied.request('/who', { headers })).body
  }
  const truth = { ip: '127.0.0.1', host: 'a.test', protocol: 'http' }
  t.strictSame(await addresses(), truth)
  t.strictSame(await addresses('127.0.0.2'), truth)
  t.strictSame(await addresses('127.0.0.1'), {
    ip: '9.9.9.9',
    host: 'evil.test',
    protocol: 'https',
  })
  t.throws(() => fastifyApp(createApp(), { trustProxy: 1 as never }), /trustProxy/)
})

t.test('two placeholders in one segment are refused when they are registered (FST-8)', (t) => {
  const app = fastifyApp(createApp())
  for (const path of [':a-:b', 'x/:a.:b', ':a(\\d+)', ':a?', '*']) {
    t.throws(() => app.use(path, { find: async () => [] }), /literal or one ':placeholder'/, path)
  }
  t.end()
})
