import type { Collection, FindCursor } from 'mongodb'
import { findOperatorPlaces } from '../core/checked-query.ts'
import { BadRequest } from '../core/errors/index.ts'
import type { Query } from '../core/params.ts'
import { toCallSettings, withQuery } from './call-settings.ts'
import { addServiceOptions, toReadLimit } from './command-options.ts'
import { openModel } from './connection/model.ts'
import { ReadSignal, toAbortError } from './connection/read-signal.ts'
import { callDatabase } from './driver-error.ts'
import type { DriverOptions, Operation } from './driver-options.ts'
import { takeReturning, toDriverOptions } from './driver-options.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { checkUpsert, isExternal, toHidden } from './mongodb-params.ts'
import type { Pipeline } from './pipelines/read-pipeline.ts'
import { readPipeline } from './pipelines/read-pipeline.ts'
import { putTextFirst } from './pipelines/text-first.ts'
import { checkPipelineUse } from './pipelines/write-check.ts'
import { checkHiddenQuery } from './queries/hidden-field-check.ts'
import { checkPatterns } from './queries/pattern-check.ts'
import { sanitizeQuery } from './queries/query-operators.ts'
import type { SplitQuery } from './queries/split-query.ts'
import { splitQuery } from './queries/split-query.ts'
import { withNamedSearch, withTextCondition } from './queries/text-search.ts'
import { joinTransaction } from './transactions/current-session.ts'
import { callWrite } from './write-outcome.ts'
import { checkReservedNames } from './writes/data-check.ts'
import { checkChange } from './writes/write-data.ts'

/** Reads that hand out a cursor. */
const CURSORS: ReadonlySet<Operation> = new Set(['cursor', 'aggregate'])

/** Everything that one call of a method needs. */
export interface AdapterCall {
  readonly collection: Collection
  readonly settings: MongoDBSettings
  readonly query: SplitQuery
  /** Fields that are left out of what the call returns. */
  readonly hidden: readonly string[]
  /** The stages of `params.pipeline`, `null` when it has none. */
  readonly pipeline: Pipeline | null
  /** Options for the driver, fresh for this call. */
  readonly driver: DriverOptions
  /** Whether the records that a write to many has reached are the answer, or only their number. */
  readonly isReturning: boolean
  /** How many ms the server may look for what is to be written; `undefined` for any time. */
  readonly searchLimitMs: number | undefined
}

/**
 * Resolves to what a function makes of a call.
 * @param settings the options for this call
 * @throws {ServiceError} what the database answers or the params are refused for
 * @throws {TypeError} a fault of the calling code: an option in `params.docdb` is not known, or `Model`
 *   turns out to be no collection
 */
export async function callAdapter<R>(
  operation: Operation,
  settings: MongoDBSettings,
  params: MongoDBParams = {},
  run: (call: AdapterCall) => Promise<R>,
): Promise<R> {
  const { query, pipeline } = putTextFirst({
    query: splitQuery(params.query ?? {}, settings),
    pipeline: readPipeline(params.pipeline),
  })
  const driver = toDriverOptions(params, operation)
  const isReturning = takeReturning(driver)
  if (!isReturning) checkUnread(query, pipeline)
  const hidden = toHidden(settings, params)
  checkPipelineUse(operation, { settings, query, hidden, pipeline, driver })
  // Outside of `callDatabase`: a `Model` that is no collection is a fault of the code, not of the
  // database.
  const collection = await openModel(settings.Model)
  const transaction = joinTransaction(collection, driver)
  addServiceOptions(driver, settings, params, operation)
  const searchLimitMs = toReadLimit(settings, params)
  const start = async (): Promise<R> =>
    run({ collection, settings, query, hidden, pipeline, driver, isReturning, searchLimitMs })
  const runCall = (): Promise<R> => {
    if (operation === 'read') return callDatabase(() => runRead(params, driver, start))
    // What fails within a transaction is not written: the caller ends it by an abort.
    if (CURSORS.has(operation)) return callDatabase(() => openFollowing(params, driver, start))
    const isAtOnce = driver.session?.inTransaction() !== true
    return isAtOnce ? callWrite(collection.db.client, start) : callDatabase(start)
  }
  return transaction === undefined ? runCall() : transaction.runNext(runCall)
}

/**
 * Checks a write to many whose records nobody reads.
 * @throws {BadRequest} it has a `$skip`, which the commands do not know
 * @throws {TypeError} it has a pipeline, which makes an answer of records
 */
function checkUnread({ skip }: SplitQuery, pipeline: Pipeline | null): void {
  if (skip > 0) throw new BadRequest('$skip is not possible where no records are returned')
  if (pipeline === null) return
  throw new TypeError('params.docdb.returning: false can not go with params.pipeline')
}

/**
 * Runs a read until its caller aborts it. A write is never aborted: nobody would know whether
 * it happened.
 */
async function runRead<R>(
  params: MongoDBParams,
  driver: DriverOptions,
  read: () => Promise<R>,
): Promise<R> {
  const signal = ReadSignal.follow(driver.signal === undefined ? params : driver)
  if (signal === null) return read()
  driver.signal = signal as unknown as AbortSignal
  try {
    signal.throwIfAborted()
    const result = await read()
    // The driver may end the cursor of an aborted read as if there were no more records.
    signal.throwIfAborted()
    return result
  } catch (error) {
    throw signal.aborted ? toAbortError(signal.reason) : error
  } finally {
    signal.end()
  }
}

/** Resolves to a cursor. It outlives the call, and follows the signal of its caller until it is closed. */
async function openFollowing<R>(
  params: MongoDBParams,
  driver: DriverOptions,
  open: () => Promise<R>,
): Promise<R> {
  const signal = ReadSignal.follow({ signal: driver.signal ?? params.signal })
  if (signal === null) return open()
  driver.signal = signal as unknown as AbortSignal
  const cursor = await open()
  ;(cursor as unknown as FindCursor).once('close', () => signal.end())
  return cursor
}

/**
 * Returns params whose query is a checked copy.
 * @param service the one that is called, for which schemas of the query may allow operators
 * @param settings those of the call
 */
export function toChecked<P extends MongoDBParams>(
  params: P | undefined,
  service: { readonly options: MongoDBSettings },
  settings: MongoDBSettings = toCallSettings(service.options, params),
): P {
  const named = findOperatorPlaces(params, service)
  const allowed = withNamedSearch(settings, named)
  const query = sanitizeQuery(params?.query ?? {}, allowed, named)
  if (toHidden(settings, params).length > 0) checkHiddenQuery(query, allowed)
  const mayHavePatterns = settings.operators.length > 0 || named.length > 0
  if (isExternal(params) && mayHavePatterns) checkPatterns(query, allowed)
  // The settings that are known for the call from here on are without what schemas allow.
  const plain = allowed === settings ? query : withTextCondition(query)
  return withQuery(params, plain, service.options, settings)
}

/** @throws {BadRequest} no id or a list of data: `update` replaces one record by one */
export function checkOne(id: unknown, data: unknown): void {
  if (id !== null && !Array.isArray(data)) return
  throw new BadRequest("You can not replace multiple instances. Did you mean 'patch'?")
}

/**
 * Checks the `$select` of a caller outside who creates a record; nothing else of the query is used.
 * @throws {BadRequest} it names a hidden field
 */
export function checkSelect(query: Query | undefined, settings: MongoDBSettings): void {
  if (settings.hidden.length === 0) return
  checkHiddenQuery(
    { $select: splitQuery({ $select: query?.['$select'] }, settings).select },
    settings,
  )
}

/**
 * Checks the data of `update` or `patch`, that of a caller outside in full.
 * @throws {BadRequest} data that is not allowed, or an upsert that would take the caller's id
 */
export function checkChangeData(
  settings: MongoDBSettings,
  id: unknown,
  data: unknown,
  params: MongoDBParams | undefined,
): void {
  if (isExternal(params)) {
    checkUpsert(settings, params)
    checkChange(data, id, settings)
  } else checkReservedNames(data)
}
