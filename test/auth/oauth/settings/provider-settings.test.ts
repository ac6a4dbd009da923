import t from 'tap'
import type { OAuthSettings } from '../../../../src/auth/oauth/settings/oauth-settings.ts'
import {
  findKnownProvider,
  resolveProvider,
} from '../../../../src/auth/oauth/settings/provider-settings.ts'

function resolve(name: string, section: object, others: object = {}) {
  return resolveProvider(`oauth.${name}`, { [name]: section, ...others } as OAuthSettings, name)
}

const KEYS = { key: 'id', secret: 'secret' }
const URLS = {
  authorize_url: 'https://own.test/authorize',
  access_url: 'https://own.test/token',
  profile_url: 'https://own.test/me',
}

/** The issuer of one customer. */
const OWN = 'https://own.test/'

const KNOWN = {
  apple: { issuer: 'https://appleid.apple.com' },
  auth0: { issuer: OWN },
  discord: { access_url: 'https://discord.com/api/oauth2/token', isOpenId: false },
  facebook: { profile_url: /^https:\/\/graph\.facebook\.com\/me\?/ },
  github: { email_url: 'https://api.github.com/user/emails' },
  gitlab: { issuer: 'https://gitlab.com' },
  google: { issuer: 'https://accounts.google.com' },
  keycloak: { issuer: OWN },
  linkedin: { issuer: 'https://www.linkedin.com/oauth', hasPkce: false, hasNonce: false },
  microsoft: { issuer: 'https://login.microsoftonline.com/common/v2.0' },
  okta: { issuer: OWN },
}

const NEED_ISSUER = ['auth0', 'keycloak', 'okta']

t.test('knows the providers by their names', async (t) => {
  for (const [name, expected] of Object.entries(KNOWN)) {
    const issuer = NEED_ISSUER.includes(name) ? { issuer: OWN } : {}
    const settings = resolve(name, { ...KEYS, ...issuer })
    t.match(settings, { name, key: 'id', secret: 'secret', hasPkce: true, ...expected }, name)
    t.not(settings.scope, '', `${name}: a scope`)
    const { authorize_url, access_url, profile_url, email_url } = settings
    for (const url of [settings.issuer, authorize_url, access_url, profile_url, email_url]) {
      if (url !== undefined) t.ok(url.startsWith('https://'), url)
    }
  }
  for (const name of ['constructor', '__proto__', 'toString', 'GitHub', '']) {
    t.equal(findKnownProvider(name), undefined, name)
  }
})

/** What is missing or contradicts something, and what the error says. */
const WRONG: readonly (readonly [name: string, section: object, message: RegExp])[] = [
  ['github', {}, /'oauth.github' has no 'key': the id of your application/],
  ['github', { secret: 'x' }, /has no 'key'/],
  ['google', { ...KEYS, profile_url: URLS.profile_url }, /'profile_url', but no 'authorize_url'/],
  [
    'github',
    { key: 'id', token_endpoint_auth_method: 'private_key_jwt' },
    /no 'private_key', which 'private_key_jwt' needs/,
  ],
  [
    'github',
    { ...KEYS, token_endpoint_auth_method: 'none' },
    /'secret', which 'none' does not use/,
  ],
  ['github', { ...KEYS, private_key: {} }, /'token_endpoint_auth_method' must say which is used/],
  [
    'github',
    { key: 'id' },
    /has no 'secret'; a public client says so: token_endpoint_auth_method: 'none'/,
  ],
  ['own', KEYS, /needs 'issuer', or 'authorize_url', 'access_url' and 'profile_url'/],
  ['own', { ...KEYS, authorize_url: URLS.authorize_url }, /'authorize_url', but no 'access_url'/],
  ['own', { ...KEYS, access_url: URLS.access_url }, /'access_url', but no 'authorize_url'/],
  ['auth0', KEYS, /needs 'issuer'/],
  ['okta', KEYS, /needs 'issuer'/],
  ['keycloak', KEYS, /needs 'issuer'/],
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'state', 'nonce'].map(
    (name) =>
      [
        'github',
        { ...KEYS, custom_params: { [name]: 'x' } },
        new RegExp(`sets '${name}' in 'custom_params'`),
      ] as const,
  ),
  ...['state', 'nonce', 'code_challenge', 'code_challenge_method', 'request', 'request_uri'].map(
    (name) =>
      [
        'github',
        { ...KEYS, dynamic: ['scope', name] },
        new RegExp(`lets callers set '${name}' by 'dynamic'`),
      ] as const,
  ),
]

t.test('refuses what is missing, and what each flow sets by itself', async (t) => {
  for (const [name, section, message] of WRONG) {
    t.throws(() => resolve(name, section), { name: 'TypeError', message }, JSON.stringify(section))
  }
})

t.test('puts overrides over the section, over the defaults, over what is known', async (t) => {
  const settings = {
    defaults: {
      scope: ['default'],
      scope_delimiter: ';',
      allowPrivateNetwork: true,
      prefix: '/x',
    },
    google: {
      ...KEYS,
      custom_params: { prompt: 'login' },
      overrides: { admin: { scope: 'admin' } },
    },
  }
  const base = resolveProvider('oauth.google', settings, 'google')
  t.match(base, {
    scope: 'openid;default',
    allowPrivateNetwork: true,
    custom_params: { prompt: 'login' },
  })
  const { overrides } = base
  const other = resolveProvider('oauth.google', settings, 'google', overrides?.['admin'])
  t.match(other, { key: 'id', scope: 'openid;admin', custom_params: { prompt: 'login' } })
})

t.test('takes own URLs and an own issuer for another server than the known one', async (t) => {
  const own = resolve('github', { ...KEYS, ...URLS })
  t.match(own, { ...URLS, email_url: undefined, issuer: 'https://own.test', isOpenId: false })
  const issuer = 'https://github.own.test'
  t.match(resolve('github', { ...KEYS, issuer }), { issuer, isOpenId: true })
  t.match(resolve('google', { ...KEYS, issuer }), { issuer, isOpenId: true })
})

t.test('asks an OpenID provider for openid, and any other for what is said', async (t) => {
  const issuer = 'https://own.test'
  const scopeOf = (section: object) => resolve('own', { ...KEYS, ...section }).scope
  t.equal(scopeOf({ issuer }), 'openid')
  t.equal(scopeOf({ issuer, scope: 'email' }), 'openid email')
  t.equal(scopeOf({ issuer, scope: 'email openid' }), 'email openid')
  t.equal(scopeOf({ issuer, scope: ['email', 'openid'] }), 'email openid')
  t.equal(scopeOf(URLS), '')
  t.equal(scopeOf({ ...URLS, scope: ['a', 'b'], scope_delimiter: ',' }), 'a,b')
})

t.test('lets callers set nothing, or what changes no rights', async (t) => {
  const dynamicOf = (dynamic: unknown) => resolve('github', { ...KEYS, dynamic }).dynamic
  t.strictSame(dynamicOf(false), [])
  t.strictSame(dynamicOf(['scope']), ['scope'])
  t.notMatch(dynamicOf(true), ['scope'])
  t.ok(dynamicOf(true).includes('login_hint'))
  for (const name of [
    'scope',
    'response_mode',
    'redirect_uri',
    'claims',
    'resource',
    'acr_values',
  ]) {
    t.notOk(dynamicOf(true).includes(name), name)
  }
})

t.test('always uses PKCE and nonces, and reaches no private network', async (t) => {
  t.match(resolve('own', { ...KEYS, issuer: 'https://own.test' }), {
    ...{ hasPkce: true, hasNonce: true, allowPrivateNetwork: undefined, givesCode: false },
    ...{ redirect_uri: undefined, dynamic: [] },
  })
})

const PLACE = 'authentication.oauth.example'
const SECURE = 'https://example.com/'
const INSECURE = 'http://example.com/'

for (const [what, section] of [
  ['an issuer', { issuer: INSECURE }],
  ['one of the URLs', { authorize_url: SECURE, access_url: SECURE, profile_url: INSECURE }],
] as const) {
  t.test(`refuses ${what} without TLS, unless private networks are allowed`, async (t) => {
    const resolveUrl = (allowPrivateNetwork: boolean) =>
      resolveProvider(PLACE, { example: { ...KEYS, ...section, allowPrivateNetwork } }, 'example')
    const message =
      "The setting 'authentication.oauth.example' has 'http://example.com/': only a provider with 'allowPrivateNetwork: true' may have http:"
    t.throws(() => resolveUrl(false), new TypeError(message))
    t.match(resolveUrl(true), { key: 'id', allowPrivateNetwork: true })
  })
}
