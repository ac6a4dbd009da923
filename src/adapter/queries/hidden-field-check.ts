import { FieldNotQueryable } from '../../core/errors/coded-errors.ts'
import type { Query } from '../../core/params.ts'
import { RESULT_NAMES } from '../../core/query-names.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { relate } from '../field-path.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { isObjectId } from '../object-id.ts'
import { findSearchLeak, isTextSearch, readSelect, readSort } from './query-filters.ts'
import { LOGICAL, REFUSED } from './query-operators.ts'

/** Operators that hold conditions on the same field, or on fields of its items. */
const NESTING: ReadonlySet<string> = new Set(['$not', '$elemMatch'])

/** Operators that reveal nothing about the contents of a field. */
const OUTLINE: ReadonlySet<string> = new Set(['$exists', '$size', '$type'])

/** Operators that read fields named inside their value, or all fields. */
const READS_ANY_FIELD: ReadonlySet<string> = new Set([...REFUSED, '$text'])

/** Top-level names of a query that are not conditions. */
const NO_CONDITION: ReadonlySet<string> = new Set([...RESULT_NAMES, '$comment', '$sampleRate'])

/**
 * Checks that a sanitized query of an external call does not use hidden fields.
 * @throws {BadRequest} it does, or it uses an operator that can read any field; the message names the field
 *   or operator as the caller wrote it
 */
export function checkHiddenQuery(query: Query, settings: MongoDBSettings): void {
  const { hidden, filters } = settings
  const { $select, $sort } = query
  for (const path of ($select ?? []) as readonly string[]) {
    if (relate(path, hidden) === 'inside') refuse(path)
  }
  for (const path of Object.keys($sort ?? {})) if (relate(path, hidden) !== 'apart') refuse(path)
  for (const [name, value] of Object.entries(query)) {
    if (isTextSearch(name, settings) && findSearchLeak(settings) !== undefined) refuseOperator(name)
    const isFilter = NO_CONDITION.has(name) || Object.hasOwn(filters, name)
    if (isFilter && !READS_ANY_FIELD.has(name) && !LOGICAL.has(name)) continue
    checkCondition(name, value, '', hidden)
  }
}

/**
 * Checks a query of an external call that was not sanitized.
 * @throws {BadRequest} as {@link checkHiddenQuery}, or `$select` or `$sort` is malformed: other forms
 *   of them could name a hidden field as well
 */
export function checkRawQuery(query: Query, settings: MongoDBSettings): void {
  const { $select, $sort, ...conditions } = query
  const read = { $select: readSelect($select), $sort: readSort($sort) }
  checkHiddenQuery({ ...conditions, ...read }, settings)
}

/**
 * Checks conditions on a field or on the items of a list, as `$elemMatch` and `$pull` take them.
 * @throws {BadRequest} as {@link checkHiddenQuery}
 */
export function checkHiddenConditions(
  conditions: unknown,
  path: string,
  hidden: readonly string[],
): void {
  if (!isPlainObject(conditions)) checkOperand(conditions, path, hidden)
  else {
    for (const [name, value] of Object.entries(conditions)) {
      checkCondition(name, value, path, hidden)
    }
  }
}

/** @param path the field that the condition is on, `''` for the record */
function checkCondition(
  name: string,
  value: unknown,
  path: string,
  hidden: readonly string[],
): void {
  if (LOGICAL.has(name)) {
    // The option `filters` may have replaced `$or` by another value, which the server checks.
    const items: readonly unknown[] = Array.isArray(value) ? value : []
    for (const item of items) checkHiddenConditions(item, path, hidden)
  } else if (!name.startsWith('$')) {
    checkField(path === '' ? name : `${path}.${name}`, value, hidden)
  } else if (path === '' || READS_ANY_FIELD.has(name)) {
    refuseOperator(name)
  } else if (NESTING.has(name)) checkHiddenConditions(value, path, hidden)
  else if (!OUTLINE.has(name)) checkOperand(value, path, hidden)
}

function checkField(path: string, value: unknown, hidden: readonly string[]): void {
  if (relate(path, hidden) === 'inside') refuse(path)
  if (isConditions(value)) checkHiddenConditions(value, path, hidden)
  else checkOperand(value, path, hidden)
}

/** Whether the server reads an object as operators, not as a value to compare with. */
function isConditions(value: unknown): boolean {
  if (!isPlainObject(value)) return false
  const names = Object.keys(value)
  return names.length > 0 && names.every((name) => name.startsWith('$'))
}

/** Rejects objects as operands: the comparison would include the hidden fields inside the field. */
function checkOperand(value: unknown, path: string, hidden: readonly string[]): void {
  if (relate(path, hidden) === 'apart') return
  const items = Array.isArray(value) ? value : [value]
  for (const item of items) {
    if (isPlainObject(item) && Object.hasOwn(item, '$elemMatch')) {
      checkHiddenConditions(item, path, hidden)
    } else if (!isWithoutFields(item)) refuse(path)
  }
}

/** Other BSON types are rejected: a `DBRef`, for example, contains fields. */
function isWithoutFields(value: unknown): boolean {
  if (!isObject(value)) return true
  return value instanceof Date || value instanceof RegExp || isObjectId(value)
}

function refuseOperator(name: string): never {
  throw new FieldNotQueryable(`The operator ${name} can read hidden fields and is not allowed`)
}

function refuse(path: string): never {
  throw new FieldNotQueryable(`The field '${path}' cannot be queried`)
}
