import type { HookContext } from './hooks/hook-context.ts'
import type { Params, Query } from './params.ts'
import { changeParams } from './transport-facts.ts'
import { isObject, isPlainObject } from './value-kind.ts'

/** The operators that a schema names for one object of a query, and what it names inside of it. */
export interface OperatorPlace {
  /** What the schema has for each name: operators, and fields with what is named in their values. */
  readonly names: ReadonlyMap<string, OperatorPlace>
  /** What it has for each item, where the value is a list. */
  readonly items: OperatorPlace | undefined
}

// A symbol: no caller outside can send one, and a copy of params, `{ ...params, query }`, keeps it.
const MARK = Symbol('allowed operators')

/** Whom operators are allowed for. Private, so that a log of params does not show the service. */
class OperatorMark {
  readonly #services = new WeakSet<object>()
  readonly #places: OperatorPlace

  constructor(places: OperatorPlace) {
    this.#places = places
  }

  /** Allows the operators for the service of a call. */
  allowFor({ service, self }: Pick<CheckedCall, 'service' | 'self'>): void {
    // The adapter knows itself as the object that its method is called on.
    for (const callee of [service, self]) if (isObject(callee)) this.#services.add(callee)
  }

  /** Returns the places of a mark for a service, none for the marks of others and for anything else. */
  static read(mark: unknown, service: object): readonly OperatorPlace[] {
    if (typeof mark !== 'object' || mark === null || !(#places in mark)) return []
    return mark.#services.has(service) ? [mark.#places] : []
  }
}

/** Places with their mark: to make one for each call would cost as much as to check it. */
interface MarkedPlace extends OperatorPlace {
  readonly [MARK]?: readonly [OperatorMark]
}

/** Params that may carry marks, those of each schema that a call is checked by. */
interface MarkedParams extends Params {
  [MARK]?: readonly unknown[]
}

/** The call of a method, whose query has been checked. */
type CheckedCall = Pick<HookContext, 'params' | 'service'> & {
  readonly self?: object | undefined
}

/**
 * Sets the query of a call that a schema has checked, and allows operators at the places that the schema
 * names. That holds for the service of the call alone, also where a hook passes the params on to another
 * one.
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

/** Not enumerable: a copy of the places is of another schema. */
function addMark(places: OperatorPlace): readonly [OperatorMark] {
  const value = [new OperatorMark(places)] as const
  Object.defineProperty(places, MARK, { value })
  return value
}

const DIGITS = /^[0-9]+$/

/**
 * Returns the list that a value is: an array, or an object whose keys are indexes, as query string
 * parsers make it of long lists. `undefined` for anything else.
 */
export function toList(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (!isPlainObject(value)) return undefined
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => DIGITS.test(key)) ? Object.values(value) : undefined
}
