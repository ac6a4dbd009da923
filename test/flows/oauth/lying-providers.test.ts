import type { Test } from 'tap'
import t from 'tap'
import { OAuthStrategy } from '../../../src/auth/index.ts'
import type { AttackedApp } from '../../support/oauth/attacked-app.ts'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'
import { BAD_ANSWERS, redirectsTo, WRONG_IDS } from '../../support/oauth/bad-answers.ts'
import type { OpenIdLie } from '../../support/oauth/openid-lies.ts'
import {
  CALLBACK_LIES,
  CLAIM_LIES,
  DISCOVERY_LIES,
  JWKS_LIES,
  SIGNATURE_LIES,
  TOKEN_LIES,
  USERINFO_LIES,
} from '../../support/oauth/openid-lies.ts'

type Lies = Readonly<Record<string, OpenIdLie>>

/** Methods of the users that a refused login must not call. */
const CALLS = ['find', 'get', 'create', 'patch', 'update', 'remove']

/**
 * Asserts that a login at a provider that lies is refused, without a word of the provider's, and that
 * nobody is found, made or changed.
 */
async function checkRefused(t: Test, app: AttackedApp, name: string): Promise<void> {
  const login = await app.begin()
  app.takeTraces()
  const { status, headers } = await app.finish(login)
  const location = headers.get('location') ?? ''
  t.ok(status === 401 || /\/home#error=[\w%.-]+$/.test(location), `${name}: ${status} ${location}`)
  t.notMatch(location, /secret|srv|stack|access_token|127\.0\.0\.1/)
  t.strictSame(
    app.takeTraces().filter((one) => CALLS.includes(one)),
    [],
    name,
  )
}

const PER_LOGIN: Readonly<Record<string, Lies>> = {
  'claims that must not be taken are not (OAU-2)': CLAIM_LIES,
  'signatures that must not be taken are not (OAU-2)': SIGNATURE_LIES,
  'callbacks that must not be taken are not (OAU-2)': CALLBACK_LIES,
  'tokens that must not be taken are not (OAU-2)': TOKEN_LIES,
  'profiles of others that must not be taken are not (OAU-2)': USERINFO_LIES,
}

for (const [title, lies] of Object.entries(PER_LOGIN)) {
  t.test(title, async (t) => {
    const app = await startAttackedApp(t)
    for (const [name, lie] of Object.entries(lies)) {
      app.provider.lie = lie
      await checkRefused(t, app, name)
    }
    app.provider.lie = {}
    const { headers } = await app.finish(await app.begin())
    t.match(headers.get('location'), /#access_token=/, 'the honest one is')
  })
}

/** The keys are fetched by the first login, and kept. */
t.test('an id token whose keys are none is refused (OAU-2)', async (t) => {
  for (const [name, lie] of Object.entries(JWKS_LIES)) {
    const app = await startAttackedApp(t)
    app.provider.lie = lie
    await checkRefused(t, app, name)
  }
})

t.test('a discovery document leads to no other network, no script (OAU-2, OAU-4)', async (t) => {
  const app = await startAttackedApp(t, { section: { allowPrivateNetwork: true } })
  for (const [name, lie] of Object.entries(DISCOVERY_LIES)) {
    app.provider.lie = lie
    const { status, headers } = await app.send('/oauth/example')
    const location = headers.get('location') ?? ''
    const isRefused = status === 401 || location.startsWith('/home#error=')
    if (isRefused) continue
    t.ok(location.startsWith(`${app.provider.issuer}/authorize?`), `${name}: ${location}`)
    const back = (await app.send(location)).headers.get('location') ?? ''
    const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const finished = await app.send(back, { headers: { cookie } })
    t.match(finished.headers.get('location'), /\/home#error=/, name)
    // Kept from the first flow on: the next lie needs another document.
    app.authentication.app.set('authentication', { ...app.authentication.configuration })
  }
  t.strictSame(
    app.takeTraces().filter((one) => CALLS.includes(one)),
    [],
  )
})

t.test('an answer of one provider is none of another (OAU-2)', async (t) => {
  const app = await startAttackedApp(t)
  const [example, other] = [await app.begin(), await app.begin('/oauth/other')]
  const mixed = new URL(example.callback)
  for (const name of ['code', 'iss']) {
    mixed.searchParams.set(name, new URL(other.callback).searchParams.get(name) ?? '')
  }
  app.takeTraces()
  const { headers } = await app.finish({ ...example, callback: mixed.href })
  t.match(headers.get('location'), /#error=/)
  t.strictSame(app.takeTraces(), [], 'the code of the other is not sent to this one')
})

t.test('the provider gets the verifier of the challenge, no other secret (OAU-2)', async (t) => {
  const app = await startAttackedApp(t)
  const login = await app.begin()
  await app.finish(login)
  const { searchParams } = login.page
  const [{ body = '' } = {}] = app.provider.requests.filter(({ path }) => path === '/token')
  const sent = new URLSearchParams(body)
  const digest = await crypto.subtle.digest(
    'SHA-256',
    new TextEncoder().encode(sent.get('code_verifier') ?? ''),
  )
  t.equal(searchParams.get('code_challenge'), Buffer.from(digest).toString('base64url'))
  t.equal(searchParams.get('code_challenge_method'), 'S256')
  t.ok((sent.get('code_verifier') ?? '').length >= 43)
  for (const name of ['state', 'nonce']) t.ok((searchParams.get(name) ?? '').length >= 32, name)
  t.notOk(searchParams.has('client_secret'))
})

const ENDPOINTS = ['/.well-known/openid-configuration', '/jwks', '/token', '/userinfo']

const SLOW: readonly string[] = ['no answer at all', 'a body that stops in the middle']

for (const path of ENDPOINTS) {
  t.test(`no answer, a redirect or a too large one of ${path} is refused (OAU-4)`, async (t) => {
    const elsewhere = await startAttackedApp(t)
    const answers = { ...BAD_ANSWERS, ...redirectsTo(elsewhere.provider.origin) }
    const app = await startAttackedApp(t)
    for (const [name, answer] of Object.entries(answers)) {
      if (SLOW.includes(name)) continue
      // Document and keys are kept from the first flow on: each answer needs a new provider.
      app.authentication.app.set('authentication', { ...app.authentication.configuration })
      app.provider.lie = { answers: { [path]: answer } }
      const started = await app.send('/oauth/example')
      const [cookie = ''] = started.headers.getSetCookie()
      let location = started.headers.get('location') ?? ''
      if (location.startsWith(app.provider.origin)) {
        const back = (await app.send(location)).headers.get('location') ?? ''
        const finished = await app.send(back, { headers: { cookie: cookie.split(';')[0] ?? '' } })
        location = finished.headers.get('location') ?? ''
      }
      t.match(location, /^\/home#error=[\w%.-]+$/, name)
    }
    t.strictSame(
      app.takeTraces().filter((one) => CALLS.includes(one)),
      [],
    )
    t.strictSame(elsewhere.provider.requests, [], 'no redirect is followed')
    const log = app.log.join()
    t.notMatch(log, /secret-of-the-provider|provider\.js:1/)
  })
}

t.test('an id that is no string or number is none (OAU-5)', async (t) => {
  const app = await startAttackedApp(t)
  for (const [name, sub] of Object.entries(WRONG_IDS)) {
    app.provider.account = { sub }
    await checkRefused(t, app, name)
  }
})

/** Notes which address of a login counts as confirmed. */
class NotingStrategy extends OAuthStrategy {
  readonly emails: (string | null)[] = []

  override async getEntityData(
    ...[profile, ...others]: Parameters<OAuthStrategy['getEntityData']>
  ) {
    this.emails.push(this.getVerifiedEmail(profile))
    return super.getEntityData(profile, ...others)
  }
}

const [ANN, VICTIM] = ['ann@example.com', 'victim@example.com']

/** By the claims of the id token and those of the userinfo: the address that is confirmed. */
const EMAILS: readonly (readonly [idToken: object, userinfo: object, confirmed: string | null])[] =
  [
    [{ email: ANN, email_verified: true }, {}, ANN],
    [{}, { email: ANN, email_verified: true }, ANN],
    [{ email: ANN, email_verified: true }, { email: ANN }, ANN],
    [{ email: ANN, email_verified: true }, { email: ANN, email_verified: false }, null],
    [{ email: ANN, email_verified: true }, { email: VICTIM }, null],
    [{ email: ANN, email_verified: false }, { email: VICTIM, email_verified: true }, VICTIM],
    [{ email_verified: true }, { email: VICTIM }, null],
    [{ email: VICTIM }, { email_verified: true }, null],
    [{ email: VICTIM, email_verified: false }, { email_verified: true }, null],
  ]

t.test('whether an address is confirmed is said by its source (OAU-5)', async (t) => {
  const strategy = new NotingStrategy()
  const app = await startAttackedApp(t, { strategies: { example: strategy } })
  for (const [idToken, userinfo, confirmed] of EMAILS) {
    app.provider.account = { sub: 'ann' }
    app.provider.lie = {
      idToken: (honest) => ({ ...honest, ...idToken }),
      userinfo: (honest) => ({ ...honest, ...userinfo }),
    }
    const { headers } = await app.finish(await app.begin())
    t.match(headers.get('location'), /#access_token=/)
    t.equal(strategy.emails.at(-1), confirmed, JSON.stringify([idToken, userinfo]))
  }
})
