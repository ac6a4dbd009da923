import type {
  BulkWriteOptions,
  CollationOptions,
  FindOneAndUpdateOptions,
  FindOptions,
  Hint,
} from 'mongodb'

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
  /** Calls a read off; it is followed in the place of `params.signal`. */
  signal?: AbortSignal
  /**
   * `false` for a `patch` or `remove` of many that resolves to how many records it has reached: one
   * command, whatever their number. Default `true`.
   */
  returning?: boolean
}

/** One stage of an aggregation: `{ $lookup: … }`. */
export type PipelineStage = Readonly<Record<`$${string}`, unknown>>

/** The last argument of the methods of a MongoDB service. */
export interface MongoDBParams<Q = Query> extends Params<Q> {
  /** Page sizes for this call, `false` for all records. */
  paginate?: Paginate | false | undefined
  /** Options of the service for this call; they win over `paginate`. */
  adapter?: Partial<Omit<MongoDBOptions, 'events' | 'indexes' | 'version'>> | undefined
  /** Options for the driver, in each command of this call: `session`, `hint`, `upsert`, … */
  docdb?: DriverOptions | undefined
  /** Another name for {@link docdb}. */
  mongodb?: DriverOptions | undefined
  /** How strings are compared and sorted in this call; `create` compares none. */
  collation?: CollationOptions | undefined
  /**
   * Stages that make the answer of this call. The stages for its query come first, or where
   * `{ $framework: {} }` stands.
   */
  pipeline?: readonly PipelineStage[] | undefined
  /** `true`: the hook `softDelete()` does nothing in this call, which finds and removes marked records. */
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

/** Options of every command. */
const EVERYWHERE = [
  ...['session', 'comment', 'maxTimeMS'],
  ...['readPreference', 'readConcern', 'writeConcern'],
  ...['ignoreUndefined', 'serializeFunctions', 'checkKeys', 'enableUtf8Validation'],
  ...['bsonRegExp', 'promoteBuffers', 'promoteLongs', 'promoteValues', 'useBigInt64'],
]
/** What a command that writes takes as well as one that finds. */
const COMPARING = ['collation', 'hint', 'let']
const FINDING = [
  ...['projection', 'sort', 'batchSize', 'allowDiskUse', 'allowPartialResults', 'max', 'min'],
  ...['noCursorTimeout', 'returnKey', 'showRecordId', 'singleBatch'],
]
/** A `projection` becomes a stage. */
const AGGREGATING = [
  ...COMPARING,
  ...['allowDiskUse', 'batchSize', 'bypassDocumentValidation', 'projection'],
]
const CHANGING = [...COMPARING, 'bypassDocumentValidation', 'projection', 'sort', 'upsert']

/** What a call does at the server, told apart by the options that its commands take. */
export type Operation =
  | ('read' | 'cursor' | 'aggregate' | 'create' | 'update' | 'patch' | 'remove')
  | ('patch of many' | 'remove of many' | 'aggregate into a collection')

/** The options that a command of each operation takes; the driver would ignore any other. */
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
 * What may be stopped halfway, and what may be read from any server. A write has no time limit of
 * ours: it would end with some records changed and others not; what it reads comes from the primary.
 */
export const READS: ReadonlySet<Operation> = new Set(['read', 'cursor', 'aggregate'])

/** What writes one record that is there. */
export const ON_ONE: ReadonlySet<Operation> = new Set(['update', 'patch', 'remove'])

/** What writes all records of a query. */
export const ON_MANY: ReadonlySet<Operation> = new Set(['patch of many', 'remove of many'])

/** What writes the records of a service. */
export const WRITES: ReadonlySet<Operation> = new Set([...ON_ONE, ...ON_MANY, 'create' as const])

/** Returns the method that an operation is one of: `patch` for `patch of many`. */
export function toMethodName(operation: Operation): string {
  return operation.split(' ', 1)[0] as string
}

/**
 * Returns a new object for the driver, which writes into the options it gets.
 * @throws {TypeError} an option that no command of the operation takes, or a score of a text search
 *   in one that writes; names it
 */
export function createDriverOptions(params: MongoDBParams, operation: Operation): DriverOptions {
  const { collation, docdb, mongodb, pipeline } = params
  if (docdb !== undefined && mongodb !== undefined) {
    throw new TypeError('params.docdb and params.mongodb are the same: one of them would be lost')
  }
  const given = docdb ?? mongodb
  const hasStages = pipeline !== undefined && pipeline.length > 0
  if (given !== undefined) checkDriverOptions(given, operation, hasStages)
  // A hook sets the collation for all methods, and new records are compared with nothing: the server
  // would refuse it. Only what a pipeline makes of them may compare.
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

/** The answer of a write is read by ids, which have no score: it would fail after the write. */
function checkScores({ projection, sort }: DriverOptions, operation: Operation): void {
  for (const [name, fields] of Object.entries({ projection, sort })) {
    const values: unknown[] =
      fields instanceof Map ? [...fields.values()] : Object.values(fields ?? {})
    const isScore = values.flat().some((value) => isObject(value) && Object.hasOwn(value, '$meta'))
    if (isScore) throw new TypeError(`params.docdb.${name}: $meta is not for ${operation}`)
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
    throw new TypeError(
      `The option params.docdb.${name} is not one for ${operation}${suggestName(name, known)}`,
    )
  }
  if (!['boolean', 'undefined'].includes(typeof options.returning)) {
    throw new TypeError('The option params.docdb.returning must be true or false')
  }
}

/**
 * Returns options for a command that writes. `undefined` in data is left out, as it is on the way
 * over HTTP. The type is that of the strictest command: a `hint` by index name is fine for all.
 */
export function createWriteOptions(driver: DriverOptions): FindOneAndUpdateOptions {
  return { ignoreUndefined: true, ...driver } as FindOneAndUpdateOptions
}
