import { checkOptionNames } from '../option-names.ts'
import type { Given } from '../with-defaults.ts'
import { withDefaults } from '../with-defaults.ts'

/**
 * Returns limits with what is given in the place of the defaults.
 * @param owner the function or option that they are given to, for the error
 * @throws {TypeError} a limit that is not known, or can't be used
 */
export function resolveLimits<Name extends string>(
  owner: string,
  defaults: Readonly<Record<Name, number>>,
  given: Given<Readonly<Record<Name, number>>>,
): Readonly<Record<Name, number>> {
  checkOptionNames(owner, given, Object.keys(defaults))
  const limits = withDefaults(defaults, given)
  for (const [name, limit] of Object.entries(limits)) checkLimit(owner, name, limit)
  return limits
}

/** @throws {TypeError} a limit that nothing can be compared with, `NaN` or a text, or below 0 */
export function checkLimit(owner: string, name: string, limit: unknown): void {
  if (typeof limit === 'number' && limit >= 0) return
  throw new TypeError(`${owner}: '${name}' must be a number from 0 on, not ${String(limit)}`)
}

/**
 * Returns the option for Fastify with the largest body, in bytes; none for the limit of the server.
 * @throws {TypeError} a limit that can't be used; 0 would be the limit of the server too
 */
export function toBodyLimit(owner: string, bodyLimit: number | undefined): { bodyLimit?: number } {
  if (bodyLimit === undefined) return {}
  checkLimit(owner, 'bodyLimit', bodyLimit)
  if (bodyLimit < 1) throw new TypeError(`${owner}: 'bodyLimit' must be at least 1`)
  return { bodyLimit }
}
