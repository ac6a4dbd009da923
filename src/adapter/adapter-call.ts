import type { Collection, Document } from 'mongodb'
import type { Page } from '../core/params.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { DriverOptions, MongoDBParams, Operation } from './mongodb-params.ts'
import type { AdapterId } from './object-id.ts'
import type { Pipeline } from './pipelines/pipeline-option.ts'
import type { SplitQuery } from './queries/split-query.ts'
import { resolveCallSettings } from './resolve-options.ts'
import type { WriteData } from './writes/write-data.ts'

/** What is known of a call as soon as it begins. */
export interface CallFacts {
  /** The options of the service, with those of the params in their places. */
  readonly settings: MongoDBSettings
  /** Whether it comes through a transport. */
  readonly isExternal: boolean
  /** Fields that are left out of what the call returns. */
  readonly hidden: readonly string[]
}

const NOTHING: readonly string[] = []

/**
 * Returns what is known of a call as soon as it begins. Its options are read again in each of its methods: one that a
 * subclass overrides may change them, in place too.
 * @throws {TypeError} an option in its params is unknown, or has an invalid value
 */
export function readFacts(
  { options }: { readonly options: MongoDBSettings },
  params: MongoDBParams = {},
): CallFacts {
  const { adapter, paginate, provider } = params
  const isUsual = adapter === undefined && paginate === undefined
  const settings = isUsual ? options : resolveCallSettings(options, params)
  const isExternal = provider !== undefined
  return { settings, isExternal, hidden: isExternal ? settings.hidden : NOTHING }
}

/** Everything that one call of a method needs. */
export interface AdapterCall extends CallFacts {
  readonly collection: Collection
  readonly query: SplitQuery
  /** The conditions of the query, without those of {@link rules}. */
  readonly given: Document
  /** The stages of `params.pipeline`, `null` when it has none. */
  readonly pipeline: Pipeline | null
  /** Options for the driver, fresh for this call. */
  readonly driver: DriverOptions
  /** How many ms the server may look for what is to be written; `undefined` for any time. */
  readonly searchLimitMs: number | undefined
  /** What hooks and features have said of the records; the query has the conditions. */
  readonly rules: readonly CallRule[]
  /** The data of a patch after the rules, set by `applyRules()`: rules that hear of writes get it. */
  change: WriteData | undefined
}

/** What a hook or a feature says of one call. Its steps run in the order in which they stand here. */
export interface CallRule {
  /** The query, in the place of that of the params. */
  readonly query?: Document
  /** Fields that results contain even if `$select` does not name them. */
  readonly fields?: readonly string[]
  /** Conditions of each command but those of `create`. They are code, so their operators are not checked. */
  readonly filter?: Document
  /** Changes the options for the driver. */
  readonly settle?: (driver: DriverOptions) => void
  /** Resolves to the answer of `find`, in the place of the usual one. */
  readonly find?: (call: AdapterCall) => Promise<Page<Document>>
  /** Returns a record that was read as the answer has it. */
  readonly show?: (record: Document) => Document
  /** The field that `remove` sets to the time, in place of removing the record. */
  readonly mark?: string
  /**
   * Returns a write with the fields that the hook sets. It runs when the command is made, so that later hooks cannot
   * undo it.
   */
  readonly fill?: (write: RuledWrite) => RuledWrite
  /**
   * Returns a write whose record obeys the rule. It runs after the `fill` of all rules.
   * @throws {ServiceError} the record would break the rule
   */
  readonly hold?: (write: RuledWrite) => RuledWrite
  /**
   * Strips what must not be stored from the data of a change.
   * @param isOne whether one record is changed, and not many
   * @throws {BadRequest} the data is not allowed
   */
  readonly take?: (data: WriteData, call: AdapterCall, isOne: boolean) => WriteData
  /** Returns a new document as it is stored. */
  readonly toNew?: (document: Document) => Document
  /** Returns the operators of a change as they are sent. */
  readonly toUpdate?: (update: Document) => Document
  /** Expressions for fields of a record that is replaced. */
  readonly computed?: Document
  /** Returns the filter of a command that writes one record. */
  readonly aim?: (filter: Document) => Document
  /**
   * Called where such a command finds no record.
   * @throws {ServiceError} the reason, unless no record has the id
   */
  readonly explainMissing?: (call: AdapterCall, id: AdapterId) => Promise<void>
  /** Whether it is noted how removed records were stored. */
  readonly notesRemoved?: boolean
  /** Returns a record that was marked as it was before. */
  readonly unmark?: (record: Document) => Document
  /** Called with each write. */
  readonly onWritten?: (write: Write) => void
}

/** A write that the database has carried out. */
export interface Write {
  readonly operation: Operation
  /** The data of a patch after all rules, `undefined` for other operations. */
  readonly change: WriteData | undefined
  /** The result of the write. */
  readonly result: unknown
}

/** The data of a write on its way into a command. */
export interface RuledWrite {
  /** The kind of write: a `patch` is also an `update` by operators. */
  readonly kind: 'create' | 'update' | 'patch'
  readonly data: WriteData
  /** The id of the record, `null` for many; `undefined` for a new one. */
  readonly id?: unknown
  /** Whether the write adds a record where it finds none. */
  readonly isUpsert: boolean
  readonly settings: MongoDBSettings
  /** The conditions of the call, without those of rules. */
  readonly given: Document
  /** Fields that a replacement keeps. The values are those of a record that an upsert adds; `undefined` for none. */
  readonly kept: WriteData
}

const NOTHING_KEPT: WriteData = {}

/**
 * Returns the data that a write stores after the rules of its call, and the fields that a replacement keeps. The call
 * notes the data of a patch.
 * @throws {ServiceError} the record would break a rule
 */
export function applyRules(
  call: AdapterCall,
  kind: RuledWrite['kind'],
  data: WriteData,
  id?: unknown,
): Pick<RuledWrite, 'data' | 'kept'> {
  const { rules, settings, given, driver } = call
  if (rules.length === 0) return { data, kept: NOTHING_KEPT }
  const isUpsert = driver.upsert === true
  let write: RuledWrite = { kind, data, id, isUpsert, settings, given, kept: NOTHING_KEPT }
  for (const rule of rules) write = rule.fill?.(write) ?? write
  for (const rule of rules) write = rule.hold?.(write) ?? write
  if (kind === 'patch') call.change = write.data
  return write
}

/**
 * Returns the data of a change without what the rules of its call do not store.
 * @throws {BadRequest} the data is not allowed
 */
export function takeData(call: AdapterCall, given: WriteData, isOne = true): WriteData {
  let data = given
  for (const rule of call.rules) data = rule.take?.(data, call, isOne) ?? data
  return data
}

/** The steps that make a document of a document. */
type DocumentStep = 'show' | 'toNew' | 'toUpdate' | 'aim' | 'unmark'

/** Returns a document after one step of all rules of a call. */
export function takeStep({ rules }: AdapterCall, step: DocumentStep, given: Document): Document {
  let document = given
  for (const rule of rules) document = rule[step]?.(document) ?? document
  return document
}

/** Returns the data that a removal sets in place of removing, `null` where it removes. */
export function createMark(rules: readonly CallRule[]): Document | null {
  for (const { mark } of rules) if (mark !== undefined) return { [mark]: new Date() }
  return null
}

/** Returns a query with the fields of rules in its `$select`. */
export function addFields(query: SplitQuery, rules: readonly CallRule[]): SplitQuery {
  const { select } = query
  if (select === undefined) return query
  const fields = rules.flatMap((rule) => rule.fields ?? [])
  return { ...query, select: [...new Set([...select, ...fields])] }
}

/** Returns a query with the conditions of rules: one on a field of its filter applies as well. */
export function addConditions(query: SplitQuery, rules: readonly CallRule[]): SplitQuery {
  const filter = { ...query.filter }
  for (const { filter: own = {} } of rules) {
    const isApart = !Object.keys(own).some((name) => Object.hasOwn(filter, name))
    if (isApart) Object.assign(filter, own)
    else filter['$and'] = [...(filter['$and'] ?? []), own]
  }
  return { ...query, filter }
}
