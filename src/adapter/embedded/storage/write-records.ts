import type { Document } from 'bson'
import { calculateObjectSize } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { duplicateKey } from '../errors/duplicate-key.ts'
import { MAX_DOCUMENT_BYTES } from '../limits/size-limits.ts'
import type { Updater } from '../updates/update.ts'
import { toUpsertBase, withId } from '../updates/upsert-base.ts'
import { isDocument, TYPE_ORDER, typeOrderOf } from '../values/bson-type.ts'
import { isEqual } from '../values/compare.ts'
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
    throw new CommandError(
      53,
      `The '_id' value cannot be of type ${type === TYPE_ORDER.array ? 'array' : 'regex'}`,
    )
  }
  if (isDocument(id) && Object.keys(id).some((name) => name.startsWith('$'))) {
    throw new CommandError(52, "The fields of '_id' must not start with '$'")
  }
  const bytes = calculateObjectSize(document, { ignoreUndefined: true })
  if (bytes > MAX_DOCUMENT_BYTES) {
    throw new CommandError(
      10334,
      `BSONObj size: ${bytes} is larger than ${MAX_DOCUMENT_BYTES} bytes`,
    )
  }
}
