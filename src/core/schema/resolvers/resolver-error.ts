import type { ServiceError } from '../../errors/index.ts'
import { BadRequest, GeneralError, toServiceError } from '../../errors/index.ts'
import { isObject } from '../../value-kind.ts'

/** What property functions have thrown, by the names of their properties. */
export type Failures = ReadonlyMap<string, unknown>

/** The part of an application that takes what no caller may see. */
interface LoggingContext {
  readonly app?: { readonly logger?: { error(details: object, message?: string): void } }
}

const MESSAGE = 'Error resolving data'

/**
 * Returns the error for properties that could not be resolved: its `data` has what a caller may see of
 * each failure, by name. What was thrown is the `cause`. A fault of the program is logged, because
 * errors below 500 are not.
 * @param selected the names that were resolved, where not all were
 */
export function createResolverError(
  failures: Failures,
  context: unknown,
  selected: readonly PropertyKey[] | undefined,
): BadRequest {
  const errors = [...failures].map(([name, thrown]) => [name, toServiceError(thrown)] as const)
  const data = Object.fromEntries(
    errors.map(([name, error]) => [name, toData(error, failures.get(name))]),
  )
  const thrown = [...failures.values()]
  const cause = thrown.length === 1 ? thrown[0] : new AggregateError(thrown, MESSAGE)
  const names = selected === undefined ? '' : `  ${selected.map(String).join('.')}`
  const error = new BadRequest(`${MESSAGE}${names}`, null, { cause })
  if (errors.some(([, { code }]) => code >= 500)) logFault(context, error)
  // Not by the constructor, to which a key `errors` says something else than a property of this name.
  return Object.assign(error, { data })
}

/** An error of a service has more to tell than its message, and any other one no more than that. */
function toData(error: ServiceError, thrown: unknown): object {
  const isOther = error !== thrown && error instanceof GeneralError
  return isOther ? { message: error.message } : error.toJSON()
}

function logFault(context: unknown, err: BadRequest): void {
  if (isObject(context)) (context as LoggingContext).app?.logger?.error({ err }, MESSAGE)
}
