import type { HookContext } from './hooks/hook-context.ts'
import type { Params, Query } from './params.ts'
import { changeParams } from './transport-facts.ts'
import { isPlainObject } from './value-kind.ts'

/** The operators that a schema names for one object of a query and for the objects inside it. */
export interface OperatorPlace {
  /** The operators by name, and the places inside the values of fields. */
  readonly names: ReadonlyMap<string, OperatorPlace>
  /** The place of each item, if the value is a list. */
  readonly items: OperatorPlace | undefined
}

// A symbol: external callers cannot send one, and a copy of params, `{ ...params, query }`, keeps it.
const MARK = Symbol('allowed operators')

/**
 * Returns the places where operators are allowed for a service, none for any other than that of the call. A function: a
 * log of params does not show what it holds, and JSON cannot forge it.
 */
type OperatorMark = (service: object) => readonly OperatorPlace[]

/** Params that may carry marks, one for each schema that checks the call. */
interface MarkedParams extends Params {
  [MARK]?: readonly unknown[]
}

/** A method call whose query has been checked. */
type CheckedCall = Pick<HookContext, 'params' | 'service'> & {
  readonly self?: object | undefined
}

/**
 * Sets the checked query of a call, and allows operators at the places that its schema names. They are
 * allowed only for the service of the call, even if a hook passes the params on to another service.
 */
export function setCheckedQuery(
  context: CheckedCall,
  query: Query,
  places: OperatorPlace | undefined,
): void {
  const { params, service, self } = context
  const allowed = places === undefined ? [] : [places]
  // The adapter sees itself as the object that its method is called on.
  const mark: OperatorMark = (one) => (one === service || one === self ? allowed : [])
  const { [MARK]: others = [] } = params as MarkedParams
  changeParams(context, { query, [MARK]: [...others, mark] })
}

/** Returns the places at which operators are allowed in the query of a call of a service. */
export function findOperatorPlaces(
  params: object | undefined,
  service: object,
): readonly OperatorPlace[] {
  const { [MARK]: marks = [] } = (params ?? {}) as MarkedParams
  return marks.flatMap((mark) =>
    typeof mark === 'function' ? (mark as OperatorMark)(service) : [],
  )
}

const DIGITS = /^[0-9]+$/

/**
 * Returns a value as a list: an array, or an object whose keys are indexes, which query string parsers
 * produce for long lists. `undefined` for anything else.
 */
export function toList(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (!isPlainObject(value)) return undefined
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => DIGITS.test(key)) ? Object.values(value) : undefined
}
