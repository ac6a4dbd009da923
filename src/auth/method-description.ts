import type { ServiceEntry } from '../core/index.ts'
import type { MethodSchemas } from '../core/services/service-schemas.ts'
import type { Authentication } from './authentication.ts'

/** The strategies of an authentication service, one of which must authenticate the caller. */
export interface RequiredProof {
  readonly strategies: readonly string[]
  /** `null` if the application has no such service. */
  readonly authentication: Authentication | null
}

/** Describes a method that checks its callers itself, for the OpenAPI document. */
export interface MethodDescription {
  /** Default: anyone may call the method. */
  readonly proof?: RequiredProof
  /** Used if the service has no option `schemas`. */
  readonly schemas?: MethodSchemas
}

/**
 * Returns the description of a method: `null` if every external call is rejected, `undefined` if the method is unknown.
 */
export type MethodDescriber = (method: string) => MethodDescription | null | undefined

/** The key of the describer on the entry of a service. */
const DESCRIBER = Symbol('remex.describer')

/** Sets the describer of the methods of a service. */
export function setDescriber({ attachments }: ServiceEntry, describe: MethodDescriber): void {
  attachments.set(DESCRIBER, describe)
}

/** Returns the description of a method of a service. @see MethodDescriber */
export function describeMethod(
  { attachments }: ServiceEntry,
  method: string,
): ReturnType<MethodDescriber> {
  return (attachments.get(DESCRIBER) as MethodDescriber | undefined)?.(method)
}
