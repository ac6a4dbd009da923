import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { FileService } from '../../../src/adapter/files/index.ts'
import { s3Storage } from '../../../src/adapter/files/s3-storage.ts'
import { findChromium, openPage } from '../../support/chromium.ts'
import { openDatabase } from '../../support/database.ts'
import { startS3 } from '../../support/s3-server.ts'
import { startApp } from '../../support/test-app.ts'
import { until } from '../../support/until.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const { db } = await openDatabase(t)

/** Sends a file of a page, one that is too large, and one that is aborted. */
const PROGRAM = `
import { createClient } from 'remex/client'
import { files } from 'remex/client/files'

const client = createClient({ baseURL: location.origin }).configure(files())
const [service, direct] = [client.service('files'), client.service('direct')]
const steps = []
const send = (size, options) =>
  service.upload(new File([new Uint8Array(size)], 'ä.bin'), { tag: 'x' }, {
    onProgress: ({ sent, total }) => steps.push([sent, total]),
    ...options,
  })
const nameOf = (promise) => promise.then(() => 'done', ({ name, message }) => name + ': ' + message)
const record = await send(800_000)
const content = await service.download(record._id)
const controller = new AbortController()
const aborted = nameOf(send(900_000, { signal: controller.signal }))
controller.abort(new Error('enough'))
const sound = new File([new Uint8Array(700_000)], 'a.mp3', { type: 'audio/mpeg' })
const sent = []
const kept = await direct.upload(sound, {}, { direct: true, onProgress: (step) => sent.push(step) })
const copy = await direct.download(kept._id)
globalThis.results = {
  record, steps: steps.filter(([, total]) => total === 800_000), size: content.size,
  large: await nameOf(send(1_000_001)), aborted: await aborted,
  kept, sent: sent.at(-1), copy: copy.size,
}
`

const chromium = findChromium()

t.test(
  'a page uploads with progress, also to a storage',
  { skip: chromium ? false : 'no Chromium' },
  async (t) => {
    const { outputFiles = [] } = await build({
      ...{ bundle: true, format: 'esm', platform: 'browser', target: 'es2022', write: false },
      stdin: { contents: PROGRAM, resolveDir: root },
    })
    const script = outputFiles[0]?.text ?? ''
    const files = new FileService({ Model: db.collection('files'), maxBytes: 1_000_000 })
    const { bucket, client, requests } = await startS3(t)
    const direct = new FileService({
      Model: db.collection('direct'),
      storage: s3Storage({ bucket, client, redirect: true }),
    })
    const methods = ['create', 'get', 'createUpload']
    const app = await startApp(t, {
      services: { files, direct: [direct, { methods }] },
      server: (server) => {
        server.get('/page', (_request, reply) => {
          reply.type('text/html').send(`<script type="module">${script}</script>`)
        })
      },
    })
    const page = await openPage(t, chromium as string, `${app.url}/page`)
    let found: unknown
    await until(async () => {
      found = await page.evaluate('globalThis.results')
      return found !== undefined
    })
    t.match(found, {
      ...{ record: { name: 'ä.bin', tag: 'x', size: 800_000 }, size: 800_000 },
      ...{ large: /^PayloadTooLarge: /, aborted: 'Error: enough' },
      ...{ kept: { name: 'a.mp3', type: 'audio/mpeg', size: 700_000 }, copy: 700_000 },
      sent: { sent: 700_000, total: 700_000 },
    })
    const { steps } = found as { steps: number[][] }
    t.strictSame(steps.at(-1), [800_000, 800_000])
    t.match(requests.at(-1), /^GET /, 'the page gets it from the storage')
  },
)

t.test(
  'FILE-3: a page that is shown runs no script, and is no page of the site',
  { skip: chromium ? false : 'no Chromium' },
  async (t) => {
    const inline = ['text/html', 'image/svg+xml']
    const files = new FileService({ Model: db.collection('files'), inline })
    const app = await startApp(t, { services: { files } })
    const pages = {
      p: `<html><p>shown</p><script>document.body.textContent = 'run'</script></html>`,
      text: `<svg xmlns="http://www.w3.org/2000/svg"><text y="20">shown</text><script>document.documentElement.textContent = 'run'</script></svg>`,
    }
    for (const [shown, body] of Object.entries(pages)) {
      const { headers } = await app.request('/files?name=a', { body })
      const url = `${app.url}${headers['location']}/content`
      const page = await openPage(t, chromium as string, url)
      t.equal(await page.read(shown), 'shown')
      t.equal(await page.evaluate('origin'), 'null')
    }
  },
)
