import * as client from 'openid-client'
import type { Test } from 'tap'
import t from 'tap'
import { redirectsTo } from '../../support/oauth/bad-answers.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import type { LyingOpenIdServer } from '../../support/oauth/lying-openid-server.ts'
import { startLyingOpenIdServer } from '../../support/oauth/lying-openid-server.ts'
import {
  CALLBACK_LIES,
  CLAIM_LIES,
  DISCOVERY_LIES,
  JWKS_LIES,
  SIGNATURE_LIES,
  TOKEN_LIES,
  USERINFO_LIES,
} from '../../support/oauth/openid-lies.ts'

const REDIRECT_URI = 'http://127.0.0.1:9/callback'

async function start(t: Test) {
  const server = await startLyingOpenIdServer()
  t.teardown(() => server.close())
  return server
}

/**
 * Resolves to the claims of a login by a client that checks whatever the library can check. What it
 * asks of other hosts goes into a list instead, and the login fails.
 */
async function logIn(server: LyingOpenIdServer, misled: string[] = []) {
  const { issuer, client: application } = server
  const { key, secret } = application
  const configuration = await client.discovery(new URL(issuer), key, secret, undefined, {
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
    [client.customFetch]: async (url, options) => {
      if (url.startsWith(`${issuer}/`)) return fetch(url, options as RequestInit)
      misled.push(url)
      throw new Error(`asks ${url}`)
    },
  })
  const verifier = client.randomPKCECodeVerifier()
  const [state, nonce] = [client.randomState(), client.randomNonce()]
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid email',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  })
  const { location } = await new CookieBrowser().open(url.href)
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce }
  const callback = new URL(location ?? 'none:')
  const tokens = await client.authorizationCodeGrant(configuration, callback, {
    ...checks,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  const userinfo = await client.fetchUserInfo(
    configuration,
    tokens.access_token,
    claims?.sub || client.skipSubjectCheck,
  )
  return { claims, userinfo }
}

t.test('is honest until it is told to lie', async (t) => {
  const server = await start(t)
  const { claims, userinfo } = await logIn(server)
  t.match(claims, { sub: 'ann', iss: server.issuer, aud: 'notes', email: 'ann@example.com' })
  t.match(userinfo, { sub: 'ann', email_verified: true })
  server.lie = { idToken: (honest) => ({ ...honest, name: 'Ann' }) }
  t.match((await logIn(server)).claims, { name: 'Ann' })
})

const LIES = {
  CALLBACK_LIES,
  CLAIM_LIES,
  DISCOVERY_LIES,
  JWKS_LIES,
  SIGNATURE_LIES,
  TOKEN_LIES,
  USERINFO_LIES,
}

/** What the library takes: who relies on it has to look at these. */
const TAKEN: Readonly<Record<string, readonly string[]>> = { CLAIM_LIES: ['an empty sub'] }

for (const [table, lies] of Object.entries(LIES)) {
  t.test(`a client that checks all takes none of the ${table}, but those named`, async (t) => {
    const server = await start(t)
    const taken: string[] = []
    for (const [name, lie] of Object.entries(lies)) {
      server.lie = lie
      await logIn(server).then(
        () => taken.push(name),
        () => undefined,
      )
    }
    t.strictSame(taken, TAKEN[table] ?? [])
  })
}

t.test('leads to other hosts, which the library asks without a word', async (t) => {
  const server = await start(t)
  const misled: string[] = []
  for (const lie of Object.values(DISCOVERY_LIES)) {
    server.lie = lie
    await t.rejects(logIn(server, misled))
  }
  t.strictSame(misled, [
    'http://127.0.0.1:1/token',
    'http://127.0.0.1:1/userinfo',
    'http://127.0.0.1:1/jwks',
    'http://provider.example.com/token',
    'http://10.0.0.1/token',
  ])
})

t.test('answers with redirects where it is told to', async (t) => {
  const server = await start(t)
  for (const path of ['/jwks', '/token', '/userinfo', '/.well-known/openid-configuration']) {
    for (const [name, answer] of Object.entries(redirectsTo('http://127.0.0.1:1/'))) {
      server.lie = { answers: { [path]: answer } }
      await t.rejects(logIn(server), `${path} ${name}`)
    }
  }
})

t.test('makes an id token without a login', async (t) => {
  const server = await start(t)
  const token = await server.createIdToken({ sub: 'direct', nonce: undefined })
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  t.match(claims, { sub: 'direct', iss: server.issuer, aud: 'notes' })
  t.notOk('nonce' in claims)
})
