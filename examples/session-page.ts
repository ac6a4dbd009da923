// A page that stays logged in with cookies that scripts cannot read. It needs `npm install esbuild`, which
// bundles the script of the page: `npx tsx node_modules/remex/examples/session-page.ts`. Reads PORT (3030),
// HOST (127.0.0.1), MONGODB_URL (an embedded database by default) and AUTH_SECRET (a new one at each
// start by default). Log in as ada@example.org with the password `correct horse battery`, and open a second tab.
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Db } from 'mongodb'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB } from 'remex/mongodb'
import { createAccounts } from './sessions.ts'

const HTML = `<!doctype html>
<meta charset="utf-8">
<title>Sessions</title>
<p>You are <output id="who">…</output>.</p>
<form id="login">
  <input name="email" type="email" placeholder="Email" autocomplete="username">
  <input name="password" type="password" placeholder="Password" autocomplete="current-password">
  <button>Log in</button>
</form>
<button id="logout">Log out</button>
<ul id="sessions"></ul>
<script type="module" src="/page.js"></script>`

const SCRIPT = `
import { authentication, createClient } from 'remex/client'

const client = createClient({ baseURL: location.origin })
client.configure(authentication({ cookie: true }))

async function show() {
  const login = await client.get('authentication')
  document.querySelector('#who').textContent = login?.user.email ?? 'guest'
  const { data } = login ? await client.service('sessions').find() : { data: [] }
  const items = data.map(({ userAgent, usedAt, current }) => {
    const item = document.createElement('li')
    item.textContent = usedAt + ' ' + userAgent + (current ? ' (this one)' : '')
    return item
  })
  document.querySelector('#sessions').replaceChildren(...items)
}
for (const event of ['login', 'logout', 'expired']) client.on(event, show)

document.querySelector('#login').addEventListener('submit', async (event) => {
  event.preventDefault()
  const { email, password } = Object.fromEntries(new FormData(event.target))
  await client.authenticate({ strategy: 'local', email, password })
})
document.querySelector('#logout').addEventListener('click', () => client.logout())

await client.reAuthenticate().catch(show)
`

/** Returns the application, with the page at `/`. */
export async function createSite(db: Db, secret: string) {
  const app = createAccounts(db, secret, { cookie: true })
  const { outputFiles } = await build({
    stdin: { contents: SCRIPT, resolveDir: dirname(fileURLToPath(import.meta.url)) },
    ...{ bundle: true, format: 'esm', platform: 'browser', write: false },
  })
  const script = outputFiles[0]?.text
  app.fastify.get('/', (_request, reply) => reply.type('text/html').send(HTML))
  app.fastify.get('/page.js', (_request, reply) => reply.type('text/javascript').send(script))
  return app
}

// Does not start when a test imports this file.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongo = await connectMongoDB(MONGODB_URL ?? embedded?.url ?? '')
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = await createSite(mongo.db('remex_session_page'), secret)
  await app.listen({ port: Number(PORT), host: HOST })
  await app
    .service('users')
    .create({ email: 'ada@example.org', password: 'correct horse battery' })
    .catch((error: Error) => console.log(error.message))
  console.log(`Open http://${HOST}:${PORT}`)
}
