import type { Document } from 'mongodb'
import type { CarriedRules, TransportParams } from '../core/transport-facts.ts'
import { CALL_RULES, changeParams } from '../core/transport-facts.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { MongoDBParams, Operation } from './mongodb-params.ts'
import type { SplitQuery } from './queries/split-query.ts'
import type { WriteData } from './writes/write-data.ts'

/** What a hook says of the records of a call. */
export interface CallRule {
  /** Conditions of each command but those of `create`. They are code: nobody checks their operators. */
  readonly filter?: Document
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

/** A rule in params: for the calls of one service alone, wherever the params are passed on to. */
interface CarriedRule {
  readonly by: object
  // A function: a log of params does not show the service.
  readonly readFor: (service: object) => CallRule | undefined
}

/** The rules that params carry. */
class CallRules implements CarriedRules {
  readonly list: readonly CarriedRule[]
  /** The rules of the call that these replace. */
  readonly replaced: CallRules | undefined

  constructor(list: readonly CarriedRule[], replaced?: CallRules) {
    this.list = list
    this.replaced = replaced
  }

  /**
   * The rules of the call win, except over those that replace them: the new params may be those of another call, with
   * rules of the same hooks.
   */
  carry<P extends TransportParams>(to: P): P {
    const { list: given = [], replaced } = (to as RuledParams)[CALL_RULES] ?? {}
    if (replaced === this) return to
    // Inherited rules would be lost when hooks copy the params.
    const isOwn = Object.hasOwn(to, CALL_RULES)
    if (isOwn && this.list.every((rule) => given.includes(rule))) return to
    const others = given.filter(({ by }) => this.list.every((rule) => rule.by !== by))
    const rules = { [CALL_RULES]: new CallRules([...others, ...this.list]) }
    return Object.isExtensible(to) ? Object.assign(to, rules) : { ...to, ...rules }
  }
}

interface RuledParams extends MongoDBParams {
  [CALL_RULES]?: CallRules | undefined
}

/** The part of a context that has to do with rules. */
interface RuledCall {
  readonly service: object
  /** What the method is called on: the adapter knows itself as that. */
  readonly self: object
  params: object
  /** Missing from a copy of a context. */
  settleParams?(): void
}

/**
 * Puts the rule of a hook into the params of a call, in the place of the one that the same hook has said
 * there before: params may be passed on from call to call.
 * @param rule `undefined` for none
 */
export function setRule(context: RuledCall, by: object, rule: CallRule | undefined): void {
  const { service, self } = context
  context.settleParams?.()
  const replaced = (context.params as RuledParams)[CALL_RULES]
  const before = replaced?.list ?? []
  const rules = before.filter((one) => one.by !== by)
  if (rule === undefined && rules.length === before.length) return
  if (rule !== undefined) {
    rules.push({ by, readFor: (one) => (one === service || one === self ? rule : undefined) })
  }
  changeParams<RuledParams>(context, { [CALL_RULES]: new CallRules(rules, replaced) })
  context.settleParams?.()
}

const NO_RULES: readonly CallRule[] = []

/** Returns the rules for a call of a service. */
export function findRules(params: RuledParams, service: object): readonly CallRule[] {
  const carried = params[CALL_RULES]
  if (carried === undefined) return NO_RULES
  return carried.list.flatMap(({ readFor }) => readFor(service) ?? [])
}

/** Returns the data that a removal sets in place of removing, `null` where it removes. */
export function createMark(rules: readonly CallRule[]): Document | null {
  const field = rules.find(({ mark }) => mark !== undefined)?.mark
  return field === undefined ? null : { [field]: new Date() }
}

/** The part of an adapter call that all its writes share. */
interface WritingCall {
  readonly rules: readonly CallRule[]
  readonly settings: MongoDBSettings
  readonly given: Document
  readonly driver: { readonly upsert?: boolean | undefined }
  change: WriteData | undefined
}

const NOTHING_KEPT: WriteData = {}

/**
 * Returns the data that a write stores after the rules of its call, and the fields that a replacement keeps. The call
 * notes the data of a patch.
 * @throws {ServiceError} the record would break a rule
 */
export function applyRules(
  call: WritingCall,
  kind: RuledWrite['kind'],
  data: WriteData,
  id?: unknown,
): Pick<RuledWrite, 'data' | 'kept'> {
  const { rules, settings, given, driver } = call
  if (rules.length === 0) return { data, kept: NOTHING_KEPT }
  const isUpsert = driver.upsert === true
  let write: RuledWrite = { kind, data, id, isUpsert, settings, given, kept: NOTHING_KEPT }
  for (const { fill } of rules) write = fill?.(write) ?? write
  for (const { hold } of rules) write = hold?.(write) ?? write
  if (kind === 'patch') call.change = write.data
  return write
}

/** Returns a query with the conditions of rules: one on a field of its filter applies as well. */
export function addConditions(query: SplitQuery, rules: readonly CallRule[]): SplitQuery {
  if (rules.length === 0) return query
  const all = { ...query.filter }
  for (const { filter: own = {} } of rules) {
    const isApart = !Object.keys(own).some((name) => Object.hasOwn(all, name))
    if (isApart) Object.assign(all, own)
    else all['$and'] = [...(all['$and'] ?? []), own]
  }
  return { ...query, filter: all }
}
