import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

const PACKAGES = ['openid-client', 'oauth4webapi', 'jose']

/** Writes down what is loaded; it runs in a thread of its own. */
const LOADER = `
import { appendFileSync } from 'node:fs'
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context)
  appendFileSync(process.env.LOADED, found.url + '\\n')
  return found
}`

/** An application with a provider, of which each step is written down. */
const SCRIPT = `
import { appendFileSync } from 'node:fs'
import { register } from 'node:module'
register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(LOADER)}))
const step = (name) => appendFileSync(process.env.LOADED, 'step: ' + name + '\\n')
const { createApp } = await import('remex')
const { AuthenticationService, JwtStrategy, OAuthStrategy, oauth } = await import('remex/auth')
step('imported')
const app = createApp()
app.logger = { error() {}, warn() {}, info() {} }
const url = 'http://127.0.0.1:1'
const authentication = new AuthenticationService(app, 'authentication', {
  secret: 'a secret of the tests, with 32 bytes and more',
  entity: 'user', service: 'users', authStrategies: ['jwt', 'own'],
  oauth: { own: {
    key: 'id', secret: 'x', allowPrivateNetwork: true,
    authorize_url: url + '/a', access_url: url + '/b', profile_url: url + '/c',
  } },
})
authentication.register('jwt', new JwtStrategy()).register('own', new OAuthStrategy())
app.use('users', { id: 'id', async find() { return [] }, async get() {}, async create() {} })
app.use('authentication', authentication).configure(oauth())
await app.setup()
const params = { route: { provider: 'own' }, requestUrl: 'http://127.0.0.1/oauth/own', query: {} }
await app.service('oauth/:provider/callback').find(params).catch(() => undefined)
step('set up')
const context = await app.service('oauth/:provider').find(params, {}).catch(String)
step('begun ' + context.location)
`

t.test('loads the libraries of OAuth when somebody logs in by it', async (t) => {
  const file = join(t.testdir(), 'loaded.txt')
  const env = { ...process.env, LOADED: file }
  await run(process.execPath, ['--input-type=module', '-e', SCRIPT], { cwd: ROOT, env })
  const [imported = '', setUp = '', begun = '', end = ''] = (await readFile(file, 'utf8')).split(
    'step: ',
  )
  const loadedIn = (text: string): string[] =>
    PACKAGES.filter((name) => text.includes(`/node_modules/${name}/`))
  t.match(imported, '/dist/auth/index.js')
  t.strictSame(loadedIn(imported), [], 'by an import')
  t.strictSame(loadedIn(setUp), [], 'by a start, and by a callback of nobody')
  t.strictSame(loadedIn(begun), ['openid-client', 'oauth4webapi', 'jose'], 'by the first login')
  t.match(end, /^begun http:\/\/127\.0\.0\.1:1\/a\?/)
})
