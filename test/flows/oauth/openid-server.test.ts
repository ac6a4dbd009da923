import * as client from 'openid-client'
import type { Test } from 'tap'
import t from 'tap'
import type { Page } from '../../support/oauth/cookie-browser.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import { startLocalServer } from '../../support/oauth/local-server.ts'
import type { OpenIdServerOptions } from '../../support/oauth/openid-server.ts'
import { startOpenIdServer } from '../../support/oauth/openid-server.ts'

/** Never asked: the browser stops before it. */
const REDIRECT_URI = 'http://127.0.0.1:9/callback'

const CLIENT = {
  client_id: 'notes',
  client_secret: 'a secret of at least thirty-two characters',
  redirect_uris: [REDIRECT_URI],
}

const ANN = { email: 'ann@example.com', email_verified: true, name: 'Ann' }

async function start(t: Test, options: OpenIdServerOptions = {}) {
  const server = await startOpenIdServer({ clients: [CLIENT], accounts: { ann: ANN }, ...options })
  t.teardown(() => server.close())
  const discover = () =>
    client.discovery(
      new URL(server.issuer),
      CLIENT.client_id,
      CLIENT.client_secret,
      client.ClientSecretBasic(CLIENT.client_secret),
      { execute: [client.allowInsecureRequests] },
    )
  return { server, discover, configuration: await discover(), browser: new CookieBrowser() }
}

/** What one login needs to remember, and its URL. */
async function createLogin(configuration: client.Configuration, more: Record<string, string> = {}) {
  const verifier = client.randomPKCECodeVerifier()
  const [state, nonce] = [client.randomState(), client.randomNonce()]
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid email profile',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
    ...more,
  })
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce }
  return { url: url.href, checks }
}

const stop = { stopAt: (url: URL) => url.href.startsWith(REDIRECT_URI) }

async function logIn(browser: CookieBrowser, url: string, account = 'ann'): Promise<Page> {
  const login = await browser.follow(url)
  const consent = await browser.submit(login, { account }, stop)
  return browser.submit(consent, {}, stop)
}

const callbackOf = ({ location }: Page) => new URL(location ?? 'none:')

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

t.test('logs a user in after login and consent, with claims by scope', async (t) => {
  const { server, configuration, browser } = await start(t)
  const { url, checks } = await createLogin(configuration)
  const callback = callbackOf(await logIn(browser, url))
  t.equal(callback.searchParams.get('iss'), server.issuer)
  const tokens = await client.authorizationCodeGrant(configuration, callback, checks)
  const claims = tokens.claims()
  t.match(claims, { sub: 'ann', iss: server.issuer, aud: 'notes', email: undefined })
  t.match(await client.fetchUserInfo(configuration, tokens.access_token, 'ann'), ANN)
  const again = client.authorizationCodeGrant(configuration, callback, checks)
  t.match(await failureOf(again), { error: 'invalid_grant' }, 'a code serves once')
})

t.test('remembers the user and the consent, and asks another browser', async (t) => {
  const { configuration, browser } = await start(t)
  await logIn(browser, (await createLogin(configuration)).url)
  const second = await createLogin(configuration)
  const tokens = await client.authorizationCodeGrant(
    configuration,
    callbackOf(await browser.follow(second.url, stop)),
    second.checks,
  )
  t.equal(tokens.claims()?.sub, 'ann')
  const other = await new CookieBrowser().follow(second.url, stop)
  t.match(other, { location: null, text: /name="account"/ })
})

t.test('sends the answer by form_post, to another site without its Lax cookies', async (t) => {
  const { server, configuration, browser } = await start(t)
  const cookies = ['lax=1; SameSite=Lax', 'none=1; SameSite=None; Secure']
  const application = await startLocalServer(({ query }) => {
    const cookie = query.get('cookie')
    return cookie === null ? {} : { headers: { 'set-cookie': cookie } }
  })
  t.teardown(() => application.close())
  // Two ports of one host are one site.
  const redirectUri = `${application.origin.replace('127.0.0.1', 'localhost')}/callback`
  server.addClient({ ...CLIENT, redirect_uris: [redirectUri] })
  for (const cookie of cookies) {
    await browser.open(`${redirectUri}?cookie=${encodeURIComponent(cookie)}`)
  }
  const posting = { response_mode: 'form_post', redirect_uri: redirectUri }
  const { url, checks } = await createLogin(configuration, posting)
  await browser.submit(await logIn(browser, url))
  const received = application.requests.at(-1)
  t.match(received, { method: 'POST', path: '/callback' })
  t.equal(received?.headers.cookie, 'none=1')
  t.match(received?.headers, { origin: server.issuer, 'sec-fetch-site': 'cross-site' })
  const request = new Request(redirectUri, {
    method: 'POST',
    body: new URLSearchParams(received?.body),
  })
  const tokens = await client.authorizationCodeGrant(configuration, request, checks)
  t.equal(tokens.claims()?.sub, 'ann')
})

t.test('tells of a refused login and of a refused consent', async (t) => {
  const { configuration, browser } = await start(t)
  const { url, checks } = await createLogin(configuration)
  const pages = [
    await browser.submit(await browser.follow(url), { action: 'refuse' }, stop),
    await browser.submit(
      await browser.submit(await browser.follow(url), { account: 'ann' }, stop),
      { action: 'refuse' },
      stop,
    ),
  ]
  for (const page of pages) {
    const grant = client.authorizationCodeGrant(configuration, callbackOf(page), checks)
    t.match(await failureOf(grant), { error: 'access_denied' })
  }
})

t.test('asks again for an account that it does not know', async (t) => {
  const { configuration, browser } = await start(t)
  const { url } = await createLogin(configuration)
  const page = await browser.submit(await browser.follow(url), { account: 'nobody' }, stop)
  t.match(page, { location: null, text: /no account of this name/ })
  const consent = await browser.submit(page, { account: 'ann' }, stop)
  t.ok(callbackOf(await browser.submit(consent, {}, stop)).searchParams.has('code'))
})

t.test('demands PKCE, and the verifier of the challenge', async (t) => {
  const { configuration, browser } = await start(t)
  const { url, checks } = await createLogin(configuration)
  const bare = new URL(url)
  bare.searchParams.delete('code_challenge')
  bare.searchParams.delete('code_challenge_method')
  const refused = callbackOf(await browser.follow(bare.href, stop))
  t.equal(refused.searchParams.get('error'), 'invalid_request')
  const grant = client.authorizationCodeGrant(
    configuration,
    callbackOf(await logIn(browser, url)),
    {
      ...checks,
      pkceCodeVerifier: client.randomPKCECodeVerifier(),
    },
  )
  t.match(await failureOf(grant), { error: 'invalid_grant' })
})

t.test('signs with new keys after a rotation, and lets running logins go on', async (t) => {
  const { server, configuration, discover, browser } = await start(t)
  const before = [...server.kids]
  const { url, checks } = await createLogin(configuration)
  const login = await browser.follow(url)
  await server.rotateKeys()
  t.notOk(server.kids.some((kid) => before.includes(kid)))
  const consent = await browser.submit(login, { account: 'ann' }, stop)
  const callback = callbackOf(await browser.submit(consent, {}, stop))
  const rotated = await discover()
  client.enableNonRepudiationChecks(rotated)
  const tokens = await client.authorizationCodeGrant(rotated, callback, checks)
  const [header = ''] = tokens.id_token?.split('.') ?? []
  t.match(JSON.parse(Buffer.from(header, 'base64url').toString()), { kid: server.kids[0] })
})

t.test('signs with ES256 for a client that asks for it, with claims in the id token', async (t) => {
  const wanting = { ...CLIENT, id_token_signed_response_alg: 'ES256' as const }
  const { server, browser } = await start(t, { clients: [], claimsIn: 'id_token' })
  server.addClient(wanting)
  const configuration = await client.discovery(
    new URL(server.issuer),
    'notes',
    wanting,
    undefined,
    {
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
    },
  )
  const { url, checks } = await createLogin(configuration)
  const callback = callbackOf(await logIn(browser, url))
  const tokens = await client.authorizationCodeGrant(configuration, callback, checks)
  t.match(tokens.claims(), { sub: 'ann', ...ANN })
})

t.test('prints nothing', async (t) => {
  const printed: unknown[] = []
  const { warn, info, error } = console
  t.teardown(() => Object.assign(console, { warn, info, error }))
  const print = (...words: unknown[]) => void printed.push(words)
  Object.assign(console, { warn: print, info: print, error: print })
  const { configuration, browser } = await start(t)
  const { url, checks } = await createLogin(configuration)
  const callback = callbackOf(await logIn(browser, url))
  await client.authorizationCodeGrant(configuration, callback, checks)
  await browser.open(url.replace('client_id=notes', 'client_id=other'))
  t.strictSame(printed, [])
})
