import type { OperatorPlace } from '../../core/checked-query.ts'
import { LOGICAL } from '../operator-names.ts'

/** Operators that run code or expressions: no schema allows them, and nobody is told how to. */
export const REFUSED: ReadonlySet<string> = new Set([
  ...['$where', '$expr', '$function', '$accumulator', '$jsonSchema'],
])

/** Where in a query a check is, and what the schemas of the query name there. */
export interface QueryPlace {
  /** How many objects and lists are around it. */
  readonly depth: number
  /** What schemas name at exactly this place. */
  readonly own: readonly OperatorPlace[]
  /** What they name for the fields of the record: inside of `$or` the fields are the same ones. */
  readonly outer: readonly OperatorPlace[]
}

const NONE: readonly never[] = []

/** Returns the top of a query whose schemas name operators. */
export function toTop(own: readonly OperatorPlace[]): QueryPlace {
  return { depth: 0, own, outer: NONE }
}

/** Returns the place of the value of a field or an operator. */
export function toValuePlace({ depth, own, outer }: QueryPlace, name: string): QueryPlace {
  return { depth: depth + 1, own: below([...own, ...outer], name), outer: NONE }
}

/** Returns the place of the items of a list. */
export function toItemPlace({ depth, own }: QueryPlace): QueryPlace {
  return { depth: depth + 1, own: itemsOf(own), outer: NONE }
}

/** Returns the place of the conditions in the list of `$or`, `$and` or `$nor`. */
export function toConditionsPlace({ depth, own, outer }: QueryPlace, name: string): QueryPlace {
  const all = [...own, ...outer]
  return { depth: depth + 1, own: itemsOf(below(all, name)), outer: all }
}

/** Returns whether a schema names an operator for the object at a place. */
export function isNamedAt({ own, outer }: QueryPlace, operator: string): boolean {
  if (REFUSED.has(operator)) return false
  const places = LOGICAL.has(operator) ? [...own, ...outer] : own
  return places.some(({ names }) => names.has(operator))
}

function below(places: readonly OperatorPlace[], name: string): readonly OperatorPlace[] {
  return places.length === 0 ? NONE : places.flatMap(({ names }) => names.get(name) ?? NONE)
}

function itemsOf(places: readonly OperatorPlace[]): readonly OperatorPlace[] {
  return places.length === 0 ? NONE : places.flatMap(({ items }) => items ?? NONE)
}
