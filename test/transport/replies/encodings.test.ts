import { gunzipSync } from 'node:zlib'
import fastifyCompress from '@fastify/compress'
import t from 'tap'
import type { Application } from '../../../src/transport/index.ts'
import { compress, conditional, createApp, remex, rest } from '../../../src/transport/index.ts'
import type { TestScope } from '../../support/http.ts'
import { openApp, openHost } from '../../support/own-server.ts'

const TEXT = 'x'.repeat(5_000)

/** A service whose records have versions: the tag of each is strong. */
function createNotes() {
  const note = { id: 1, revision: 7, text: TEXT }
  return {
    get: async () => ({ ...note }),
    find: async () => [{ ...note }],
    patch: async (_id: unknown, data: object) =>
      Object.assign(note, data, { revision: note.revision + 1 }),
  }
}

/** The servers that compress, and one that does not. */
const SERVERS = {
  async 'compress()'(t: TestScope) {
    const app = openApp(t).configure(rest())
    app.configure(compress({ threshold: 100 }))
    addNotes(app as never)
    await app.fastify.ready()
    return app.fastify
  },
  async '@fastify/compress of the host'(t: TestScope) {
    const app = createApp()
    addNotes(app as never)
    const host = openHost(t)
    host.register(fastifyCompress, { threshold: 100 })
    host.register(remex, { app })
    await host.ready()
    return host
  },
}

function addNotes(app: Application): void {
  for (const [path, etag] of [
    ['notes', false],
    ['hashed', true],
  ] as const) {
    app.use(path, createNotes(), { etag })
    app.service(path).hooks({
      around: {
        get: async (context, next) => {
          await next()
          const { revision } = context.result as { revision: number }
          if (!etag) context.http = { etag: `"v-${revision}"` }
        },
        patch: [conditional<{ revision: number }>(({ revision }) => revision)],
      },
    })
  }
}

for (const [title, start] of Object.entries(SERVERS)) {
  t.test(`${title}: encodings are kept apart, and the tag stands for all of them`, async (t) => {
    const server = await start(t)
    const ask = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
      server.inject({
        url,
        method: method as 'GET',
        headers,
        ...(method === 'PATCH' ? { payload: {} } : {}),
      })
    for (const [url, tag] of [
      ['/notes/1', /^W\/"v-7"$/],
      ['/hashed/1', /^W\/"/],
      ['/hashed', /^W\/"/],
    ] as const) {
      const zipped = await ask(url, { 'accept-encoding': 'gzip' })
      t.equal(zipped.headers['content-encoding'], 'gzip')
      t.match(gunzipSync(zipped.rawPayload).toString(), TEXT)
      for (const encoding of [undefined, 'identity', 'br']) {
        const plain = await ask(url, encoding === undefined ? {} : { 'accept-encoding': encoding })
        t.equal(plain.headers.etag, zipped.headers.etag)
        t.match([plain.headers.etag, plain.headers.vary], [tag, /accept-encoding/])
      }
      const etag = String(zipped.headers.etag)
      for (const known of [etag, etag.slice(2), `"x", ${etag}`]) {
        const same = await ask(url, { 'if-none-match': known, 'accept-encoding': 'gzip' })
        t.equal(same.statusCode, 304)
        t.match(same.headers, { etag, vary: /accept-encoding/ })
      }
    }
    const head = await ask('/notes/1', {}, 'HEAD')
    t.match(head.headers, { etag: 'W/"v-7"', vary: /accept-encoding/ })
    t.equal((await ask('/notes/1', { 'if-match': 'W/"v-6"' }, 'PATCH')).statusCode, 412)
    t.equal((await ask('/notes/1', { 'if-match': 'W/"v-7"' }, 'PATCH')).statusCode, 200)
    t.equal((await ask('/notes/1', { 'if-match': '"v-8"' }, 'PATCH')).statusCode, 200)
  })
}

t.test('without compression tags stay strong, and so do those of private answers', async (t) => {
  const app = openApp(t).configure(rest())
  addNotes(app as never)
  const plain = await app.fastify.inject('/notes/1')
  t.strictSame([plain.headers.etag, plain.headers.vary], ['"v-7"', undefined])
  const server = await SERVERS['compress()'](t)
  const headers = { authorization: 'Bearer x', 'accept-encoding': 'gzip' }
  const own = await server.inject({ url: '/notes/1', headers })
  t.match(own.headers, { etag: '"v-7"', 'cache-control': /no-store/ })
  t.notHas(own.headers, { 'content-encoding': 'gzip' })
})
