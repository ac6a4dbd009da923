import t from 'tap'
import type { OAuthSettings } from '../../../../src/auth/oauth/settings/oauth-settings.ts'
import {
  checkOAuthSettings,
  getProviderNames,
} from '../../../../src/auth/oauth/settings/oauth-settings.ts'
import { growthOf, LINEAR_GROWTH } from '../../../support/growth.ts'

const PLACE = 'authentication.oauth'

const check = (settings: object) => checkOAuthSettings(PLACE, settings as OAuthSettings)
const checkSection = (section: unknown) => check({ github: section })

/** As the generators of Feathers write them, and their pages show them. */
const OF_FEATHERS: Readonly<Record<string, object>> = {
  'of the generator': {
    redirect: '/',
    origins: ['http://localhost:3030'],
    google: { key: '<Client ID>', secret: '<Client secret>' },
    github: { key: '<Client ID>', secret: '<Client secret>' },
    facebook: { key: '<App ID>', secret: '<App secret>' },
  },
  'of the pages on providers': {
    redirect: '/#/login',
    google: {
      key: 'id',
      secret: 'secret',
      scope: ['openid', 'profile', 'email'],
      nonce: true,
    },
    auth0: {
      key: 'id',
      secret: 'secret',
      issuer: 'https://feathers.auth0.com/',
      scope: ['openid', 'profile', 'email'],
    },
    facebook: {
      key: 'id',
      secret: 'secret',
      scope: ['email', 'public_profile'],
    },
    github: {
      key: 'id',
      secret: 'secret',
      scope: ['user:email'],
      oauth: 2,
      state: true,
      pkce: true,
    },
  },
  'with the defaults of Feathers written out': {
    defaults: { transport: 'state', response: ['tokens', 'raw', 'profile'] },
    github: { key: 'id', secret: 'secret' },
  },
  'with what Grant knows': {
    defaults: { prefix: '/oauth', origin: 'http://localhost:3030' },
    github: {
      ...{ key: 'id', secret: 'secret', response: 'token' },
      ...{ custom_params: { prompt: 'consent' }, dynamic: ['scope'] },
      ...{ authorize_url: 'https://github.com/a', access_url: 'https://github.com/b' },
      ...{ profile_url: 'https://api.github.com/user', scope_delimiter: ',' },
      ...{ token_endpoint_auth_method: 'client_secret_basic' },
      redirect_uri: 'http://localhost:3030/oauth/github/callback',
    },
  },
}

t.test('takes settings of Feathers as they are', async (t) => {
  for (const [name, settings] of Object.entries(OF_FEATHERS)) {
    t.doesNotThrow(() => check(settings), name)
  }
})

/** What is wrong with the section, and what the error says. */
const WRONG: readonly (readonly [settings: object, message: RegExp])[] = [
  [{ redirect: 'app.test' }, /'redirect' must be a URL, or a path that begins with one \//],
  [{ redirect: '//app.test' }, /'redirect' must be/],
  [{ redirect: '/\\app.test' }, /'redirect' must be/],
  [{ redirect: 'javascript:alert(1)' }, /'redirect' must be/],
  [{ redirect: 'https://user:pw@app.test' }, /'redirect' must be/],
  [{ redirect: '' }, /'redirect' must be/],
  [{ redirect: 1 }, /'redirect' must be/],
  [{ redirect: 'https://app.test/?' }, /'authentication.oauth.redirect' ends in '\?'/],
  [{ origins: 'https://app.test' }, /'origins' must be a list of origins/],
  [{ origins: [] }, /'origins' must be/],
  [{ origins: ['https://app.test/'] }, /'origins' must be/],
  [{ origins: ['https://app.test/home'] }, /'origins' must be/],
  [{ origins: ['https://app.test:443'] }, /'origins' must be/],
  [{ origins: ['https://APP.test'] }, /'origins' must be/],
  [{ origins: ['*'] }, /'origins' must be/],
  [{ origins: ['null'] }, /'origins' must be/],
  [{ origins: [/app/] }, /'origins' must be/],
  [{ origins: ['data:text/html,x'] }, /'origins' must be/],
  [{ allowLoopbackPorts: 'yes' }, /'allowLoopbackPorts' must be true or false/],
  [{ defaults: 'x' }, /'defaults' must be an object/],
  [{ defaults: { prefix: 'oauth' } }, /'prefix' must be a path as '\/oauth'/],
  [{ defaults: { prefix: '/oauth/' } }, /'prefix' must be/],
  [{ defaults: { prefix: '//oauth' } }, /'prefix' must be/],
  [{ defaults: { prefix: ['/oauth'] } }, /'prefix' must be/],
  [{ defaults: { prefix: '/:tenant' } }, /'prefix' must be/],
  [{ defaults: { prefix: '/a;b' } }, /'prefix' must be/],
  [{ defaults: { origin: 'localhost' } }, /'origin' must be the address of a server/],
  [{ defaults: { origin: 'https://app.test?x' } }, /'origin' must be/],
  [{ defaults: { host: 'app.test' } }, /oauth\.defaults': unknown option 'host'/],
  [{ defaults: { protocol: 'https' } }, /unknown option 'protocol'/],
  [{ defaults: { path: '/x' } }, /unknown option 'path'/],
  [{ 'git hub': {} }, /names a provider 'git hub': use letters/],
  [{ '../x': {} }, /names a provider '\.\.\/x'/],
  [{ github: 'x' }, /'authentication.oauth.github' must be an object/],
  [{ github: null }, /'authentication.oauth.github' must be an object/],
  [{ github: [] }, /'authentication.oauth.github' must be an object/],
]

t.test('refuses settings that can not be meant, and says what is wrong', async (t) => {
  for (const [settings, message] of WRONG) {
    t.throws(() => check(settings), { name: 'TypeError', message }, JSON.stringify(settings))
  }
})

const WRONG_OPTIONS: Readonly<Record<string, readonly [value: unknown, message: RegExp]>> = {
  secrett: ['x', /unknown option 'secrett'/],
  origin: ['https://x.test', /unknown option 'origin'/],
  prefix: ['/x', /unknown option 'prefix'/],
  verifiedEmail: ['x', /unknown option 'verifiedEmail'/],
  request_url: ['https://x.test', /unknown option 'request_url'/],
  consumer_key: ['x', /unknown option 'consumer_key'/],
  consumer_secret: ['x', /unknown option 'consumer_secret'/],
  public_key: ['x', /unknown option 'public_key'/],
  callback: ['/x', /unknown option 'callback'/],
  name: ['x', /unknown option 'name'/],
  session: [{}, /unknown option 'session'/],
  cookie: [{}, /unknown option 'cookie'/],
  key: ['', /'key' must be a non-empty string/],
  secret: [1, /'secret' must be a non-empty string/],
  issuer: ['accounts.google.com', /'issuer' must be an http or https URL without user name/],
  authorize_url: ['javascript:x', /'authorize_url' must be/],
  access_url: ['ftp://x.test', /'access_url' must be/],
  profile_url: ['https://me:pw@x.test', /'profile_url' must be/],
  email_url: ['/emails', /'email_url' must be/],
  redirect_uri: ['/oauth/github/callback', /'redirect_uri' must be the address of a server/],
  subdomain: ['own', /unknown option 'subdomain'/],
  scope: [1, /'scope' must be/],
  custom_params: [{ a: 1 }, /'custom_params' must be an object of strings/],
  overrides: ['x', /'overrides' must be an object/],
  dynamic: ['scope', /'dynamic' must be true, false or a list of names/],
  nonce: ['x', /'nonce' must be true or false/],
  pkce: [false, /'pkce' must be true/],
  state: [false, /'state' must be true/],
  oauth: [1, /'oauth' must be 2/],
  transport: ['session', /'transport' must be state/],
  client_id: ['id', /unknown option 'client_id'/],
  client_secret: ['x', /unknown option 'client_secret'/],
  response: [['code'], /'response' must be 'token', 'code', or a list/],
  token_endpoint_auth_method: ['basic', /must be one of client_secret_basic, client_secret_post/],
  allowPrivateNetwork: ['yes', /'allowPrivateNetwork' must be true or false/],
  entity: ['admin', /unknown option 'entity'/],
  service: ['admins', /unknown option 'service'/],
}

t.test('refuses options of a provider that it does not have, and says what to write', async (t) => {
  for (const [name, [value, message]] of Object.entries(WRONG_OPTIONS)) {
    const section = { key: 'id', [name]: value }
    t.throws(() => checkSection(section), { name: 'TypeError', message }, name)
  }
})

t.test('repeats no secret in its errors', async (t) => {
  for (const name of ['key', 'secret', 'private_key', 'issuer']) {
    const value = name === 'issuer' ? 'S3CRET' : { S3CRET: 'S3CRET', toString: 'S3CRET' }
    const section = { [name]: name === 'private_key' ? 'S3CRET' : value }
    const error = await Promise.resolve()
      .then(() => checkSection(section))
      .catch((thrown: Error) => thrown)
    t.ok(error instanceof TypeError, name)
    t.notMatch(String(error), 'S3CRET', name)
  }
})

t.test('names the providers, and nothing else of the settings', async (t) => {
  const names = getProviderNames({ redirect: '/', origins: [], defaults: {}, github: {}, own: {} })
  t.strictSame(names, ['github', 'own'])
})

const GROWING: Readonly<Record<string, (text: string) => object>> = {
  redirect: (text) => ({ redirect: `/${text}` }),
  'a redirect that is a URL': (text) => ({ redirect: `https://app.test/${text}` }),
  prefix: (text) => ({ defaults: { prefix: text } }),
  issuer: (text) => ({ github: { issuer: `https://${text}` } }),
}

t.test('long settings cost as much as their length (FST-17)', async (t) => {
  for (const [name, create] of Object.entries(GROWING)) {
    for (const part of ['/', '/a', 'a.', '?', '-', ':1']) {
      const prepare = (length: number) => {
        const settings = create(part.repeat(length / part.length))
        return () => {
          try {
            check(settings)
            return true
          } catch {
            return false
          }
        }
      }
      t.ok((await growthOf(prepare, 4000)) < LINEAR_GROWTH, `${name} ${part}`)
    }
  }
})
