import type { Document } from 'mongodb'
import { InvalidQuery } from '../../core/errors/coded-errors.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { relate, withoutPositions } from '../field-path.ts'
import { isDocument } from '../matching/bson-type.ts'
import { isEqual } from '../matching/compare.ts'
import { getField, isIndex } from '../matching/field-paths.ts'
import { compileJudge, toCompared } from '../queries/judge.ts'
import { LOGICAL } from '../queries/query-operators.ts'

/** A condition on the records of a call: on a field, or an operator such as `$or`. */
export interface LimitCondition {
  readonly name: string
  /** The paths of the fields that it reads, without places in lists; `null` for any. */
  readonly fields: readonly string[] | null
  /** The one value that it allows for a top-level field, as a list with one entry; empty if it allows several. */
  readonly demanded: readonly (readonly [name: string, value: unknown])[]
  /**
   * Returns whether a record is sure to match. Compiled by the first call.
   * @param record as {@link toCompared} returns it
   * @param isKnown whether the record has the field of a path as it will be stored. Unknown fields do not count as
   *   missing.
   * @throws {TypeError} only the database can tell whether it matches
   */
  readonly matches: Matches
}

type Matches = (record: Document, isKnown: (path: string) => boolean) => boolean

/**
 * Returns the conditions of a filter that must all hold, with those inside `$and` one by one.
 *
 * They are stricter than a query, in which one item of a list is enough: with `{ ownerId: 'ann' }` or
 * `{ 'team.id': 'ann' }`, a stored list would be a record with several owners.
 */
export function readLimit(filter: Document): LimitCondition[] {
  return listEntries(filter).map(([name, value]) => {
    let compiled: Matches | undefined
    return {
      name,
      fields: listFields({ [name]: value }),
      demanded: readDemanded(name, value),
      matches(record, isKnown) {
        compiled ??= compileCondition(name, value)
        return compiled(record, isKnown)
      },
    }
  })
}

/** Returns the paths of the fields that a filter reads, without places in lists; `null` if it may read any. */
export function listFields(filter: Document): string[] | null {
  const all: string[] = []
  for (const [name, value] of Object.entries(filter)) {
    if (!name.startsWith('$')) all.push(withoutPositions(name))
    else if (LOGICAL.has(name) && isFilterList(value)) {
      for (const one of value) {
        const fields = listFields(one)
        if (fields === null) return null
        all.push(...fields)
      }
    } else return null
  }
  return all
}

/**
 * Checks the query of an upsert, whose conditions become values of the record that it adds.
 * @param fields paths of fields that a caller must not set in this way
 * @throws {BadRequest} it has a condition on one of them
 */
export function checkUpsertQuery(given: Document, fields: readonly string[]): void {
  const asked = listFields(given)
  const field = fields.find((one) => asked === null || relate(one, asked) !== 'apart')
  if (field === undefined) return
  throw new InvalidQuery(`The query of an upsert cannot have a condition on '${field}'`)
}

function listEntries(filter: Document): [name: string, value: unknown][] {
  return Object.entries(filter).flatMap(([name, value]): [string, unknown][] =>
    name === '$and' && isFilterList(value) ? value.flatMap(listEntries) : [[name, value]],
  )
}

function isFilterList(value: unknown): value is Document[] {
  return Array.isArray(value) && value.every(isPlainObject)
}

function readDemanded(name: string, value: unknown): LimitCondition['demanded'] {
  if (name.startsWith('$') || name.includes('.')) return []
  const { exact, others } = splitEquality(value)
  return exact !== undefined && others === undefined ? [[name, exact]] : []
}

/** Returns the exact value that a condition of a field demands, and its other operators. */
function splitEquality(value: unknown): { readonly exact?: unknown; readonly others?: unknown } {
  if (value instanceof RegExp) return { others: value }
  const isOperators = isPlainObject(value) && Object.keys(value)[0]?.startsWith('$') === true
  if (!isOperators) return { exact: value }
  if (!Object.hasOwn(value, '$eq')) return { others: value }
  const { $eq: exact, ...others } = value
  return Object.keys(others).length === 0 ? { exact } : { exact, others }
}

function compileCondition(name: string, value: unknown): Matches {
  if (name === '$or' && isFilterList(value)) {
    const alternatives = value.map((one) =>
      listEntries(one).map((entry) => compileCondition(...entry)),
    )
    return (record, isKnown) =>
      alternatives.some((all) => all.every((matches) => matches(record, isKnown)))
  }
  const fields = listFields({ [name]: value }) ?? []
  const matches = compileField(name, value)
  return (record, isKnown) => fields.every(isKnown) && matches(record)
}

function compileField(name: string, value: unknown): (record: Document) => boolean {
  const { exact, others } = name.startsWith('$') ? { others: value } : splitEquality(value)
  const judge = others === undefined ? undefined : judgeOf(name, others)
  if (exact === undefined) return judge ?? (() => false)
  const { expected } = toCompared({ expected: exact })
  const parts = name.split('.')
  return (record) => {
    const found = readExactly(record, parts)
    return found !== SEVERAL && isEqual(found, expected) && (judge?.(record) ?? true)
  }
}

function judgeOf(name: string, condition: unknown): (record: Document) => boolean {
  try {
    return compileJudge({ [name]: condition })
  } catch (cause) {
    throw new HookError(`limitTo(): only the database can tell what matches '${name}'`, { cause })
  }
}

/** The value of a path that leads through a list: for the database, these are the values of all items. */
const SEVERAL: unique symbol = Symbol('several values')

/** Returns the value of a path, `undefined` for none, `SEVERAL` if there is a list on the path. */
function readExactly(record: Document, parts: readonly string[]): unknown {
  let value: unknown = record
  for (const part of parts) {
    if (Array.isArray(value)) {
      // The part is an index of the list, unless an item has a field of that name.
      const hasField = value.some(
        (item) => typeof item === 'object' && item !== null && part in item,
      )
      if (!isIndex(part) || hasField) return SEVERAL
      value = value[Number(part)]
    } else if (isDocument(value)) value = getField(value, part)
    else return undefined
  }
  return value
}
