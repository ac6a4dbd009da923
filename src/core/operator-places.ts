import { changeParams } from './changed-params.ts'
import type { HookContext } from './hook-context.ts'
import type { Params } from './params.ts'

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
  readonly #services: ReadonlySet<unknown>
  readonly #places: OperatorPlace

  constructor(services: readonly unknown[], places: OperatorPlace) {
    this.#services = new Set(services)
    this.#places = places
  }

  /** Returns the places of a mark for a service, none for the marks of others and for anything else. */
  static read(mark: unknown, service: object): readonly OperatorPlace[] {
    if (typeof mark !== 'object' || mark === null || !(#places in mark)) return []
    return mark.#services.has(service) ? [mark.#places] : []
  }
}

/** Params that may carry marks, those of each schema that a call is checked by. */
interface MarkedParams extends Params {
  readonly [MARK]?: readonly unknown[]
}

/**
 * Allows operators in the query of a call at the places that a schema names. It holds for the service of
 * the call alone, also where a hook passes the params on to another one.
 */
export function allowOperators(
  context: Pick<HookContext, 'params' | 'service'> & { readonly self?: object | undefined },
  places: OperatorPlace,
): void {
  const params: MarkedParams = context.params
  // The adapter knows itself as the object that its method is called on.
  const mark = new OperatorMark([context.service, context.self], places)
  const changes: MarkedParams = { [MARK]: [...(params[MARK] ?? []), mark] }
  changeParams(context, changes)
}

/** Returns the places at which operators are allowed in the query of a call of a service. */
export function findOperatorPlaces(
  params: object | undefined,
  service: object,
): readonly OperatorPlace[] {
  const marks = (params as MarkedParams | undefined)?.[MARK]
  return marks === undefined ? [] : marks.flatMap((mark) => OperatorMark.read(mark, service))
}
