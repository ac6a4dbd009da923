import { ResolverFailed } from '../../errors/coded-errors.ts'
import type { BadRequest } from '../../errors/index.ts'
import { GeneralError, toServiceError } from '../../errors/index.ts'
import type { HookContext } from '../../hooks/hook-context.ts'
import { setOwnProperty } from '../plain-objects.ts'

/** The error of a property function, in place of its value: the others continue. */
export class Failure {
  readonly thrown: unknown

  constructor(thrown: unknown) {
    this.thrown = thrown
  }
}

/** Replaces a promise among values by its fulfilled value. Never rejects. */
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
 * Returns the error for properties that could not be resolved: its `data` has what a caller may see of each
 * failure, by name. The thrown errors are the `cause`. A programming error is logged here, because errors
 * below 500 are not.
 * @param selected the resolved names, if not all
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
  const err = new ResolverFailed(`${MESSAGE}${ofSelected}`, null, { cause })
  if (failures.some(({ error }) => error.code >= 500)) {
    const { app } = (context ?? {}) as Pick<HookContext, 'app'>
    app?.logger?.error({ err }, MESSAGE)
  }
  // A service error shows more than its message; any other error only its message.
  const data = failures.map(({ name, thrown, error }) => {
    const isOther = error !== thrown && error instanceof GeneralError
    return [name, isOther ? { message: error.message } : error.toJSON()]
  })
  // Not by the constructor, which gives a key `errors` a special meaning.
  return Object.assign(err, { data: Object.fromEntries(data) })
}
