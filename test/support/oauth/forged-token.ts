import { createHmac } from 'node:crypto'
import type { JWTHeaderParameters } from 'jose'
import { exportSPKI, importJWK, SignJWT } from 'jose'
import type { SigningKey } from './signing-keys.ts'

export type Claims = Readonly<Record<string, unknown>>

/** What a token can be signed with. */
export interface SigningKeys {
  /** The one of the JWKS. */
  readonly published: SigningKey
  /** One that nobody else knows. */
  readonly unpublished: SigningKey
  readonly clientSecret: string
}

/** Makes the text of a JWT out of claims. */
export type Sign = (claims: Claims, keys: SigningKeys) => string | Promise<string>

/** A header that no reader understands. */
const UNKNOWN = 'https://example.com/limit'

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

async function signWith(
  { alg, privateJwk }: SigningKey,
  claims: Claims,
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const key = await importJWK(privateJwk, alg)
  return new SignJWT(claims)
    .setProtectedHeader({ alg, ...header })
    .sign(key, { crit: { [UNKNOWN]: true } })
}

function signHmac(claims: Claims, secret: string, header: object = {}): string {
  const text = `${encode({ alg: 'HS256', ...header })}.${encode(claims)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

/** Signs as an honest provider does. */
export const signHonestly: Sign = (claims, { published }) =>
  signWith(published, claims, { kid: published.kid })

async function toPem({ alg, publicJwk }: SigningKey): Promise<string> {
  const key = await importJWK(publicJwk, alg, { extractable: true })
  if (key instanceof Uint8Array) throw new Error('A public key is expected')
  return exportSPKI(key)
}

/** Signatures that must not be taken, by what is wrong with them. */
export const FORGERIES: Readonly<Record<string, Sign>> = {
  'alg none': (claims) => `${encode({ alg: 'none' })}.${encode(claims)}.`,
  'alg None': (claims) => `${encode({ alg: 'None', typ: 'JWT' })}.${encode(claims)}.`,
  'HS256 with the public key as PEM': async (claims, { published }) =>
    signHmac(claims, await toPem(published), { kid: published.kid }),
  'HS256 with the public key as JWK': (claims, { published }) =>
    signHmac(claims, JSON.stringify(published.publicJwk), { kid: published.kid }),
  'HS256 with an empty secret': (claims) => signHmac(claims, ''),
  'HS256 with the secret of the client': (claims, { clientSecret }) =>
    signHmac(claims, clientSecret),
  'a kid that is not in the JWKS': (claims, { unpublished }) =>
    signWith(unpublished, claims, { kid: unpublished.kid }),
  'another key under the kid of the JWKS': (claims, { published, unpublished }) =>
    signWith(unpublished, claims, { kid: published.kid }),
  'a key of its own in the header': (claims, { unpublished }) =>
    signWith(unpublished, claims, { kid: unpublished.kid, jwk: unpublished.publicJwk }),
  'a header that is critical and unknown': (claims, { published }) =>
    signWith(published, claims, { kid: published.kid, crit: [UNKNOWN], [UNKNOWN]: 1 }),
  'claims that were changed after the signature': async (claims, keys) => {
    const [header, , signature] = (await signHonestly(claims, keys)).split('.')
    return [header, encode({ ...claims, sub: 'victim' }), signature].join('.')
  },
  'no signature': async (claims, keys) =>
    `${(await signHonestly(claims, keys)).split('.').slice(0, 2).join('.')}.`,
}
