import type { OperatorPlace } from '../../core/checked-query.ts'

/** Operators that join conditions, each with a list of them. */
export const LOGICAL: ReadonlySet<string> = new Set(['$or', '$and', '$nor'])

/** Operators that compare one field, and so never stand where a field name is expected. */
export const COMPARING: ReadonlySet<string> = new Set([
  ...['$eq', '$ne', '$in', '$nin', '$lt', '$lte', '$gt', '$gte'],
])

/** Operators that run code or expressions: no schema allows them, and nobody is told how to. */
export const REFUSED: ReadonlySet<string> = new Set([
  ...['$where', '$expr', '$function', '$accumulator', '$jsonSchema'],
])

/** Where in a query a check is, and what the schemas of the query name there. */
export interface QueryPlace {
  /** How many objects and lists are around it. */
  readonly depth: number
  /** The field that it is about: the closest one around it, or the name at the top. */
  readonly field: string
  /** What schemas name at exactly this place. */
  readonly own: readonly OperatorPlace[]
  /** What they name for the fields of the record: inside of `$or` the fields are the same ones. */
  readonly outer: readonly OperatorPlace[]
}

const NONE: readonly never[] = []

/** Returns the top of a query whose schemas name operators. */
export function createTop(own: readonly OperatorPlace[]): QueryPlace {
  return { depth: 0, field: '', own, outer: NONE }
}

/** Returns the place of the value of a field or an operator. */
export function getValuePlace(place: QueryPlace, name: string): QueryPlace {
  const own = below(allOf(place), name)
  return { depth: place.depth + 1, field: getField(place, name), own, outer: NONE }
}

/** Returns the place of the items of a list. */
export function getItemPlace({ depth, field, own }: QueryPlace): QueryPlace {
  return { depth: depth + 1, field, own: itemsOf(own), outer: NONE }
}

/** Returns the place of the conditions in the list of `$or`, `$and` or `$nor`. */
export function getConditionsPlace(place: QueryPlace, name: string): QueryPlace {
  const outer = allOf(place)
  const own = itemsOf(below(outer, name))
  return { depth: place.depth + 1, field: getField(place, name), own, outer }
}

/** Returns whether a schema names an operator for the object at a place. */
export function isNamedAt({ own, outer }: QueryPlace, operator: string): boolean {
  if (REFUSED.has(operator)) return false
  const places = LOGICAL.has(operator) ? allOf({ own, outer }) : own
  return places.some(({ names }) => names.has(operator))
}

function getField({ depth, field }: QueryPlace, name: string): string {
  return depth > 0 && name.startsWith('$') ? field : name
}

function allOf({ own, outer }: Pick<QueryPlace, 'own' | 'outer'>): readonly OperatorPlace[] {
  return outer.length === 0 ? own : [...own, ...outer]
}

function below(places: readonly OperatorPlace[], name: string): readonly OperatorPlace[] {
  return places.length === 0 ? NONE : places.flatMap(({ names }) => names.get(name) ?? NONE)
}

function itemsOf(places: readonly OperatorPlace[]): readonly OperatorPlace[] {
  return places.length === 0 ? NONE : places.flatMap(({ items }) => items ?? NONE)
}
