import * as client from 'openid-client'
import type { Test } from 'tap'
import t from 'tap'
import { BAD_ANSWERS, redirectsTo, WRONG_IDS } from '../../support/oauth/bad-answers.ts'
import type { Page } from '../../support/oauth/cookie-browser.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import type { GitHubServer, GitHubServerOptions } from '../../support/oauth/github-server.ts'
import { startGitHubServer } from '../../support/oauth/github-server.ts'
import { until } from '../../support/until.ts'

const REDIRECT_URI = 'http://127.0.0.1:9/callback'

async function start(t: Test, options?: GitHubServerOptions) {
  const server = await startGitHubServer(options)
  t.teardown(() => server.close())
  return { server, configuration: configure(server), browser: new CookieBrowser() }
}

function configure({ urls, client: { key, secret }, origin }: GitHubServer) {
  const endpoints = {
    issuer: origin,
    authorization_endpoint: urls.authorize_url,
    token_endpoint: urls.access_url,
  }
  const configuration = new client.Configuration(endpoints, key, secret)
  client.allowInsecureRequests(configuration)
  return configuration
}

async function createLogin(configuration: client.Configuration) {
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: REDIRECT_URI,
    scope: 'read:user user:email',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  })
  return { url: url.href, checks: { pkceCodeVerifier: verifier, expectedState: state } }
}

const callbackOf = ({ location }: Page) => new URL(location ?? 'none:')

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

t.test('logs a user in, and tells of the user and the e-mail addresses', async (t) => {
  const { server, configuration, browser } = await start(t)
  const { url, checks } = await createLogin(configuration)
  const callback = callbackOf(await browser.open(url))
  const tokens = await client.authorizationCodeGrant(configuration, callback, checks)
  t.match(tokens, { token_type: 'bearer', scope: 'read:user,user:email', id_token: undefined })
  const get = async (address: string) =>
    (
      await client.fetchProtectedResource(
        configuration,
        tokens.access_token,
        new URL(address),
        'GET',
      )
    ).json()
  t.match(await get(server.urls.profile_url), { id: 583231, login: 'octocat', email: null })
  t.match(await get(server.urls.emails_url), [
    { primary: true, verified: true },
    { verified: false },
  ])
  t.strictSame(
    server.requests.map(({ method, path }) => `${method} ${path}`),
    [
      'GET /login/oauth/authorize',
      'POST /login/oauth/access_token',
      'GET /user',
      'GET /user/emails',
    ],
  )
  t.match(server.requests[2]?.headers, { authorization: `Bearer ${tokens.access_token}` })
})

t.test('tells of a refusal, and of another issuer when it lies', async (t) => {
  const { server, configuration, browser } = await start(t)
  const { url, checks } = await createLogin(configuration)
  server.decision = 'refuse'
  const refused = client.authorizationCodeGrant(
    configuration,
    callbackOf(await browser.open(url)),
    checks,
  )
  t.match(await failureOf(refused), { error: 'access_denied' })
  Object.assign(server, { decision: 'accept', iss: 'https://evil.test' })
  const lying = callbackOf(await browser.open(url))
  t.equal(lying.searchParams.get('iss'), 'https://evil.test')
  const failure = await failureOf(client.authorizationCodeGrant(configuration, lying, checks))
  t.match(failure, { code: 'OAUTH_INVALID_RESPONSE' })
})

t.test('gives a token for a code once, to its client, its redirect and its verifier', async (t) => {
  const { server, configuration, browser } = await start(t)
  const { key, secret } = server.client
  const good = { client_id: key, client_secret: secret, redirect_uri: REDIRECT_URI }
  const exchange = async (changes: Record<string, string>, code?: string) => {
    const { url, checks } = await createLogin(configuration)
    const given = code ?? callbackOf(await browser.open(url)).searchParams.get('code') ?? ''
    const form = { ...good, code: given, code_verifier: checks.pkceCodeVerifier, ...changes }
    const headers = { accept: 'application/json' }
    const body = new URLSearchParams(form)
    const response = await fetch(server.urls.access_url, { method: 'POST', headers, body })
    return { status: response.status, code: given, answer: await response.json() }
  }
  const first = await exchange({})
  t.match(first, { status: 200, answer: { token_type: 'bearer' } })
  const refusals: [Record<string, string>, string, string?][] = [
    [{}, 'bad_verification_code', first.code],
    [{ code: 'made-up' }, 'bad_verification_code'],
    [{ code_verifier: 'of another' }, 'bad_verification_code'],
    [{ client_secret: 'wrong' }, 'incorrect_client_credentials'],
    [{ redirect_uri: 'http://127.0.0.1:9/other' }, 'redirect_uri_mismatch'],
  ]
  for (const [changes, error, code] of refusals) {
    t.match(await exchange(changes, code), { status: 200, answer: { error } })
  }
  t.equal((await fetch(server.urls.profile_url)).status, 401)
})

t.test('takes no notice of PKCE where it is ignored, a form where none asks JSON', async (t) => {
  const { server, configuration, browser } = await start(t, { pkce: 'ignored' })
  const { url } = await createLogin(configuration)
  const { key, secret } = server.client
  const code = callbackOf(await browser.open(url)).searchParams.get('code') ?? ''
  const response = await fetch(server.urls.access_url, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${key}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ code, redirect_uri: REDIRECT_URI }),
  })
  t.equal(new URLSearchParams(await response.text()).get('token_type'), 'bearer')
})

t.test('a token stays that of its user when another one logs in', async (t) => {
  const { server, configuration, browser } = await start(t)
  const { url, checks } = await createLogin(configuration)
  const callback = callbackOf(await browser.open(url))
  server.user = { id: 2, login: 'second', name: null, email: null }
  const tokens = await client.authorizationCodeGrant(configuration, callback, checks)
  const headers = { authorization: `Bearer ${tokens.access_token}` }
  const profile = await fetch(server.urls.profile_url, { headers })
  t.match(await profile.json(), { id: 583231 })
})

/** What goes on until one of the two leaves. */
const ENDLESS = ['no answer at all', 'a body that stops in the middle', 'a body without an end']

t.test('answers badly where it is told to', async (t) => {
  const { server } = await start(t)
  const plain = Object.keys(BAD_ANSWERS).filter((name) => !/body|answer|breaks/.test(name))
  t.ok(plain.length > 10)
  for (const name of plain) {
    server.answerWith('/user', BAD_ANSWERS[name])
    const { status } = await fetch(server.urls.profile_url)
    t.equal(status, Number(/status (\d+)/.exec(name)?.[1] ?? 200), name)
  }
  for (const [name, answer] of Object.entries(redirectsTo('http://127.0.0.1:1/'))) {
    server.answerWith('/user', answer)
    const { status } = await fetch(server.urls.profile_url, { redirect: 'manual' })
    t.ok(name.includes(String(status)), name)
  }
  server.answerWith('/user', undefined)
  t.equal((await fetch(server.urls.profile_url)).status, 401)
})

t.test('sends a hundred megabytes, also in a hundred kilobytes', async (t) => {
  const { server } = await start(t)
  for (const name of ['a body of 100 MB', 'a body of 100 MB in 100 kB of gzip']) {
    server.answerWith('/user', BAD_ANSWERS[name])
    const { size } = await (await fetch(server.urls.profile_url)).blob()
    t.ok(size > 100 * 1024 * 1024, name)
  }
  t.strictSame(server.cut, [])
})

t.test('goes on until the client leaves, and remembers that', async (t) => {
  const { server } = await start(t)
  for (const [index, name] of ENDLESS.entries()) {
    server.answerWith('/user', BAD_ANSWERS[name])
    const leaving = new AbortController()
    const response = fetch(server.urls.profile_url, { signal: leaving.signal })
    const failure = failureOf(response)
    await until(() => server.requests.length > index)
    if (name !== 'no answer at all') await (await response).body?.getReader().read()
    leaving.abort()
    await until(() => server.cut.length > index)
    await failure
  }
  t.strictSame(server.cut, ['/user', '/user', '/user'])
})

t.test('breaks connections and encodings', async (t) => {
  const { server } = await start(t)
  for (const name of ['a connection that breaks', 'a body that is no gzip']) {
    server.answerWith('/user', BAD_ANSWERS[name])
    const body = fetch(server.urls.profile_url).then((response) => response.text())
    await t.rejects(body, name)
  }
})

t.test('has ids of every wrong kind', async (t) => {
  const { server, configuration, browser } = await start(t)
  for (const [name, id] of Object.entries(WRONG_IDS)) {
    server.user = { id, login: 'x', name: null, email: null }
    const { url, checks } = await createLogin(configuration)
    const callback = callbackOf(await browser.open(url))
    const tokens = await client.authorizationCodeGrant(configuration, callback, checks)
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    const profile = await (await fetch(server.urls.profile_url, { headers })).json()
    t.strictSame((profile as { id?: unknown }).id, id, name)
  }
})
