import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { BuildOptions } from 'esbuild'
import { build } from 'esbuild'
import t from 'tap'

import type { Application, Params } from '../../src/transport/index.ts'
import { NotFound } from '../../src/transport/index.ts'
import { findChromium, openPage } from '../support/chromium.ts'
import { Gate } from '../support/gate.ts'
import { startOwnServer } from '../support/own-server.ts'
import type { PageResults } from './browser-page.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The most bytes that exports of the client may take, compressed, without ofetch and frameworks. */
const MAX_BYTES = {
  "{ createClient } from 'remex/client'": 16_250,
  "{ rest } from 'remex/client'": 11_730,
  "* from 'remex/client'": 23_100,
  "{ createClient } from 'remex/client'; export { files } from 'remex/client/files'": 17_700,
  "{ createClient } from 'remex/client'; export { realtime } from 'remex/client/realtime'": 22_800,
  "{ createClient } from 'remex/client'; export { realtime } from 'remex/client/realtime'; export * from 'remex/react'": 23_300,
  "{ createClient } from 'remex/client'; export { realtime } from 'remex/client/realtime'; export * from 'remex/vue'": 23_300,
}

/** Returns one file for browsers. A module of Node would be an error. */
async function bundle(options: BuildOptions): Promise<Uint8Array> {
  const { outputFiles = [], warnings } = await build({
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    ...options,
  })
  const [file] = outputFiles
  if (file === undefined || warnings.length > 0) throw new Error(JSON.stringify(warnings))
  return file.contents
}

for (const [names, maxBytes] of Object.entries(MAX_BYTES)) {
  t.test(`${names} is bundled for browsers, and small`, async (t) => {
    const contents = `export ${names}`
    const external = ['ofetch', 'react', 'vue']
    const file = await bundle({ stdin: { contents, resolveDir: root }, external })
    const { length } = gzipSync(file, { level: 9 })
    t.comment(`${length} bytes, compressed`)
    t.ok(length <= maxBytes, `${length} bytes`)
    t.notMatch(new TextDecoder().decode(file), /did you mean/, 'without advice')
  })
}

const chromium = findChromium()

t.test(
  'a page of a browser calls services',
  { skip: chromium ? false : 'no Chromium' },
  async (t) => {
    const file = fileURLToPath(new URL('./browser-page.js', import.meta.url))
    const page = await bundle({ entryPoints: [file] })
    const slow = new Gate()
    const records: Record<string, unknown>[] = [{ id: 0, text: 'some todo' }]
    let tell: (results: PageResults) => void = () => undefined
    const told = new Promise<PageResults>((resolve) => {
      tell = resolve
    })
    const server = await startOwnServer(t, (app) => {
      app.fastify.get('/', (_request, reply) =>
        reply
          .type('text/html')
          .send('<!doctype html><script type="module" src="/page.js"></script>'),
      )
      app.fastify.get('/page.js', (_request, reply) => reply.type('text/javascript').send(page))
      app.fastify.post('/moved', (_request, reply) => reply.redirect('/todos'))
      app.fastify.post('/results', async (request) => {
        tell(request.body as PageResults)
        return {}
      })
      addTodos(app, records, slow)
    })
    t.teardown(() => slow.open())
    await openPage(t, chromium ?? '', server.url)
    t.match(await told, {
      found: { query: { text: { $ne: 'ü & b' }, $limit: '1' } },
      created: { id: 1, text: 'from a page', at: '1970-01-01T00:00:00.000Z' },
      events: [{ id: 1 }],
      patched: { id: 1, done: true },
      byFetch: { id: 0, text: 'some todo' },
      missing: [true, "No record found for id '99'"],
      refused: true,
      aborted: [['AbortError']],
      late: ['Timeout'],
      nobody: ['Unavailable'],
      redirected: Array(3).fill(['GeneralError', /redirects this call, and only reads follow/]),
      stream: /"records":\[/,
    })
  },
)

function addTodos(app: Application, records: Record<string, unknown>[], slow: Gate): void {
  app.use('todos', {
    find: async ({ query }: Params) => ({ records, query }),
    get: async (id) => {
      if (id === 'slow') await slow.pass()
      const record = records[Number(id)]
      if (record === undefined) throw new NotFound(`No record found for id '${id}'`)
      return record
    },
    create: async (data: Record<string, unknown>) => {
      records.push({ id: records.length, ...data })
      return records.at(-1)
    },
    patch: async (id, data: Record<string, unknown>) =>
      Object.assign(records[Number(id)] ?? {}, data),
  })
}
