import type { Document } from 'bson'
import { ObjectId } from 'bson'
import { isOperators } from '../queries/filter.ts'
import { clone } from '../values/field-paths.ts'
import { isRegex } from '../values/regular-expression.ts'
import { modifyField } from './modify-field.ts'

/** Returns the document an upsert starts from: the equalities of its filter. */
export function toUpsertBase(filter: Document, isReplacement: boolean): Document {
  const base: Document = {}
  for (const [path, value] of readEqualities(filter)) {
    const isWanted = !isReplacement || path === '_id'
    if (isWanted) modifyField(base, path.split('.'), true, () => clone(value))
  }
  return base
}

/** Returns a document to be stored: with an `_id`, which is its first field. */
export function withId({ _id = new ObjectId(), ...fields }: Document): Document {
  return { _id, ...fields }
}

/** Returns the fields that a filter says are equal to one value. */
function readEqualities(filter: Document): [string, unknown][] {
  return Object.entries(filter).flatMap(([name, condition]): [string, unknown][] => {
    const isAlone = Array.isArray(condition) && condition.length === 1
    if (name === '$and' || (name === '$or' && isAlone)) return condition.flatMap(readEqualities)
    if (name.startsWith('$') || isRegex(condition)) return []
    if (!isOperators(condition)) return [[name, condition]]
    if ('$eq' in condition) return [[name, condition.$eq]]
    const all: unknown = condition.$all
    return Array.isArray(all) && all.length === 1 && !isOperators(all[0]) ? [[name, all[0]]] : []
  })
}
