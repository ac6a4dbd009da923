import { isVersion, toVersionTag } from './entity-tag.ts'
import { describeFunction } from './function-metadata.ts'
import type { HookContext, Next } from './hooks/hook-context.ts'
import type { Params } from './params.ts'
import {
  answersRecord,
  createRequiredError,
  createVersionError,
} from './services/record-version.ts'

/** Options of {@link conditional}. */
export interface ConditionalOptions {
  /** Whether callers outside have to name the version that they change or remove. Default: `false`. */
  readonly required?: boolean
}

/** A service whose records can be read before they are written. */
interface ReadableService {
  get(id: unknown, params: Params): Promise<unknown>
}

const WRITES: ReadonlySet<string> = new Set(['update', 'patch', 'remove'])

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
  const toVersion = (record: unknown): number => {
    const version = readVersion(record as T)
    if (isVersion(version)) return version
    throw new TypeError('conditional(): the version of a record must be a whole number from 0 on')
  }
  return async (context, next) => {
    const { id, method } = context
    if (WRITES.has(method) && id !== null) await checkVersion(context, toVersion, required)
    await next()
    const { result } = context
    if (!answersRecord(method, result)) return
    context.http = { etag: toVersionTag(toVersion(result)), ...context.http }
  }
}

describeFunction(conditional, { hookFactory: 'conditional(readVersion)' })

/** Reads the record as the server itself: what callers outside may not see may be its version. */
async function checkVersion(
  { id, params, service }: HookContext,
  toVersion: (record: unknown) => number,
  required: boolean,
): Promise<void> {
  const { provider, version: expected } = params
  if (expected === undefined && required && provider !== undefined) throw createRequiredError()
  if (expected === undefined || expected === '*') return
  const inside = { ...params, provider: undefined, version: undefined }
  const current = toVersion(await (service as ReadableService).get(id, inside))
  if (![expected].flat().includes(current)) throw createVersionError(current)
}
