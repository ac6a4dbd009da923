import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { createSite } from '../../../examples/session-page.ts'
import type { ChromiumPage } from '../../support/chromium.ts'
import { findChromium, openPage } from '../../support/chromium.ts'
import { openDatabase } from '../../support/database.ts'
import { ADA, startSessions } from '../../support/session-server.ts'
import { until } from '../../support/until.ts'
import { SECRET } from '../../support/users.ts'

// Two browsers are started, which takes its time beside other work.
t.setTimeout(600_000)

const database = await openDatabase(t)
const root = fileURLToPath(new URL('../../../../', import.meta.url))
const chromium = findChromium()

const HTML = `<!doctype html><button id="in">Log in</button><button id="out">Log out</button>
<p id="who">…</p><p id="notes">…</p><script type="module" src="/page.js"></script>`

/** Returns the script of a page that shows who is logged in. */
async function bundlePage(options: object): Promise<string> {
  const contents = `import { authentication, createClient } from 'remex/client'
const client = createClient({ baseURL: location.origin })
client.configure(authentication(${JSON.stringify(options)}))
const show = async () => {
  const login = await client.get('authentication')?.catch(() => null)
  document.querySelector('#who').textContent = login?.user.email ?? 'nobody'
  const notes = client.service('notes').find()
  document.querySelector('#notes').textContent = await notes.then(() => 'notes', ({ code }) => code)
}
for (const name of ['login', 'logout', 'expired']) client.on(name, show)
document.querySelector('#in').onclick = () => client.authenticate(${JSON.stringify({ strategy: 'local', ...ADA })})
document.querySelector('#out').onclick = () => client.logout()
await client.reAuthenticate().catch(show)`
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    ...{ bundle: true, format: 'esm', platform: 'browser', write: false },
  })
  return outputFiles[0]?.text ?? ''
}

const shows = (page: ChromiumPage, who: string, notes: string) =>
  until(async () => (await page.read('#who')) === who && (await page.read('#notes')) === notes)

for (const cookie of [true, 'all'] as const) {
  t.test(
    `a page stays logged in by cookies, with ${cookie === 'all' ? 'all tokens' : 'the refresh token'} in them`,
    { skip: chromium ? false : 'no Chromium' },
    async (t) => {
      const script = await bundlePage({ cookie: true })
      const { server, stored } = await startSessions(t, database, { cookie }, {}, (app) => {
        app.fastify.get('/page', (_request, reply) => reply.type('text/html').send(HTML))
        app.fastify.get('/page.js', (_request, reply) => reply.type('text/javascript').send(script))
      })
      const url = `${server.url}/page`
      const one = await openPage(t, chromium ?? '', url)
      await shows(one, 'nobody', '401')
      await one.click('#in')
      await shows(one, ADA.email, 'notes')
      t.equal(await one.evaluate('document.cookie'), '')
      const [user] = await database.db.collection('users').find().toArray()
      const kept = await one.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')
      t.strictSame(JSON.parse(String(kept)), { 'feathers-jwt': String(user?._id) })
      t.equal(await stored.countDocuments(), 1)
      await one.reload()
      await shows(one, ADA.email, 'notes')
      const two = await one.openTab(url)
      await shows(two, ADA.email, 'notes')
      await one.click('#out')
      await shows(one, 'nobody', '401')
      await shows(two, 'nobody', '401')
      t.equal(await stored.countDocuments(), 0)
      await two.click('#in')
      await shows(one, ADA.email, 'notes')
      t.equal(await stored.countDocuments(), 1)
    },
  )
}

t.test(
  'the page of the example stays logged in',
  { skip: chromium ? false : 'no Chromium' },
  async (t) => {
    await Promise.all(['users', 'sessions'].map((name) => database.empty(name)))
    const app = await createSite(database.db, SECRET)
    const server = await app.listen({ port: 0, host: '127.0.0.1' })
    t.teardown(() => app.close())
    await app.service('users').create(ADA)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const page = await openPage(t, chromium ?? '', url)
    const is = (who: string) => until(async () => (await page.read('#who')) === who)
    await is('guest')
    const fill = Object.entries(ADA).map(([name, value]) => `login.${name}.value = '${value}'`)
    await page.evaluate(`const login = document.querySelector('#login'); ${fill.join('; ')}`)
    await page.click('#login button')
    await is(ADA.email)
    await until(async () => /this one/.test(await page.read('#sessions')))
    t.equal(await page.evaluate('document.cookie'), '')
    await page.reload()
    await is(ADA.email)
    await page.click('#logout')
    await is('guest')
  },
)
