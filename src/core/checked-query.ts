import type { HookContext } from './hooks/hook-context.ts'
import type { Params, Query } from './params.ts'
import { changeParams } from './transport-facts.ts'
import { isObject, isPlainObject } from './value-kind.ts'

/** The operators that a schema names for one object of a query and for the objects inside it. */
export interface OperatorPlace {
  /** The operators by name, and the places inside the values of fields. */
  readonly names: ReadonlyMap<string, OperatorPlace>
  /** The place of each item, if the value is a list. */
  readonly items: OperatorPlace | undefined
}

// A symbol: external callers cannot send one, and a copy of params, `{ ...params, query }`, keeps it.
const MARK = Symbol('allowed operators')

/** The service that the operators are allowed for. Private, so that a log of params does not show it. */
class OperatorMark {
  readonly #services = new WeakSet<object>()
  readonly #places: OperatorPlace

  constructor(places: OperatorPlace) {
    this.#places = places
  }

  /** Allows the operators for the service of a call. */
  allowFor({ service, self }: Pick<CheckedCall, 'service' | 'self'>): void {
    // The adapter sees itself as the object that its method is called on.
    for (const callee of [service, self]) if (isObject(callee)) this.#services.add(callee)
  }

  /** Returns the places of a mark for its service, none for other services and other values. */
  static read(mark: unknown, service: object): readonly OperatorPlace[] {
    if (typeof mark !== 'object' || mark === null || !(#places in mark)) return []
    return mark.#services.has(service) ? [mark.#places] : []
  }
}

/** Places with their mark: creating one per call would cost as much as the check. */
interface MarkedPlace extends OperatorPlace {
  readonly [MARK]?: readonly [OperatorMark]
}

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
  const params: MarkedParams = context.params
  const marks = places === undefined ? params[MARK] : toMarks(places, context)
  changeParams<MarkedParams>(context, marks === undefined ? { query } : { query, [MARK]: marks })
}

/** Returns the places at which operators are allowed in the query of a call of a service. */
export function findOperatorPlaces(
  params: object | undefined,
  service: object,
): readonly OperatorPlace[] {
  const marks = (params as MarkedParams | undefined)?.[MARK]
  return marks === undefined ? [] : marks.flatMap((mark) => OperatorMark.read(mark, service))
}

function toMarks(places: OperatorPlace, context: CheckedCall): readonly unknown[] {
  const marks = (places as MarkedPlace)[MARK] ?? addMark(places)
  marks[0].allowFor(context)
  const others = (context.params as MarkedParams)[MARK]
  return others === undefined ? marks : [...others, ...marks]
}

/** Not enumerable: a copy of the places belongs to another schema. */
function addMark(places: OperatorPlace): readonly [OperatorMark] {
  const value = [new OperatorMark(places)] as const
  Object.defineProperty(places, MARK, { value })
  return value
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
