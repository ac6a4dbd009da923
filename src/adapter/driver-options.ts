import type {
  BulkWriteOptions,
  CollationOptions,
  FindOneAndUpdateOptions,
  FindOptions,
  Hint,
} from 'mongodb'

import { suggestName } from '../core/options/name-suggestion.ts'
import { isObject } from '../core/value-kind.ts'

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

/** The params that reach the driver. */
export interface DriverParams {
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
}

/** Options of every command. */
const EVERYWHERE = [
  ...['session', 'comment', 'maxTimeMS'],
  ...['readPreference', 'readConcern', 'writeConcern'],
  ...['ignoreUndefined', 'serializeFunctions', 'checkKeys', 'enableUtf8Validation'],
  ...['bsonRegExp', 'promoteBuffers', 'promoteLongs', 'promoteValues', 'useBigInt64'],
]
const READING = [
  ...[
    'collation',
    'hint',
    'let',
    'projection',
    'sort',
    'batchSize',
    'allowDiskUse',
    'allowPartialResults',
  ],
  ...['max', 'min', 'noCursorTimeout', 'returnKey', 'showRecordId', 'singleBatch'],
]
/** A `projection` becomes a stage. */
const AGGREGATING = [
  ...['allowDiskUse', 'batchSize', 'bypassDocumentValidation', 'collation', 'hint', 'let'],
  'projection',
]
const CHANGING = [
  ...['bypassDocumentValidation', 'collation', 'hint', 'let', 'projection', 'sort', 'upsert'],
]

/** What a call does at the server, told apart by the options that its commands take. */
export type Operation =
  | ('read' | 'cursor' | 'aggregate' | 'create' | 'update' | 'patch' | 'remove')
  | ('patch of many' | 'remove of many' | 'aggregate into a collection')

/** The options that a command of each operation takes; the driver would ignore any other. */
const OPTIONS_BY_OPERATION: Readonly<Record<Operation, ReadonlySet<string>>> = {
  read: new Set([...EVERYWHERE, ...READING, 'signal']),
  cursor: new Set([...EVERYWHERE, ...READING, 'signal']),
  aggregate: new Set([...EVERYWHERE, ...AGGREGATING, 'signal']),
  create: new Set([...EVERYWHERE, 'bypassDocumentValidation', 'ordered']),
  update: new Set([...EVERYWHERE, ...CHANGING]),
  patch: new Set([...EVERYWHERE, ...CHANGING, 'arrayFilters']),
  remove: new Set([...EVERYWHERE, 'collation', 'hint', 'let', 'projection', 'sort']),
  'patch of many': new Set([
    ...[...EVERYWHERE, ...READING],
    ...['arrayFilters', 'bypassDocumentValidation', 'returning'],
  ]),
  'remove of many': new Set([...EVERYWHERE, ...READING, 'returning']),
  'aggregate into a collection': new Set([...EVERYWHERE, ...AGGREGATING]),
}

/** The same for writes to many whose records nobody reads: one command, which reads none either. */
const OPTIONS_WITHOUT_ANSWER: Readonly<Partial<Record<Operation, ReadonlySet<string>>>> = {
  'patch of many': new Set([
    ...[...EVERYWHERE, 'collation', 'hint', 'let', 'returning'],
    ...['arrayFilters', 'bypassDocumentValidation'],
  ]),
  'remove of many': new Set([...EVERYWHERE, 'collation', 'hint', 'let', 'returning']),
}

/** Reads by aggregation, and whatever else has to be done before one. */
const READS: ReadonlySet<Operation> = new Set(['read', 'aggregate'])

/** Operations that may return scores of a text search, or sort by them. */
const SCORES: ReadonlySet<Operation> = new Set([...READS, 'cursor'])

/**
 * Returns a new object for the driver, which writes into the options it gets.
 * @throws {TypeError} an option that no command of the operation takes, or a score of a text search
 *   in one that writes; names it
 */
export function createDriverOptions(params: DriverParams, operation: Operation): DriverOptions {
  const { collation, docdb, mongodb, pipeline } = params
  if (docdb !== undefined && mongodb !== undefined) {
    throw new TypeError('params.docdb and params.mongodb are the same: one of them would be lost')
  }
  const given = docdb ?? mongodb
  const hasStages = pipeline !== undefined && pipeline.length > 0
  if (given !== undefined)
    checkDriverOptions(given, operation, listKnownOptions(operation, hasStages, given))
  // A hook sets the collation for all methods, and new records are compared with nothing: the server
  // would refuse it. Only what a pipeline makes of them may compare.
  const isCompared = collation !== undefined && (operation !== 'create' || hasStages)
  return { ...(isCompared ? { collation } : {}), ...given }
}

/**
 * Takes the one option out that is not the driver's.
 * @throws {TypeError} it is neither `true` nor `false`
 */
export function takeReturning(driver: DriverOptions): boolean {
  const { returning } = driver
  if (returning === undefined) return true
  if (typeof returning !== 'boolean') {
    throw new TypeError('The option params.docdb.returning must be true or false')
  }
  delete driver.returning
  return returning
}

function listKnownOptions(
  operation: Operation,
  hasStages: boolean,
  { returning }: DriverOptions,
): ReadonlySet<string> {
  const unread = returning === false ? OPTIONS_WITHOUT_ANSWER[operation] : undefined
  const known = unread ?? OPTIONS_BY_OPERATION[operation]
  if (!hasStages || operation === 'cursor') return known
  if (READS.has(operation)) return OPTIONS_BY_OPERATION.aggregate
  return new Set([...known, ...AGGREGATING])
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
  known: ReadonlySet<string>,
): void {
  if (!SCORES.has(operation)) checkScores(options, operation)
  for (const [name, value] of Object.entries(options)) {
    if (known.has(name) || value === undefined) continue
    throw new TypeError(
      `The option params.docdb.${name} is not one for ${operation}${suggestName(name, known)}`,
    )
  }
}

/**
 * Returns options for a command that writes. `undefined` in data is left out, as it is on the way
 * over HTTP. The type is that of the strictest command: a `hint` by index name is fine for all.
 */
export function createWriteOptions(driver: DriverOptions): FindOneAndUpdateOptions {
  return { ignoreUndefined: true, ...driver } as FindOneAndUpdateOptions
}
