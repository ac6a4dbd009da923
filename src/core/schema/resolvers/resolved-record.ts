import { BadRequest, GeneralError, toServiceError } from '../../errors/index.ts'
import type { HookContext } from '../../hooks/hook-context.ts'
import { setOwnProperty } from '../plain-objects.ts'

/** What a property function has thrown, in the place of its value: the others run on. */
export class Failure {
  readonly thrown: unknown

  constructor(thrown: unknown) {
    this.thrown = thrown
  }
}

/** Replaces a promise among values by what it is fulfilled with. It is never rejected itself. */
export async function settle(values: unknown[], index: number): Promise<void> {
  try {
    values[index] = await values[index]
  } catch (error) {
    values[index] = new Failure(error)
  }
}

/**
 * Returns the record of the values.
 * @throws {BadRequest} property functions have failed
 */
export function toResolvedRecord(
  names: readonly string[],
  values: readonly unknown[],
  context: unknown,
  selected: readonly string[] | undefined,
): Readonly<Record<string, unknown>> {
  const record: Record<string, unknown> = {}
  for (let index = 0; index < names.length; index += 1) {
    const value = values[index]
    if (value instanceof Failure) throw createResolverError(names, values, context, selected)
    if (value !== undefined) setOwnProperty(record, names[index] as string, value)
  }
  return record
}

const MESSAGE = 'Error resolving data'

/**
 * Returns the error for properties that could not be resolved: its `data` has what a caller may see of
 * each failure, by name. What was thrown is the `cause`. A fault of the program is logged, because
 * errors below 500 are not.
 * @param selected the names that were resolved, where not all were
 */
function createResolverError(
  names: readonly string[],
  values: readonly unknown[],
  context: unknown,
  selected: readonly PropertyKey[] | undefined,
): BadRequest {
  const failures = names.flatMap((name, index) => {
    const failure = values[index]
    if (!(failure instanceof Failure)) return []
    return [{ name, thrown: failure.thrown, error: toServiceError(failure.thrown) }]
  })
  const thrown = failures.map((failure) => failure.thrown)
  const cause = thrown.length === 1 ? thrown[0] : new AggregateError(thrown, MESSAGE)
  const ofSelected = selected === undefined ? '' : `  ${selected.map(String).join('.')}`
  const err = new BadRequest(`${MESSAGE}${ofSelected}`, null, { cause })
  if (failures.some(({ error }) => error.code >= 500)) {
    const { app } = (context ?? {}) as Pick<HookContext, 'app'>
    app?.logger?.error({ err }, MESSAGE)
  }
  // An error of a service has more to tell than its message, and any other one no more than that.
  const data = failures.map(({ name, thrown, error }) => {
    const isOther = error !== thrown && error instanceof GeneralError
    return [name, isOther ? { message: error.message } : error.toJSON()]
  })
  // Not by the constructor, to which a key `errors` says something else than a property of this name.
  return Object.assign(err, { data: Object.fromEntries(data) })
}
