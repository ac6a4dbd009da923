import type { Test } from 'tap'
import t from 'tap'
import type { OAuthSettings } from '../../../src/auth/index.ts'
import { openDatabase } from '../../support/database.ts'
import type { Page } from '../../support/oauth/cookie-browser.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import { startOAuthApp } from '../../support/oauth/oauth-app.ts'
import { startOpenIdServer } from '../../support/oauth/openid-server.ts'

const SECRET = 'a secret of at least thirty-two characters'
const ANN = { email: 'ann@example.com', email_verified: true, name: 'Ann' }

const database = await openDatabase(t)

/** An application that people log in to with an account at a provider of their own. */
async function start(t: Test, settings: OAuthSettings = { redirect: '/home' }) {
  const provider = await startOpenIdServer({ accounts: { ann: ANN, bob: {} } })
  const users = await database.empty('users')
  const section = {
    key: 'app',
    secret: SECRET,
    issuer: provider.issuer,
    allowPrivateNetwork: true,
    scope: ['email', 'profile'],
  }
  const app = await startOAuthApp({ users, oauth: { ...settings, example: section } })
  const redirectUris = [`${app.origin}/oauth/example/callback`]
  provider.addClient({ client_id: 'app', client_secret: SECRET, redirect_uris: redirectUris })
  t.teardown(async () => {
    await app.close()
    await provider.close()
  })
  return { app, provider, users, browser: new CookieBrowser() }
}

/** Stops where the application sends people to after a login. */
const stop = { stopAt: (url: URL) => url.pathname.startsWith('/home') }

async function logIn(browser: CookieBrowser, url: string, account: string): Promise<Page> {
  const consent = await browser.submit(await browser.follow(url), { account }, stop)
  return consent.location === null ? browser.submit(consent, {}, stop) : consent
}

function outcomeOf({ location }: Page): Record<string, string> {
  const { hash } = new URL(location ?? 'none:')
  return Object.fromEntries(new URLSearchParams(hash.slice(1)))
}

t.test('logs somebody in, and the same person again', async (t) => {
  const { app, users, browser } = await start(t)
  const url = `${app.origin}/oauth/example?redirect=/notes`
  const page = await logIn(browser, url, 'ann')
  t.equal(page.location?.split('#')[0], `${app.origin}/home/notes`)
  const { access_token: token = '' } = outcomeOf(page)
  t.match(await app.getMe(token), { status: 200, body: { user: { exampleId: 'ann' } } })
  t.same(browser.cookies.filter(({ name }) => name.includes('remex')), [], 'the flow is forgotten')

  const again = outcomeOf(await browser.follow(url, stop))
  t.match(await app.getMe(again['access_token'] ?? ''), { status: 200 })
  t.equal(await users.countDocuments(), 1)
})
