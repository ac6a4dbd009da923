import type { Document } from 'bson'
import { calculateObjectSize, ObjectId } from 'bson'
import { CommandError, duplicateKey } from '../errors.ts'
import { MAX_DOCUMENT_BYTES } from '../limits.ts'
import { isOperators } from '../queries/filter.ts'
import { modifyField } from '../updates/field-changes.ts'
import type { Updater } from '../updates/update.ts'
import { isDocument, TYPE_ORDER, typeOrderOf } from '../values/bson-type.ts'
import { isEqual } from '../values/compare.ts'
import { clone } from '../values/field-paths.ts'
import { isRegex } from '../values/regular-expression.ts'
import type { View } from './collection.ts'
import type { Entry } from './select-records.ts'

/** One change that has been worked out and not been made yet. */
export interface PlannedUpdate {
  readonly key: string
  readonly before: Document
  readonly after: Document
}

/** Stores a new document and returns it, with an `_id`. */
export function insertDocument(view: View, document: Document): Document {
  const stored = withId(document)
  checkDocument(stored)
  const key = view.collection.keyOf(stored._id)
  view.check(key, stored)
  if (view.get(key) !== undefined) {
    const keyValue = { _id: stored._id }
    throw duplicateKey(view.collection.namespace, '_id_', { _id: 1 }, keyValue)
  }
  view.put(key, stored)
  return stored
}

/** Returns what an update makes of each entry, without storing it. */
export function planUpdates(entries: readonly Entry[], update: Updater): PlannedUpdate[] {
  return entries.map(([key, before]) => ({ key, before, after: update(before, false) }))
}

/** Returns the document an upsert makes where nothing matched, without storing it. */
export function planUpsert(filter: Document, update: Updater, isReplacement: boolean): Document {
  return withId(update(toUpsertBase(filter, isReplacement), true))
}

/** Stores planned updates and returns how many documents have changed. */
export function applyUpdates(view: View, updates: readonly PlannedUpdate[]): number {
  const changed = updates.filter(({ before, after }) => !isEqual(before, after))
  for (const { after } of changed) checkDocument(after)
  // Checked before the first write: a statement that has to wait is run again as a whole.
  for (const { key, after } of changed) view.check(key, after)
  for (const { key, after } of changed) view.put(key, after)
  return changed.length
}

/** @throws {CommandError} 53, 10334 the document must not be stored */
function checkDocument(document: Document): void {
  const id: unknown = document._id
  const type = typeOrderOf(id)
  if (type === TYPE_ORDER.array || type === TYPE_ORDER.regex || id === undefined) {
    const message = `The '_id' value cannot be of type ${type === TYPE_ORDER.array ? 'array' : 'regex'}`
    throw new CommandError(53, message)
  }
  if (isDocument(id) && Object.keys(id).some((name) => name.startsWith('$'))) {
    throw new CommandError(52, "The fields of '_id' must not start with '$'")
  }
  const bytes = calculateObjectSize(document, { ignoreUndefined: true })
  if (bytes > MAX_DOCUMENT_BYTES) {
    const message = `BSONObj size: ${bytes} is larger than ${MAX_DOCUMENT_BYTES} bytes`
    throw new CommandError(10334, message)
  }
}

/** Returns the document an upsert starts from: the equalities of its filter. */
function toUpsertBase(filter: Document, isReplacement: boolean): Document {
  const base: Document = {}
  for (const [path, value] of readEqualities(filter)) {
    const isWanted = !isReplacement || path === '_id'
    if (isWanted) modifyField(base, path.split('.'), true, () => clone(value))
  }
  return base
}

/** Returns a document to be stored: with an `_id`, which is its first field. */
function withId({ _id = new ObjectId(), ...fields }: Document): Document {
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
