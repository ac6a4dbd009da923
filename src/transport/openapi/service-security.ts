import { findStrategies } from '../../auth/hooks/open-methods.ts'
import type { ServiceEntry } from '../../core/index.ts'

/** Whether callers of a method have to prove who they are. */
export type Security = 'required' | 'optional' | 'none'

/** The name of the scheme in the document. */
export const BEARER = 'bearer'

export const BEARER_SCHEME = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'The `accessToken` that a login returns.',
} as const

/** The strategy that accepts callers who prove nothing, in Feathers too. */
const ANONYMOUS = 'anonymous'

/** Returns whether a method has the `authenticate` hook, and whether that lets others pass. */
export function readSecurity(entry: ServiceEntry, method: string): Security {
  const strategies = findStrategies(entry, method)
  if (strategies === null) return 'none'
  return strategies.includes(ANONYMOUS) ? 'optional' : 'required'
}

/** Returns the security of an operation; `undefined` where anybody may call it. */
export function toSecurity(security: Security): readonly object[] | undefined {
  if (security === 'none') return undefined
  return security === 'optional' ? [{ [BEARER]: [] }, {}] : [{ [BEARER]: [] }]
}
