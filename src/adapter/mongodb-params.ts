import type {
  BulkWriteOptions,
  CollationOptions,
  FindOneAndUpdateOptions,
  FindOptions,
  Hint,
} from 'mongodb'
import { ArgumentError } from '../core/errors/setup-errors.ts'

import { suggestName } from '../core/options/name-suggestion.ts'
import type { Params, Query } from '../core/params.ts'
import { isObject } from '../core/value-kind.ts'
import type { MongoDBOptions, Paginate } from './mongodb-options.ts'

type WriteOption = 'arrayFilters' | 'bypassDocumentValidation' | 'upsert' | 'writeConcern'

/** Options of the driver that `params.docdb` passes to every command of a call. */
export interface DriverOptions
  extends Omit<FindOptions, 'explain' | 'hint' | 'limit' | 'raw' | 'skip' | 'timeoutMS'>,
    Pick<FindOneAndUpdateOptions, WriteOption>,
    Pick<BulkWriteOptions, 'ordered'> {
  /** The index to use: its name, or its keys. */
  hint?: Hint
  /** Aborts a read; overrides `params.signal`. */
  signal?: AbortSignal
  /**
   * `false` lets a `patch` or `remove` of many resolve to the number of records, by one command however many
   * there are. Default `true`.
   */
  returning?: boolean
}

/** One stage of an aggregation: `{ $lookup: … }`. */
export type PipelineStage = Readonly<Record<`$${string}`, unknown>>

/** The last argument of the methods of a MongoDB service. */
export interface MongoDBParams<Q = Query> extends Params<Q> {
  /** Page sizes for this call, `false` for all records. */
  paginate?: Paginate | false | undefined
  /** Options of the service for this call; they override `paginate`. */
  adapter?: Partial<Omit<MongoDBOptions, 'events' | 'indexes' | 'version'>> | undefined
  /** Options for the driver, in each command of this call: `session`, `hint`, `upsert`, … */
  docdb?: DriverOptions | undefined
  /** Another name for {@link docdb}. */
  mongodb?: DriverOptions | undefined
  /** How strings are compared and sorted in this call; `create` compares none. */
  collation?: CollationOptions | undefined
  /**
   * Aggregation stages that produce the result of this call. The stages of its query come first, or at
   * `{ $framework: {} }`.
   */
  pipeline?: readonly PipelineStage[] | undefined
  /** `true` turns the hook `softDelete()` off for this call, which then finds and removes marked records. */
  withDeleted?: boolean | undefined
}

declare const ANY: unique symbol

/** Nothing but `any` fits. */
interface OnlyAny {
  readonly [ANY]: never
}

/** Params that are `any`, or whose `paginate` is: they would fit the overload for `paginate: false`. */
export interface AnyPaginate extends MongoDBParams {
  /** A page size of unknown type. */
  paginate: Paginate & OnlyAny
}

interface AnyDriverOptions extends DriverOptions {
  readonly returning: boolean & OnlyAny
}

/** Params that are `any`, or whose options for the driver are: they would fit the overload for a count. */
export type AnyDriver =
  | (MongoDBParams & {
      /** Options of unknown type for the driver. */
      readonly docdb: AnyDriverOptions
    })
  | (MongoDBParams & {
      /** Another name for `docdb`. */
      readonly mongodb: AnyDriverOptions
    })

/** Returns the options for the driver that a call has, by either of their names. */
export function getGivenOptions({ docdb, mongodb }: MongoDBParams = {}): DriverOptions | undefined {
  return docdb ?? mongodb
}

/** Returns params with the session of a call, if it has one. */
export function pickSession(params: MongoDBParams): MongoDBParams {
  const session = getGivenOptions(params)?.session
  return session === undefined ? {} : { docdb: { session } }
}

/** Options of every command. */
const EVERYWHERE = [
  ...['session', 'comment', 'maxTimeMS'],
  ...['readPreference', 'readConcern', 'writeConcern'],
  ...['ignoreUndefined', 'serializeFunctions', 'checkKeys', 'enableUtf8Validation'],
  ...['bsonRegExp', 'promoteBuffers', 'promoteLongs', 'promoteValues', 'useBigInt64'],
]
/** Options that commands for writes and reads take. */
const COMPARING = ['collation', 'hint', 'let']
const FINDING = [
  ...['projection', 'sort', 'batchSize', 'allowDiskUse', 'allowPartialResults', 'max', 'min'],
  ...['noCursorTimeout', 'returnKey', 'showRecordId', 'singleBatch'],
]
/** Options of aggregations. A `projection` becomes a stage. */
const AGGREGATING = [
  ...COMPARING,
  ...['allowDiskUse', 'batchSize', 'bypassDocumentValidation', 'projection'],
]
const CHANGING = [...COMPARING, 'bypassDocumentValidation', 'projection', 'sort', 'upsert']

/** What a call does at the server, by the options that its commands take. */
export type Operation =
  | ('read' | 'cursor' | 'aggregate' | 'create' | 'update' | 'patch' | 'remove')
  | ('patch of many' | 'remove of many' | 'aggregate into a collection')

/** The options that the commands of each operation take; the driver would ignore others. */
const OPTIONS: Readonly<Record<Operation, readonly string[]>> = {
  read: [...EVERYWHERE, ...COMPARING, ...FINDING, 'signal'],
  cursor: [...EVERYWHERE, ...COMPARING, ...FINDING, 'signal'],
  aggregate: [...EVERYWHERE, ...AGGREGATING, 'signal'],
  create: [...EVERYWHERE, 'bypassDocumentValidation', 'ordered'],
  update: [...EVERYWHERE, ...CHANGING],
  patch: [...EVERYWHERE, ...CHANGING, 'arrayFilters'],
  remove: [...EVERYWHERE, ...COMPARING, 'projection', 'sort'],
  'patch of many': [
    ...[...EVERYWHERE, ...COMPARING, ...FINDING],
    ...['arrayFilters', 'bypassDocumentValidation', 'returning'],
  ],
  'remove of many': [...EVERYWHERE, ...COMPARING, ...FINDING, 'returning'],
  'aggregate into a collection': [...EVERYWHERE, ...AGGREGATING],
}

/**
 * Operations that may be stopped halfway, and that may read from any server. Writes have no time limit of
 * ours, which could leave some records changed and others not; they read from the primary.
 */
export const READS: ReadonlySet<Operation> = new Set(['read', 'cursor', 'aggregate'])

/** Operations that write one existing record. */
export const ON_ONE: ReadonlySet<Operation> = new Set(['update', 'patch', 'remove'])

/** Operations that write all records of a query. */
export const ON_MANY: ReadonlySet<Operation> = new Set(['patch of many', 'remove of many'])

/** Operations that write records of a service. */
export const WRITES: ReadonlySet<Operation> = new Set([...ON_ONE, ...ON_MANY, 'create' as const])

/** Returns the method of an operation: `patch` for `patch of many`. */
export function toMethodName(operation: Operation): string {
  return operation.split(' ', 1)[0] as string
}

/**
 * Returns a new options object for the driver, which modifies it.
 * @throws {TypeError} an option that no command of the operation takes, or a text search score in a write;
 *   names it
 */
export function createDriverOptions(params: MongoDBParams, operation: Operation): DriverOptions {
  const { collation, docdb, mongodb, pipeline } = params
  if (docdb !== undefined && mongodb !== undefined) {
    throw new ArgumentError(
      'params.docdb and params.mongodb are the same: one of them would be lost',
    )
  }
  const given = docdb ?? mongodb
  const hasStages = pipeline !== undefined && pipeline.length > 0
  if (given !== undefined) checkDriverOptions(given, operation, hasStages)
  // A hook may set the collation for all methods, but the server rejects one for inserts. Only a pipeline
  // over the new records may compare.
  const isCompared = collation !== undefined && (operation !== 'create' || hasStages)
  return { ...(isCompared ? { collation } : {}), ...given }
}

function listKnownOptions(
  operation: Operation,
  hasStages: boolean,
  { returning }: DriverOptions,
): readonly string[] {
  const all = OPTIONS[operation]
  // One command, which reads no records.
  const isUnread = returning === false && all.includes('returning')
  const known = isUnread ? all.filter((name) => !FINDING.includes(name)) : all
  if (!hasStages || operation === 'cursor') return known
  return READS.has(operation) ? OPTIONS.aggregate : [...known, ...AGGREGATING]
}

/** The result of a write is read by ids, which have no score: that would fail after the write. */
function checkScores({ projection, sort }: DriverOptions, operation: Operation): void {
  for (const [name, fields] of Object.entries({ projection, sort })) {
    const values: unknown[] =
      fields instanceof Map ? [...fields.values()] : Object.values(fields ?? {})
    const isScore = values.flat().some((value) => isObject(value) && Object.hasOwn(value, '$meta'))
    if (isScore) throw new ArgumentError(`params.docdb.${name}: $meta is not for ${operation}`)
  }
}

function checkDriverOptions(
  options: DriverOptions,
  operation: Operation,
  hasStages: boolean,
): void {
  if (!READS.has(operation)) checkScores(options, operation)
  const known = listKnownOptions(operation, hasStages, options)
  for (const [name, value] of Object.entries(options)) {
    if (known.includes(name) || value === undefined) continue
    throw new ArgumentError(
      `The option params.docdb.${name} is not one for ${operation}${suggestName(name, known)}`,
    )
  }
  if (!['boolean', 'undefined'].includes(typeof options.returning)) {
    throw new ArgumentError('The option params.docdb.returning must be true or false')
  }
}

/**
 * Returns options for a write command. `undefined` in data is dropped, as it would be over HTTP. The type is
 * that of the strictest command: all accept a `hint` by index name.
 */
export function createWriteOptions(driver: DriverOptions): FindOneAndUpdateOptions {
  return { ignoreUndefined: true, ...driver } as FindOneAndUpdateOptions
}
