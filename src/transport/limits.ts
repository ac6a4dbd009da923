import type { Given } from './with-defaults.ts'
import { withDefaults } from './with-defaults.ts'

/**
 * Returns limits with what is given in the place of the defaults.
 * @param owner the function or option that they are given to, for the error
 * @throws {TypeError} a limit that can't be used
 */
export function resolveLimits<Name extends string>(
  owner: string,
  defaults: Readonly<Record<Name, number>>,
  given: Given<Readonly<Record<Name, number>>>,
): Readonly<Record<Name, number>> {
  const limits = withDefaults(defaults, given)
  for (const [name, limit] of Object.entries(limits)) checkLimit(owner, name, limit)
  return limits
}

/** @throws {TypeError} a limit that nothing can be compared with, `NaN` or a text, or below 0 */
export function checkLimit(owner: string, name: string, limit: unknown): void {
  if (typeof limit === 'number' && limit >= 0) return
  throw new TypeError(`${owner}: '${name}' must be a number from 0 on, not ${String(limit)}`)
}
