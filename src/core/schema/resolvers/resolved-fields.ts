import { setOwnProperty } from '../own-property.ts'
import { createResolverError } from './resolver-error.ts'

/** A record by the names of its fields. */
export type Fields = Readonly<Record<string, unknown>>

/** A record whose fields are being resolved. */
export interface Started {
  readonly names: readonly string[]
  /** In the order of the names; `undefined` for those that are left out. */
  readonly values: unknown[]
  /** What property functions have thrown, by the names of their properties. */
  failures: Map<string, unknown> | null
}

/** The value of a field, but not what every object has: callers select names as they like. */
export function readField(record: Fields, name: string): unknown {
  return name in Object.prototype && !Object.hasOwn(record, name) ? undefined : record[name]
}

/** Notes that a property function has failed; the others run on. */
export function fail(started: Started, index: number, error: unknown): void {
  started.failures ??= new Map()
  started.failures.set(started.names[index] as string, error)
}

/** Sets a value when its promise is fulfilled. The promise that is returned is never rejected. */
export async function settle(
  started: Started,
  index: number,
  value: PromiseLike<unknown>,
): Promise<void> {
  try {
    started.values[index] = await value
  } catch (error) {
    fail(started, index, error)
  }
}

/**
 * Returns the record of the values.
 * @throws {BadRequest} property functions have failed
 */
export function finish(
  { names, values, failures }: Started,
  context: unknown,
  selected: readonly string[] | undefined,
): Fields {
  if (failures !== null) throw createResolverError(failures, context, selected)
  const record: Record<string, unknown> = {}
  for (let index = 0; index < names.length; index += 1) {
    const value = values[index]
    if (value !== undefined) setOwnProperty(record, names[index] as string, value)
  }
  return record
}
