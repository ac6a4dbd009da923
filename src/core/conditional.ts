import { isVersion, toVersionTag } from './entity-tag.ts'
import { describeFunction } from './function-metadata.ts'
import type { HookContext, Next } from './hooks/hook-context.ts'
import { isWrite, toMethodSpec } from './method-table.ts'
import type { Params } from './params.ts'
import {
  answersRecord,
  createRequiredError,
  createVersionError,
} from './services/record-version.ts'
import { findServiceEntry } from './services/service-entry.ts'
import { changeParams } from './transport-facts.ts'

/** Options of {@link conditional}. */
export interface ConditionalOptions {
  /** Whether callers outside have to name the version that they change or remove. Default: `false`. */
  readonly required?: boolean
}

/** A service whose records can be read before they are written. */
interface ReadableService {
  find(params: Params): Promise<unknown>
  get(id: unknown, params: Params): Promise<unknown>
}

/**
 * Returns an around hook that gives the records of a service of one's own entity tags, and writes on one
 * record their condition, `params.version` or `If-Match`: it reads the record by `get` before the write.
 * Another call may write in between; `MongoDBService` leaves no gap, by its option `version`.
 *
 * The hook throws `PreconditionFailed` where the record has another version, which is `data.current`, and
 * `PreconditionRequired` where a version is required and not named.
 * @param readVersion returns the version of a record: a whole number that each write raises
 * @throws {TypeError} in calls: `readVersion` returns something else
 */
export function conditional<T extends object = object>(
  readVersion: (record: T) => number,
  { required = false }: ConditionalOptions = {},
): (context: HookContext, next: Next) => Promise<void> {
  const hook = async (context: HookContext, next: Next): Promise<void> => {
    const { id, method } = context
    const { singleton = false } = findServiceEntry(context.service)?.options ?? {}
    const isOnRecord = toMethodSpec(method).withId && (singleton || id !== null)
    if (isOnRecord && isWrite(method)) {
      const expected = readExpected(context, required)
      if (expected !== null) {
        const current = (await readCurrent(context, singleton)) as T
        checkVersion(expected, readVersion(current))
      }
    }
    await next()
    const { params, result } = context
    if (!answersRecord(method, result, { singleton })) return
    const version = readVersion(result as T)
    if (isVersion(version)) context.http = { etag: toVersionTag(version), ...context.http }
    // Where the caller has chosen fields, the version may not be among them.
    else if (!isWrite(method) && params.query?.['$select'] === undefined) refuseVersion()
  }
  return describeFunction(hook, { heedsVersion: true })
}

describeFunction(conditional, { hookFactory: 'conditional(readVersion)' })

/** Resolves to the record as the server sees it: callers outside may not get the field of the version. */
function readCurrent({ id, params, service }: HookContext, singleton: boolean): Promise<unknown> {
  const { $select, ...query } = params.query ?? {}
  const inside = { ...params, query, provider: undefined, version: undefined }
  const readable = service as ReadableService
  return singleton ? readable.find(inside) : readable.get(id, inside)
}

/**
 * Returns the versions that a write expects, `null` for any, and takes them out of its params: what the service
 * calls with these would compare again.
 * @throws {PreconditionRequired} a version is required, and none is named
 */
function readExpected(context: HookContext, required: boolean): readonly unknown[] | null {
  const { provider, version: expected } = context.params
  if (expected === undefined && required && provider !== undefined) throw createRequiredError()
  if (expected === undefined) return null
  changeParams(context, { version: undefined })
  return expected === '*' ? null : [expected].flat()
}

/** @throws {PreconditionFailed} the record has another version */
function checkVersion(expected: readonly unknown[], current: unknown): void {
  if (!isVersion(current)) refuseVersion()
  if (!expected.includes(current)) throw createVersionError(current)
}

function refuseVersion(): never {
  throw new TypeError('conditional(): the version of a record must be a whole number from 0 on')
}
