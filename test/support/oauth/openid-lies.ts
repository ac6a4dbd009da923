import type { Claims, Sign } from './forged-token.ts'
import { FORGERIES } from './forged-token.ts'
import type { Answered } from './local-server.ts'

/** What a lie can speak of. */
export interface LieContext {
  readonly issuer: string
  readonly clientId: string
  /** Origin of another server, which nobody should be led to. */
  readonly elsewhere: string
  /** Seconds since the epoch. */
  readonly now: number
}

type Bend = (honest: Claims, context: LieContext) => Claims

/** Where a provider does not say the truth; what is not named here is honest. */
export interface OpenIdLie {
  readonly discovery?: Bend
  readonly jwks?: Bend
  /** Parameters of the callback. */
  readonly callback?: Bend
  /** Claims of the id token. */
  readonly idToken?: Bend
  readonly sign?: Sign
  /** The answer of the token endpoint. */
  readonly token?: Bend
  readonly userinfo?: Bend
  /** Answers of whole endpoints, by their path. */
  readonly answers?: Readonly<Record<string, Answered>>
}

type Lies = Readonly<Record<string, OpenIdLie>>

/** Returns the lies that set members in one place; a member that is `undefined` is left out. */
function settingIn(
  place: 'discovery' | 'jwks' | 'callback' | 'idToken' | 'token' | 'userinfo',
  changes: Readonly<Record<string, (context: LieContext) => Claims>>,
): Lies {
  return Object.fromEntries(
    Object.entries(changes).map(([name, change]) => [
      name,
      { [place]: (honest: Claims, context: LieContext) => ({ ...honest, ...change(context) }) },
    ]),
  )
}

const HOUR = 3600

/** Id tokens that must not be taken: by their claims. */
export const CLAIM_LIES: Lies = settingIn('idToken', {
  'another audience': () => ({ aud: 'another-client' }),
  'no audience': () => ({ aud: undefined }),
  'an empty list of audiences': () => ({ aud: [] }),
  'two audiences, and the other one authorized': ({ clientId }) => ({
    aud: [clientId, 'another-client'],
    azp: 'another-client',
  }),
  'two audiences, and nobody authorized': ({ clientId }) => ({
    aud: [clientId, 'another-client'],
  }),
  'another issuer': () => ({ iss: 'https://accounts.example.com' }),
  'the issuer with a slash': ({ issuer }) => ({ iss: `${issuer}/` }),
  'no issuer': () => ({ iss: undefined }),
  'another nonce': () => ({ nonce: 'of-another-login' }),
  'no nonce': () => ({ nonce: undefined }),
  expired: ({ now }) => ({ iat: now - 2 * HOUR, exp: now - HOUR }),
  'no expiry': () => ({ exp: undefined }),
  'an expiry that is a string': ({ now }) => ({ exp: String(now + HOUR) }),
  'valid in an hour': ({ now }) => ({ nbf: now + HOUR }),
  'no time of issue': () => ({ iat: undefined }),
  'no sub': () => ({ sub: undefined }),
  'an empty sub': () => ({ sub: '' }),
  'a sub that is an object': () => ({ sub: { $ne: null } }),
  'a sub that is a list': () => ({ sub: ['ann'] }),
  'a sub that is a number': () => ({ sub: 1 }),
})

/** Id tokens that must not be taken: by their signature. */
export const SIGNATURE_LIES: Lies = Object.fromEntries(
  Object.entries(FORGERIES).map(([name, sign]) => [name, { sign }]),
)

/** Answers of the userinfo endpoint that do not fit the id token. */
export const USERINFO_LIES: Lies = settingIn('userinfo', {
  'another sub': () => ({ sub: 'victim' }),
  'no sub': () => ({ sub: undefined }),
  'a sub that is an object': () => ({ sub: { $ne: null } }),
})

/** Answers of the token endpoint that are none. */
export const TOKEN_LIES: Lies = settingIn('token', {
  'no access token': () => ({ access_token: undefined }),
  'an access token that is an object': () => ({ access_token: {} }),
  'no id token': () => ({ id_token: undefined }),
  'an id token that is no JWT': () => ({ id_token: 'text' }),
  'an id token of two parts': () => ({ id_token: 'e30.e30' }),
  'another type of token': () => ({ token_type: 'mac' }),
  'no type of token': () => ({ token_type: undefined }),
  'a scope that is nothing': () => ({ scope: null }),
})

/** Callbacks that must not be taken; a list is sent as one parameter for each of its items. */
export const CALLBACK_LIES: Lies = settingIn('callback', {
  'iss of another issuer': () => ({ iss: 'https://accounts.example.com' }),
  'no iss, though it is promised': () => ({ iss: undefined }),
  'two iss': ({ issuer }) => ({ iss: [issuer, 'https://accounts.example.com'] }),
  'another state': () => ({ state: 'of-another-login' }),
  'no state': () => ({ state: undefined }),
  'an empty state': () => ({ state: '' }),
  'no code': () => ({ code: undefined }),
  'two codes': () => ({ code: ['one', 'two'] }),
  'a code and an error': () => ({ error: 'access_denied' }),
})

/** Discovery documents that must not be used. */
export const DISCOVERY_LIES: Lies = settingIn('discovery', {
  'another issuer': () => ({ issuer: 'https://accounts.example.com' }),
  'no issuer': () => ({ issuer: undefined }),
  'an issuer that is an object': () => ({ issuer: {} }),
  'a token endpoint on another host': ({ elsewhere }) => ({ token_endpoint: `${elsewhere}/token` }),
  'a userinfo endpoint on another host': ({ elsewhere }) => ({
    userinfo_endpoint: `${elsewhere}/userinfo`,
  }),
  'keys on another host': ({ elsewhere }) => ({ jwks_uri: `${elsewhere}/jwks` }),
  'a token endpoint without TLS': () => ({ token_endpoint: 'http://provider.example.com/token' }),
  'a token endpoint in the private network': () => ({ token_endpoint: 'http://10.0.0.1/token' }),
  'a token endpoint that is a file': () => ({ token_endpoint: 'file:///etc/passwd' }),
  'an authorization endpoint that is a script': () => ({
    authorization_endpoint: 'javascript:alert(1)',
  }),
  'no authorization endpoint': () => ({ authorization_endpoint: undefined }),
  'no token endpoint': () => ({ token_endpoint: undefined }),
  'no keys': () => ({ jwks_uri: undefined }),
})

/** JWKS that have no key for an honest id token. */
export const JWKS_LIES: Lies = settingIn('jwks', {
  'no keys': () => ({ keys: [] }),
  'keys that are no list': () => ({ keys: {} }),
  'a key that is none': () => ({ keys: [{ kty: 'RSA' }, null, 'key'] }),
  'a symmetric key': () => ({ keys: [{ kty: 'oct', k: 'c2VjcmV0', alg: 'HS256', use: 'sig' }] }),
})
