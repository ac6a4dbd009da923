import { HookError } from '../errors/setup-errors.ts'
import { describeFunction } from '../function-metadata.ts'
import type { HookContext, Next } from '../hooks/hook-context.ts'
import { listEarlyHooks } from '../hooks/hook-registry.ts'
import { isWrite, toMethodSpec } from '../method-table.ts'
import type { Params } from '../params.ts'
import { findServiceEntry } from '../services/service-entry.ts'
import { changeParams } from '../transport-facts.ts'
import {
  answersRecord,
  createManyError,
  createRequiredError,
  createVersionError,
} from './record-version.ts'
import type { ExpectedVersion } from './version-tag.ts'
import { isVersion, toVersionTag } from './version-tag.ts'

/** Options of {@link conditional}. */
export interface ConditionalOptions {
  /** Whether external callers must name the version that they change or remove. Default: `false`. */
  readonly required?: boolean
}

/** A service whose records can be read before they are written. */
interface ReadableService {
  find(params: Params): Promise<unknown>
  get(id: unknown, params: Params): Promise<unknown>
}

/**
 * Returns an around hook for a custom service. It adds entity tags to responses, and makes writes of one record
 * conditional on `params.version` or `If-Match`. After all before hooks, right before the write, it reads the record
 * by `get` with the rights of the caller. If the caller may not read the record, they get the error of `get` and never
 * the version. Another call may write in between; `MongoDBService` closes this gap with its option `version`.
 *
 * The hook throws `PreconditionFailed` if the record has another version, which is `data.current`, and
 * `PreconditionRequired` if a required version is not given.
 * @param readVersion returns the version of a record: a whole number that each write raises
 * @throws {TypeError} in calls: `readVersion` returns something else, or a hook has written in place of the method
 *   without the params of the call
 */
export function conditional<T extends object = object>(
  readVersion: (record: T) => number,
  { required = false }: ConditionalOptions = {},
): (context: HookContext, next: Next) => Promise<void> {
  const checkWrite = async (context: HookContext): Promise<void> => {
    const expected = takeExpected(context)
    if (expected === null) return
    // A before hook has written in place of the method: the record no longer has the version to compare.
    if (context.result !== undefined) return
    noteComparison(context)
    if (context.id === null && !isSingleton(context)) throw createManyError()
    const { provider } = context.params
    let current = readVersion((await readRecord(context, provider)) as T)
    // A hook of `get` may hide the version from callers who may see the record.
    if (!isVersion(current)) current = readVersion((await readRecord(context, undefined)) as T)
    if (!isVersion(current)) refuseVersion()
    if (!expected.includes(current)) throw createVersionError(current)
  }
  const hook = async (context: HookContext, next: Next): Promise<void> => {
    const { method } = context
    if (isWrite(method) && toMethodSpec(method).withId) {
      const { provider, version } = context.params
      if (required && version === undefined && provider !== undefined) throw createRequiredError()
      noteExpectation(context)
      // The chain runs `checkWrite` only for registered hooks, not for one that another hook calls.
      if (!isRegistered(context, hook)) await checkWrite(context)
    }
    await next()
    requireComparison(context)
    const { result } = context
    if (!answersRecord(method, result, { singleton: isSingleton(context) })) return
    const version = readVersion(result as T)
    if (isVersion(version)) context.http = { etag: toVersionTag(version), ...context.http }
    // If the caller selects fields, the version may be missing.
    else if (!isWrite(method) && context.params.query?.['$select'] === undefined) refuseVersion()
  }
  const findCheck = (method: string) => (isWrite(method) ? checkWrite : null)
  return describeFunction(hook, { comparesVersion: true, findCheck })
}

describeFunction(conditional, { hookFactory: 'conditional(readVersion)' })

function isSingleton({ service }: HookContext): boolean {
  return findServiceEntry(service)?.options.singleton === true
}

function isRegistered({ method, service }: HookContext, hook: object): boolean {
  const entry = findServiceEntry(service)
  return entry !== undefined && listEarlyHooks(entry, method).some((one) => one === hook)
}

/**
 * Resolves to the record that is about to be written, as `get` returns it for the params of the write. Rules
 * that hooks of the write set in these params also limit the read.
 */
function readRecord(context: HookContext, provider: string | undefined): Promise<unknown> {
  const { id, params, service } = context
  const { $select, ...query } = params.query ?? {}
  const readParams = { ...params, query, provider, version: undefined }
  const readable = service as ReadableService
  return isSingleton(context) ? readable.find(readParams) : readable.get(id, readParams)
}

/** The version that a write expects, shared by its call and by calls that its hooks make with its params. */
interface Expectation {
  readonly service: object
  readonly id: unknown
  readonly version: ExpectedVersion
  isCompared: boolean
}

/**
 * The property in which a context and params keep it: hooks may replace params, run the write again, or call
 * with copies of params.
 */
const EXPECTATION: unique symbol = Symbol('remex.expectation')

interface WithExpectation {
  [EXPECTATION]?: Expectation
}

function noteExpectation(context: HookContext & WithExpectation): void {
  const { id, params, service } = context
  const { version, [EXPECTATION]: outer } = params as Params & WithExpectation
  if (version === undefined) return
  const isOuter = outer?.service === service && String(outer.id) === String(id)
  const expectation = isOuter ? outer : { service, id, version, isCompared: false }
  Object.defineProperty(context, EXPECTATION, { value: expectation, configurable: true })
  changeParams<WithExpectation>(context, { [EXPECTATION]: expectation })
}

function noteComparison(context: HookContext & WithExpectation): void {
  const { [EXPECTATION]: expectation } = context
  if (expectation !== undefined) expectation.isCompared = true
}

/** @throws {TypeError} a hook has written in place of the method, and no call has compared the version before that */
function requireComparison(context: HookContext & WithExpectation): void {
  const { version, isCompared } = context[EXPECTATION] ?? { isCompared: true }
  if (isCompared || version === '*') return
  throw new HookError(
    'conditional(): a hook has set the result, and the version of the record was not compared. Pass context.params to the call that writes',
  )
}

/**
 * Returns the versions that a write expects, `null` for any. It removes them from the params: calls that the service
 * makes with the same params must not compare them again.
 */
function takeExpected(context: HookContext & WithExpectation): readonly unknown[] | null {
  const { version = context[EXPECTATION]?.version } = context.params
  if (version === undefined || !toMethodSpec(context.method).withId) return null
  changeParams(context, { version: undefined })
  return version === '*' ? null : [version].flat()
}

function refuseVersion(): never {
  throw new HookError('conditional(): the version of a record must be a whole number from 0 on')
}
