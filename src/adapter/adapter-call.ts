import type { Collection, Document, FindCursor } from 'mongodb'
import { BadRequest, ServiceError } from '../core/errors/index.ts'
import { findServiceEntry } from '../core/index.ts'
import type { TransportParams } from '../core/transport-facts.ts'
import { TRANSPORT_FACTS } from '../core/transport-facts.ts'
import { EXPECTED_VERSION, isVersion } from '../core/versions/entity-tag.ts'
import { createManyError } from '../core/versions/record-version.ts'
import type { CallRule } from './call-rules.ts'
import { addConditions, findRules } from './call-rules.ts'
import { openModel } from './connection/model.ts'
import { ReadSignal, toAbortError } from './connection/read-signal.ts'
import { callDatabase, callWrite, readOutcome } from './driver-error.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { DriverOptions, MongoDBParams, Operation } from './mongodb-params.ts'
import {
  createDriverOptions,
  getHiddenFields,
  isExternal,
  ON_MANY,
  ON_ONE,
  READS,
  WRITES,
} from './mongodb-params.ts'
import { checkPipelineUse } from './pipelines/framework-stages.ts'
import type { Pipeline } from './pipelines/pipeline-option.ts'
import { putTextFirst, readPipeline } from './pipelines/pipeline-option.ts'
import type { SplitQuery } from './queries/split-query.ts'
import { splitQuery } from './queries/split-query.ts'
import { resolveCallSettings } from './resolve-options.ts'
import { joinTransaction } from './transactions/transaction-attempt.ts'
import type { WriteData } from './writes/write-data.ts'

/** Reads that hand out a cursor. */
const CURSORS: ReadonlySet<Operation> = new Set(['cursor', 'aggregate'])

/** Everything that one call of a method needs. */
export interface AdapterCall {
  readonly collection: Collection
  readonly settings: MongoDBSettings
  readonly query: SplitQuery
  /** The conditions of the query, without those of {@link rules}. */
  readonly given: Document
  /** Fields that are left out of what the call returns. */
  readonly hidden: readonly string[]
  /** The stages of `params.pipeline`, `null` when it has none. */
  readonly pipeline: Pipeline | null
  /** Options for the driver, fresh for this call. */
  readonly driver: DriverOptions
  /** How many ms the server may look for what is to be written; `undefined` for any time. */
  readonly searchLimitMs: number | undefined
  /** The versions of which a record that is written has to have one; `undefined` for any. */
  readonly expected: readonly number[] | undefined
  /** Whether it is noted how removed records were stored: for streams, and for rules that hear of writes. */
  readonly notesRemoved: boolean
  /** What hooks have said of the records; the query has the conditions. */
  readonly rules: readonly CallRule[]
  /** The data of a patch after the rules, set by `applyRules()`: rules that hear of writes get it. */
  change: WriteData | undefined
}

/** The service that is called. */
interface CalledService {
  readonly options: MongoDBSettings
  /** Whether somebody follows its records. */
  readonly isFollowed?: boolean
}

/**
 * Resolves to what a function makes of a call. What the database returns is of the type that the method
 * of the service states.
 * @param service the one that is called: rules of hooks are for its calls alone
 * @throws {ServiceError} what the database answers or the params are refused for
 * @throws {TypeError} a fault of the calling code: an option in `params.docdb` is not known, or `Model`
 *   turns out to be no collection
 */
export async function callAdapter<R>(
  operation: Operation,
  service: CalledService,
  params: MongoDBParams = {},
  run: (call: AdapterCall) => unknown,
): Promise<R> {
  countCall(params)
  const settings = resolveCallSettings(service.options, params)
  const expected = readExpectedVersions(operation, params, settings)
  const rules = findRules(params, service)
  const given = withVersionField(splitQuery(params.query ?? {}, settings), settings)
  const { query, pipeline } = putTextFirst({
    query: operation === 'create' ? given : addConditions(given, rules),
    pipeline: readPipeline(params.pipeline),
  })
  const driver = createDriverOptions(params, operation)
  // Whoever expects a record, in whatever version, has none added.
  if (params.version !== undefined && driver.upsert === true) driver.upsert = false
  if (driver.returning === false) checkUnread(query, pipeline)
  const hidden = getHiddenFields(settings, params)
  checkPipelineUse(operation, { settings, query, hidden, pipeline, driver })
  // Outside of `callDatabase`: a `Model` that is no collection is a fault of the code, not of the
  // database.
  const collection = await openModel(settings.Model)
  const transaction = joinTransaction(collection, driver)
  addServiceOptions(driver, settings, params, operation)
  const searchLimitMs = getReadLimit(settings, params)
  const call: AdapterCall = {
    collection,
    settings,
    query,
    given: given.filter,
    hidden,
    pipeline,
    driver,
    searchLimitMs,
    expected,
    rules,
    change: undefined,
    notesRemoved: service.isFollowed === true || rules.some(({ onWritten }) => onWritten),
  }
  const start = async (): Promise<R> => {
    try {
      const result = await run(call)
      if (WRITES.has(operation)) {
        for (const { onWritten } of rules) onWritten?.({ operation, change: call.change, result })
      }
      return result as R
    } catch (error) {
      emitUnclear(service, error)
      throw error
    }
  }
  const runCall = (): Promise<R> => {
    if (operation === 'read') return callDatabase(() => runRead(params, driver, start))
    // What fails within a transaction is not written: the caller ends it by an abort.
    if (CURSORS.has(operation)) return callDatabase(() => openFollowing(params, driver, start))
    const isAtOnce = driver.session?.inTransaction() !== true
    return isAtOnce ? callWrite(collection.db.client, start) : callDatabase(start)
  }
  return transaction === undefined ? runCall() : transaction.runNext(runCall)
}

/** Emits `changed` if a write fails after it has written something. Which records it has written is unknown. */
function emitUnclear(service: object, error: unknown): void {
  if (!(error instanceof ServiceError) || readOutcome(error) === undefined) return
  findServiceEntry(service)?.emit('changed', { acknowledged: false, matched: 0, modified: 0 })
}

/**
 * Returns the versions of which a write expects its record to have one, `undefined` for any.
 * @throws {BadRequest} many records are to have it
 * @throws {TypeError} `params.version` is no version, or the service has none
 */
function readExpectedVersions(
  operation: Operation,
  { version: expected }: MongoDBParams,
  { version: field }: MongoDBSettings,
): readonly number[] | undefined {
  if (expected === undefined || expected === '*') return undefined
  if (ON_MANY.has(operation)) throw createManyError()
  if (!ON_ONE.has(operation)) return undefined
  if (field === undefined && typeof expected === 'number') {
    throw new TypeError("params.version needs the option 'version' of MongoDBService")
  }
  const versions = [expected].flat()
  if (versions.every(isVersion)) return versions
  throw new TypeError(EXPECTED_VERSION)
}

/** The version is in each answer, as the id is: callers need it for their next write. */
function withVersionField(query: SplitQuery, { version }: MongoDBSettings): SplitQuery {
  const { select } = query
  if (version === undefined || select === undefined || select.includes(version)) return query
  return { ...query, select: [...select, version] }
}

/** Counts a call for the log of slow requests. */
export function countCall(params: MongoDBParams | undefined): void {
  const facts = (params as TransportParams | undefined)?.[TRANSPORT_FACTS]
  if (facts !== undefined) facts.databaseCalls += 1
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

/** Returns how many ms the server may work on a read for a caller outside; `undefined`: any time. */
function getReadLimit(settings: MongoDBSettings, params: MongoDBParams): number | undefined {
  const { timeMs } = settings.limits
  return isExternal(params) && Number.isFinite(timeMs) ? timeMs : undefined
}

/**
 * Adds to the options for the commands of a call, whose session is known by now: the concerns of the
 * service, and its time limit for reads of callers outside.
 * @throws {TypeError} within a transaction, `params.docdb.readPreference` is not `'primary'`
 */
export function addServiceOptions(
  options: DriverOptions,
  settings: MongoDBSettings,
  params: MongoDBParams,
  operation: Operation,
): void {
  const isRead = READS.has(operation)
  const limit = getReadLimit(settings, params)
  if (isRead && limit !== undefined) options.maxTimeMS ??= limit
  // The commands of a transaction share the concerns that it was started with.
  if (options.session?.inTransaction() === true) {
    checkPrimary(options)
    return
  }
  const { readPreference, readConcern, writeConcern } = settings
  if (isRead && readPreference !== undefined) options.readPreference ??= readPreference
  if (isRead && readConcern !== undefined) options.readConcern ??= readConcern
  if (!isRead && writeConcern !== undefined) options.writeConcern ??= writeConcern
}

/** The driver refuses it as well, by an error without a class of its own here. */
function checkPrimary({ readPreference = 'primary' }: DriverOptions): void {
  const mode = typeof readPreference === 'string' ? readPreference : readPreference.mode
  if (mode === 'primary') return
  throw new TypeError(
    `The option params.docdb.readPreference must be 'primary' within a transaction, not '${mode}'`,
  )
}
