import type { FindCursor } from 'mongodb'
import { InvalidQuery } from '../core/errors/coded-errors.ts'
import { ArgumentError } from '../core/errors/setup-errors.ts'
import { findServiceEntry } from '../core/index.ts'
import type { TransportParams } from '../core/transport-facts.ts'
import { TRANSPORT_FACTS } from '../core/transport-facts.ts'
import type { AdapterCall, CallFacts, CallRule } from './adapter-call.ts'
import { addConditions, addFields, readFacts } from './adapter-call.ts'
import type { CalledService } from './call-feature.ts'
import { findRules } from './call-rules.ts'
import { openModel } from './connection/model.ts'
import { ReadSignal, toAbortError } from './connection/read-signal.ts'
import { callDatabase, callWrite, readOutcome, toDatabaseError } from './driver-error.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { DriverOptions, MongoDBParams, Operation } from './mongodb-params.ts'
import { createDriverOptions, READS, WRITES } from './mongodb-params.ts'
import { checkPipelineUse } from './pipelines/framework-stages.ts'
import type { Pipeline } from './pipelines/pipeline-option.ts'
import { putTextFirst, readPipeline } from './pipelines/pipeline-option.ts'
import type { SplitQuery } from './queries/split-query.ts'
import { selectOnly, splitQuery } from './queries/split-query.ts'
import { joinTransaction } from './transactions/transaction-attempt.ts'

/** Reads that return a cursor. */
const CURSORS: ReadonlySet<Operation> = new Set(['cursor', 'aggregate'])

/**
 * Resolves to the result of a function for a call. The method of the service states the type of what the
 * database returns.
 * @param service the called service: rules of hooks apply only to its calls
 * @throws {ServiceError} the params are not allowed, or the database has failed
 * @throws {TypeError} a fault of the calling code: an option in `params.docdb` is unknown, or `Model` is not
 *   a collection
 */
export async function callAdapter<R>(
  method: Operation | 'find',
  service: CalledService,
  params: MongoDBParams = {},
  run: (call: AdapterCall) => unknown,
): Promise<R> {
  const { [TRANSPORT_FACTS]: request } = params as TransportParams
  // For the log of slow requests.
  if (request !== undefined) request.databaseCalls += 1
  const isFind = method === 'find'
  const operation = isFind ? 'read' : method
  const facts = readFacts(service, params)
  const { settings, isExternal, hidden } = facts
  const rules = findRules({ operation, isFind, service, params, settings })
  const { given, query, pipeline } = readQuery(operation, params, settings, rules)
  const driver = createDriverOptions(params, operation)
  for (const rule of rules) rule.settle?.(driver)
  if (driver.returning === false) checkUnread(query, pipeline)
  if (pipeline !== null) checkPipelineUse(operation, { ...facts, query, pipeline, driver })
  // Outside of `callDatabase`: a `Model` that is not a collection is an error of the code, not of the
  // database.
  const collection = await openModel(settings.Model)
  const transaction = joinTransaction(collection, driver)
  const searchLimitMs = addServiceOptions(driver, facts, operation)
  // Written out: spreading the facts costs more than everything else here.
  const call: AdapterCall = {
    settings,
    isExternal,
    hidden,
    collection,
    query,
    given,
    pipeline,
    driver,
    searchLimitMs,
    rules,
    change: undefined,
  }
  const runCall = (): Promise<R> => {
    if (operation === 'read') return runRead(params, call, run)
    // A failure within a transaction writes nothing: the caller aborts it.
    if (CURSORS.has(operation)) return callDatabase(() => openFollowing(params, call, run))
    const write = async (): Promise<R> => {
      try {
        const result = await run(call)
        const isWritten = WRITES.has(operation)
        for (const rule of isWritten ? rules : []) {
          rule.onWritten?.({ operation, change: call.change, result })
        }
        return result as R
      } catch (error) {
        emitUnclear(service, error)
        throw error
      }
    }
    const isAtOnce = driver.session?.inTransaction() !== true
    return isAtOnce ? callWrite(collection.db.client, write) : callDatabase(write)
  }
  return transaction === undefined ? runCall() : transaction.runNext(runCall)
}

/** Returns the query and the pipeline of a call, and the conditions that it has without those of its rules. */
function readQuery(
  operation: Operation,
  params: MongoDBParams,
  settings: MongoDBSettings,
  rules: readonly CallRule[],
): Pick<AdapterCall, 'given' | 'query' | 'pipeline'> {
  let asked = params.query ?? {}
  for (const rule of rules) asked = rule.query ?? asked
  const isNew = operation === 'create'
  const own = isNew ? selectOnly(asked) : splitQuery(asked, settings)
  const given = own.filter
  let query = own
  if (rules.length > 0) {
    query = addFields(query, rules)
    if (!isNew) query = addConditions(query, rules)
  }
  if (params.pipeline === undefined) return { given, query, pipeline: null }
  return { given, ...putTextFirst({ query, pipeline: readPipeline(params.pipeline) }) }
}

/** Emits `changed` if a write fails after it has written something. Which records it has written is unknown. */
function emitUnclear(service: object, error: unknown): void {
  if (readOutcome(error) === undefined) return
  findServiceEntry(service)?.emit('changed', { acknowledged: false, matched: 0, modified: 0 })
}

/**
 * Checks a write to many that returns no records.
 * @throws {BadRequest} it has a `$skip`, which the commands do not support
 * @throws {TypeError} it has a pipeline, which would return records
 */
function checkUnread({ skip }: SplitQuery, pipeline: Pipeline | null): void {
  if (skip > 0) throw new InvalidQuery('$skip is not possible where no records are returned')
  if (pipeline === null) return
  throw new ArgumentError('params.docdb.returning: false cannot be combined with params.pipeline')
}

/**
 * Runs a read until its caller aborts it. Writes are never aborted: the caller could not know whether
 * they happened.
 * @throws {ServiceError} what the read throws, converted by `toDatabaseError`
 */
async function runRead<R>(
  params: MongoDBParams,
  call: AdapterCall,
  read: (call: AdapterCall) => unknown,
): Promise<R> {
  let signal: ReadSignal | null = null
  try {
    signal = ReadSignal.follow(params, call.driver)
    signal?.throwIfAborted()
    const result = await read(call)
    // The driver may end the cursor of an aborted read as if there were no more records.
    signal?.throwIfAborted()
    return result as R
  } catch (error) {
    throw signal?.aborted ? toAbortError(signal.reason) : toDatabaseError(error)
  } finally {
    signal?.end()
  }
}

/** Resolves to a cursor that outlives the call: until it is closed, it follows the signal of the caller. */
async function openFollowing<R>(
  params: MongoDBParams,
  call: AdapterCall,
  open: (call: AdapterCall) => unknown,
): Promise<R> {
  const signal = ReadSignal.follow({ signal: params.signal }, call.driver)
  const cursor = await open(call)
  if (signal !== null) (cursor as FindCursor).once('close', () => signal.end())
  return cursor as R
}

/**
 * Adds the service's concerns and its time limit for external reads to the options for the commands of a
 * call, whose session is known by now. Returns how many ms the server may work on a read, or `undefined` for
 * no limit.
 * @throws {TypeError} within a transaction, `params.docdb.readPreference` is not `'primary'`
 */
export function addServiceOptions(
  options: DriverOptions,
  { settings, isExternal }: CallFacts,
  operation: Operation,
): number | undefined {
  const isRead = READS.has(operation)
  const { timeMs } = settings.limits
  const limit = isExternal && Number.isFinite(timeMs) ? timeMs : undefined
  if (isRead && limit !== undefined) options.maxTimeMS ??= limit
  // The commands of a transaction share the concerns that it was started with.
  if (options.session?.inTransaction() === true) {
    checkPrimary(options)
    return limit
  }
  const { readPreference, readConcern, writeConcern } = settings
  if (isRead && readPreference !== undefined) options.readPreference ??= readPreference
  if (isRead && readConcern !== undefined) options.readConcern ??= readConcern
  if (!isRead && writeConcern !== undefined) options.writeConcern ??= writeConcern
  return limit
}

/** The driver would throw too, but an error that this package cannot convert. */
function checkPrimary({ readPreference = 'primary' }: DriverOptions): void {
  const mode = typeof readPreference === 'string' ? readPreference : readPreference.mode
  if (mode === 'primary') return
  throw new ArgumentError(
    `The option params.docdb.readPreference must be 'primary' within a transaction, not '${mode}'`,
  )
}
