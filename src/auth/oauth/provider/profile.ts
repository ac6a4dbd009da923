import type { Configuration } from 'openid-client'
import { OAuthRejected } from '../../../core/errors/coded-errors.ts'
import { isKeyString, isObject, isPlainObject } from '../../../core/value-kind.ts'
import { createRefusal } from '../../auth-errors.ts'
import type { ProviderSettings } from '../settings/provider-settings.ts'
import { loadOpenId } from './provider.ts'

/** A profile as a provider sent it. Only its id is checked. */
export type OAuthProfile = Record<string, unknown>

/**
 * Returns the claims about the owner of an access token, including those of the id token.
 * @param claims those of the id token; the profile must have the same `sub`
 * @throws {Error} the provider does not respond, or returns another person's claims
 */
export async function readClaims(
  configuration: Configuration,
  token: string,
  claims: { readonly sub: string } | undefined,
): Promise<OAuthProfile> {
  const openid = await loadOpenId()
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return { ...claims }
  const subject = claims?.sub ?? openid.skipSubjectCheck
  return mergeClaims({ ...claims }, await openid.fetchUserInfo(configuration, token, subject))
}

/**
 * Returns the claims of both. `email_verified` is taken only from a source with the same address: a flag in the id
 * token says nothing about another address in the userinfo.
 */
function mergeClaims(claims: OAuthProfile, userinfo: OAuthProfile): OAuthProfile {
  const { email_verified: _verified, ...merged } = { ...claims, ...userinfo }
  const verified = [
    ...(merged['email'] === userinfo['email'] ? [userinfo['email_verified']] : []),
    ...(merged['email'] === claims['email'] ? [claims['email_verified']] : []),
  ].find((flag) => flag !== undefined)
  return verified === undefined ? merged : { ...merged, email_verified: verified }
}

/**
 * Returns the profile of the owner of an access token, from a provider without OpenID.
 * @throws {Error} the provider does not respond, or its response is not a profile
 */
export async function readProfile(
  configuration: Configuration,
  token: string,
  { profile_url, email_url }: ProviderSettings,
): Promise<OAuthProfile> {
  // A subclass of the strategy may get profiles itself.
  const profile = profile_url === undefined ? {} : await readJson(configuration, token, profile_url)
  if (!isObject(profile) || Array.isArray(profile)) throw new Error('The profile is not an object')
  if (email_url === undefined) return profile
  return { ...profile, ...findMainEmail(await readEmails(configuration, token, email_url)) }
}

/** Statuses for a token with insufficient scopes; GitHub returns 404. */
const REFUSALS: ReadonlySet<unknown> = new Set([401, 403, 404])

/** Without the scope for email addresses the list is empty, and the login has no confirmed address. */
async function readEmails(configuration: Configuration, token: string, url: string) {
  try {
    return await readJson(configuration, token, url)
  } catch (error) {
    if (REFUSALS.has((error as { status?: unknown }).status)) return []
    throw error
  }
}

async function readJson(configuration: Configuration, token: string, url: string) {
  const { fetchProtectedResource } = await loadOpenId()
  const headers = new Headers({ accept: 'application/json' })
  const target = new URL(url)
  const response = await fetchProtectedResource(configuration, token, target, 'GET', null, headers)
  if (response.ok) return (await response.json()) as unknown
  const { status } = response
  throw Object.assign(new Error(`The profile request returned status ${status}`), { status })
}

/** Returns the main address of a list, and whether it is confirmed. */
function findMainEmail(list: unknown): object {
  const entries = Array.isArray(list) ? list.filter(isObject) : []
  const main = entries.find(({ primary }) => primary === true)
  if (typeof main?.['email'] !== 'string') return {}
  return { email: main['email'], email_verified: main['verified'] === true }
}

/**
 * Returns the id of a profile as the provider sent it: a string or an integer.
 * @throws {NotAuthenticated} the id is missing or of another type
 */
export function getProfileId({ sub, id }: OAuthProfile): string | number {
  const found = sub ?? id
  if (isKeyString(found) || (Number.isSafeInteger(found) && typeof found === 'number')) return found
  throw createRefusal(
    'The provider does not say who you are',
    `the id of the profile is ${found === undefined ? 'missing' : 'no well-formed string or whole number'}`,
    OAuthRejected,
  )
}

/** Returns whether no string in a query has a lone surrogate, at any depth. */
export function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  const isNested = Array.isArray(value) || isPlainObject(value)
  return !isNested || Object.values(value).every(isWellFormed)
}
