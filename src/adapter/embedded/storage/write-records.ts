import type { Document } from 'bson'
import { calculateObjectSize, ObjectId, serialize } from 'bson'
import { isDocument, TYPE_ORDER, typeOrderOf } from '../../matching/bson-type.ts'
import { CommandError } from '../../matching/command-error.ts'
import { compareStrings, isEqual, keysOf } from '../../matching/compare.ts'
import { clone } from '../../matching/field-paths.ts'
import { isRegex } from '../../matching/regular-expression.ts'
import { duplicateKey } from '../errors.ts'
import { MAX_DOCUMENT_BYTES } from '../limits.ts'
import { prepareDocument } from '../protocol/message.ts'
import { conditionsOf } from '../queries/conditions.ts'
import { modifyField } from '../updates/field-changes.ts'
import type { Updater } from '../updates/update.ts'
import { checkConflicts } from '../updates/update.ts'
import type { View } from './collection.ts'
import type { Entry } from './select-records.ts'

/** One planned change, not yet applied. */
export interface PlannedUpdate {
  readonly key: string
  readonly before: Document
  readonly after: Document
  /** Why the change fails. No other is planned after it. */
  readonly error?: unknown
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

/** Returns the result of an update for each entry, up to the first error, without storing it. */
export function planUpdates(entries: readonly Entry[], update: Updater): PlannedUpdate[] {
  const planned: PlannedUpdate[] = []
  for (const [key, before] of entries) {
    try {
      planned.push({ key, before, after: update(before, false) })
    } catch (error) {
      return [...planned, { key, before, after: before, error }]
    }
  }
  return planned
}

/** Returns the document that an upsert creates if nothing matched, without storing it. */
export function planUpsert(filter: Document, update: Updater, isReplacement: boolean): Document {
  return withId(update(toUpsertBase(filter, isReplacement), true))
}

/**
 * Stores planned updates and returns how many documents have changed. As in MongoDB, changes before an error
 * stay: outside of a transaction nothing is rolled back.
 */
export function applyUpdates(view: View, updates: readonly PlannedUpdate[]): number {
  const changed = updates.filter(
    // The number 1 and Decimal128 1 are equal, but not identical.
    ({ before, after, error }) =>
      error !== undefined ||
      !isEqual(before, after) ||
      Buffer.compare(serialize(before), serialize(after)) !== 0,
  )
  // Checked before the first write: a statement that has to wait runs again as a whole.
  for (const { key, after } of changed) view.check(key, after)
  for (const { key, after, error } of changed) {
    if (error !== undefined) throw error
    checkDocument(after)
    view.put(key, after)
  }
  return changed.length
}

/** How deep a stored document may be: MongoDB reserves twenty levels for replies that wrap it. */
const MAX_STORED_LEVELS = 180

/** @throws {CommandError} 15, 52, 53, 10334 the document cannot be stored */
function checkDocument(document: Document): void {
  prepareDocument(document, MAX_STORED_LEVELS)
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

/**
 * Returns the document an upsert starts from: the equalities of its filter, ordered by their paths.
 * @throws {CommandError} 54, 111 two of them conflict, or a replacement's is part of `_id`
 */
function toUpsertBase(filter: Document, isReplacement: boolean): Document {
  const base: Document = {}
  const equalities = readEqualities(filter).filter(
    ([path]) => !isReplacement || path.split('.')[0] === '_id',
  )
  const paths = equalities.map(([path]) => path)
  checkConflicts(paths, 54)
  if (isReplacement && paths.some((path) => path !== '_id')) {
    throw new CommandError(111, "The field '_id' must be given as a whole")
  }
  for (const [path, value] of equalities.toSorted(([a], [b]) => compareStrings(a, b))) {
    modifyField(base, path.split('.'), 'create', () => clone(value))
  }
  return base
}

/** Returns a document to store, with `_id` as its first field. */
function withId({ _id = new ObjectId(), ...fields }: Document): Document {
  return { _id, ...fields }
}

/** Returns the fields that a filter requires to equal one value. */
function readEqualities(filter: Document): [path: string, value: unknown][] {
  const conditions = conditionsOf(filter, (clauses) => (clauses.length === 1 ? clauses : []))
  return conditions.flatMap(({ path, operator, operand }): [string, unknown][] => {
    if (operator === '$eq') return [[path, operand]]
    const list: unknown[] = operator === '$in' && Array.isArray(operand) ? operand : []
    return keysOf(list).size === 1 && !isRegex(list[0]) ? [[path, list[0]]] : []
  })
}
