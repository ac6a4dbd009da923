import type { Collection, Document } from 'mongodb'
import type { Page } from '../core/params.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { DriverOptions, MongoDBParams, Operation } from './mongodb-params.ts'
import type { AdapterId } from './object-id.ts'
import type { Pipeline } from './pipelines/pipeline-option.ts'
import type { SplitQuery } from './queries/split-query.ts'
import { resolveCallSettings } from './resolve-options.ts'
import type { WriteData } from './writes/write-data.ts'

/** The facts of a call that are known when it begins. */
export interface CallFacts {
  /** The options of the service, overridden by those of the params. */
  readonly settings: MongoDBSettings
  /** Whether the call comes through a transport. */
  readonly isExternal: boolean
  /** Fields that are left out of what the call returns. */
  readonly hidden: readonly string[]
}

const NOTHING: readonly string[] = []

/**
 * Returns the facts of a call that are known when it begins. Each method reads the options again: an
 * overriding method of a subclass may change them, even in place.
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
  /** How many ms the server may search for the records to write; `undefined` for no limit. */
  readonly searchLimitMs: number | undefined
  /** The rules that hooks and features set; their conditions are already in the query. */
  readonly rules: readonly CallRule[]
  /** The data of a patch after the rules, set by `applyRules()`: rules that see writes get it. */
  change: WriteData | undefined
}

/** What a hook or a feature adds to one call. Its steps run in the order of these members. */
export interface CallRule {
  /** Replaces the query of the params. */
  readonly query?: Document
  /** Fields that results contain even if `$select` does not name them. */
  readonly fields?: readonly string[]
  /**
   * Conditions for every command except those of `create`. They come from code, so their operators are not
   * checked.
   */
  readonly filter?: Document
  /** Changes the options for the driver. */
  readonly settle?: (driver: DriverOptions) => void
  /** Resolves to the result of `find`, instead of the usual one. */
  readonly find?: (call: AdapterCall) => Promise<Page<Document>>
  /** Returns a stored record as the result shows it. */
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
   * Removes from the data of a change what must not be stored.
   * @param isOne whether the call changes one record, not many
   * @throws {BadRequest} the data is not allowed
   */
  readonly take?: (data: WriteData, call: AdapterCall, isOne: boolean) => WriteData
  /** Returns a new document as it is stored. */
  readonly toNew?: (document: Document) => Document
  /** Returns the operators of a change as they are sent. */
  readonly toUpdate?: (update: Document) => Document
  /** Expressions for computed fields of a replacement. */
  readonly computed?: Document
  /** Returns the filter of a command that writes one record. */
  readonly aim?: (filter: Document) => Document
  /**
   * Called if such a command finds no record.
   * @throws {ServiceError} the reason, unless no record has the id
   */
  readonly explainMissing?: (call: AdapterCall, id: AdapterId) => Promise<void>
  /** Whether to keep removed records as they were stored. */
  readonly notesRemoved?: boolean
  /** Returns a marked record as it was before. */
  readonly unmark?: (record: Document) => Document
  /** Called with each write. */
  readonly onWritten?: (write: Write) => void
}

/** A completed write. */
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
  /** Whether the write adds a record if it finds none. */
  readonly isUpsert: boolean
  readonly settings: MongoDBSettings
  /** The conditions of the call, without those of rules. */
  readonly given: Document
  /**
   * Fields that a replacement keeps. The values are for a record that an upsert adds; `undefined` for none.
   */
  readonly kept: WriteData
}

const NOTHING_KEPT: WriteData = {}

/**
 * Returns the data that a write stores after the rules of its call, and the fields that a replacement keeps.
 * Also stores the data of a patch in the call.
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
 * Returns the data of a change without the parts that the call's rules do not store.
 * @throws {BadRequest} the data is not allowed
 */
export function takeData(call: AdapterCall, given: WriteData, isOne = true): WriteData {
  let data = given
  for (const rule of call.rules) data = rule.take?.(data, call, isOne) ?? data
  return data
}

/** The steps that turn one document into another. */
type DocumentStep = 'show' | 'toNew' | 'toUpdate' | 'aim' | 'unmark'

/** Returns a document after one step of all rules of a call. */
export function takeStep({ rules }: AdapterCall, step: DocumentStep, given: Document): Document {
  let document = given
  for (const rule of rules) document = rule[step]?.(document) ?? document
  return document
}

/** Returns the data that a removal sets instead of removing, `null` if it really removes. */
export function createMark(rules: readonly CallRule[]): Document | null {
  for (const { mark } of rules) if (mark !== undefined) return { [mark]: new Date() }
  return null
}

/** Returns a query whose `$select` includes the fields of the rules. */
export function addFields(query: SplitQuery, rules: readonly CallRule[]): SplitQuery {
  const { select } = query
  if (select === undefined) return query
  const fields = rules.flatMap((rule) => rule.fields ?? [])
  return { ...query, select: [...new Set([...select, ...fields])] }
}

/**
 * Returns a query with the conditions of the rules. A condition on a field that the filter also names applies
 * in addition.
 */
export function addConditions(query: SplitQuery, rules: readonly CallRule[]): SplitQuery {
  const filter = { ...query.filter }
  for (const { filter: own = {} } of rules) {
    const isApart = !Object.keys(own).some((name) => Object.hasOwn(filter, name))
    if (isApart) Object.assign(filter, own)
    else filter['$and'] = [...(filter['$and'] ?? []), own]
  }
  return { ...query, filter }
}
