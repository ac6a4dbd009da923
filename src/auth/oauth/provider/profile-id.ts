import { isKeyString } from '../../../core/value-kind.ts'
import { createNotAuthenticated } from '../../auth-errors.ts'
import type { OAuthProfile } from './profile.ts'

/**
 * Returns the id of a profile as the provider has sent it: a string, or a whole number.
 * @throws {NotAuthenticated} there is none, or one of another kind, an object for example
 */
export function getProfileId({ sub, id }: OAuthProfile): string | number {
  const found = sub ?? id
  if (isKeyString(found) || (Number.isSafeInteger(found) && typeof found === 'number')) return found
  throw createNotAuthenticated('The provider does not say who you are', undefined, {
    reason: `the id of the profile is ${found === undefined ? 'missing' : 'no well-formed string or whole number'}`,
  })
}

/** Proven profiles, by the name of the strategy they were proven for. */
const PROVEN = new WeakMap<object, string>()

/** Returns a profile that counts as confirmed by the provider of a strategy. */
export function proveProfile(profile: OAuthProfile, strategy: string): OAuthProfile {
  const proven = { ...profile }
  PROVEN.set(proven, strategy)
  return proven
}

/** Whether a profile comes from the provider of a strategy, and not from a caller. */
export function isProvenProfile(profile: unknown, strategy: string): profile is OAuthProfile {
  return typeof profile === 'object' && profile !== null && PROVEN.get(profile) === strategy
}
