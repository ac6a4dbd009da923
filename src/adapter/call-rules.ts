import type { CarriedRules, TransportParams } from '../core/transport-facts.ts'
import { CALL_RULES, changeParams } from '../core/transport-facts.ts'
import type { CallRule } from './adapter-call.ts'
import type { AskedCall } from './call-feature.ts'
import { CALL_FEATURES } from './call-feature.ts'
import type { MongoDBParams } from './mongodb-params.ts'

/**
 * A rule in params. It applies only to calls of one service, even if a hook passes the params on to others.
 */
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

/** The part of a context that rules need. */
interface RuledCall {
  readonly service: object
  /** The object that the method is called on: the adapter sees itself as that object. */
  readonly self: object
  params: object
  /** Missing from a copy of a context. */
  settleParams?(): void
}

/**
 * Sets the rule of a hook in the params of a call. It replaces an earlier rule of the same hook, since params
 * may be passed from call to call.
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

/** Returns the rules that hooks set for a call of a service. */
export function listHookRules(params: RuledParams, service: object): readonly CallRule[] {
  const rules: CallRule[] = []
  for (const { readFor } of params[CALL_RULES]?.list ?? []) {
    const rule = readFor(service)
    if (rule !== undefined) rules.push(rule)
  }
  return rules
}

const NO_RULES: readonly CallRule[] = []

/**
 * Returns the rules of hooks and of the service's features for a call.
 * @throws {ServiceError} a feature rejects the call
 */
export function findRules(asked: AskedCall): readonly CallRule[] {
  const { service, settings, params } = asked
  const isRuled = (params as RuledParams)[CALL_RULES] !== undefined
  let rules = isRuled ? listHookRules(params, service) : NO_RULES
  for (const { askedBy = {}, createRule } of service[CALL_FEATURES] ?? []) {
    const { option, param, member, names = [] } = askedBy
    let isAsked =
      (option !== undefined && settings[option] !== undefined) ||
      (param !== undefined && params[param] !== undefined) ||
      (member !== undefined && Reflect.get(service, member) === true)
    for (const name of names) isAsked ||= params.query?.[name] !== undefined
    const rule = isAsked ? createRule?.(asked) : undefined
    if (rule !== undefined) rules = [...rules, rule]
  }
  return rules
}
