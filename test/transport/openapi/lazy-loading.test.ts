import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

const PACKAGES = ['@fastify/swagger', '@fastify/swagger-ui']

/** Writes down what is loaded; it runs in a thread of its own. */
const LOADER = `
import { appendFileSync } from 'node:fs'
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context)
  appendFileSync(process.env.LOADED, found.url + '\\n')
  return found
}`

/** Two applications, one of them with a document, of which each step is written down. */
const SCRIPT = `
import { appendFileSync } from 'node:fs'
import { register } from 'node:module'
register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(LOADER)}))
const step = (name) => appendFileSync(process.env.LOADED, 'step: ' + name + '\\n')
const { createApp, fastifyApp, openapi, rest } = await import('remex')
step('imported')
const plain = fastifyApp(createApp()).configure(rest()).use('notes', { async find() { return [] } })
await plain.listen()
await plain.close()
step('without')
const app = fastifyApp(createApp()).configure(rest()).use('notes', { async find() { return [] } })
app.configure(openapi({ info: { title: 'Notes', version: '1.0.0' } }))
step('configured')
await app.listen()
await app.close()
step('started')
`

t.test('loads the packages of the page when a server with a page starts', async (t) => {
  const file = join(t.testdir(), 'loaded.txt')
  const env = { ...process.env, LOADED: file }
  await run(process.execPath, ['--input-type=module', '-e', SCRIPT], { cwd: ROOT, env })
  const [imported = '', without = '', configured = '', started = ''] = (
    await readFile(file, 'utf8')
  ).split('step: ')
  const loadedIn = (text: string): string[] =>
    PACKAGES.filter((name) => text.includes(`/node_modules/${name}/`))
  t.match(imported, '/dist/transport/index.js')
  t.strictSame(loadedIn(imported), [], 'by an import')
  t.strictSame(loadedIn(without), [], 'by a server without it')
  t.strictSame(loadedIn(configured), [], 'by the configuration')
  t.strictSame(loadedIn(started), PACKAGES, 'by a start with it')
})
