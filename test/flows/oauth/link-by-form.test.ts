import t from 'tap'
import { openDatabase } from '../../support/database.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import { startOAuthApp } from '../../support/oauth/oauth-app.ts'
import { startOpenIdServer } from '../../support/oauth/openid-server.ts'

const SECRET = 'a secret of at least thirty-two characters'
const database = await openDatabase(t)

t.test('a form links a login by a token that is in no address', async (t) => {
  const provider = await startOpenIdServer({ accounts: { ann: {} } })
  t.teardown(() => provider.close())
  const section = { key: 'app', secret: SECRET, issuer: provider.issuer, allowPrivateNetwork: true }
  const users = await database.empty('users')
  const oauth = { redirect: '/home', example: section }
  const app = await startOAuthApp({ users, oauth })
  t.teardown(() => app.close())
  const redirectUris = [`${app.origin}/oauth/example/callback`]
  provider.addClient({ client_id: 'app', client_secret: SECRET, redirect_uris: redirectUris })
  const { insertedId } = await users.insertOne({ name: 'Ann' })
  const token = await app.authentication.createAccessToken({}, { subject: String(insertedId) })

  const browser = new CookieBrowser()
  const stop = { stopAt: (url: URL) => url.pathname === '/home' }
  const text = `<form method="post" action="/oauth/example"><input name="feathers_token"></form>`
  const page = { ...(await browser.open(`${app.origin}/me`)), text }
  const login = await browser.submit(page, { feathers_token: token }, stop)
  const consent = await browser.submit(login, { account: 'ann' }, stop)
  await browser.submit(consent, {}, stop)
  t.match(await users.find().toArray(), [{ _id: insertedId, exampleId: 'ann', name: 'Ann' }])
  t.equal(await users.countDocuments(), 1)
})
