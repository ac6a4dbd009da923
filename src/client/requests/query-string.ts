import { BadRequest } from '../../core/errors/index.ts'
import type { Query } from '../../core/params.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { encodeString, toSentForm } from './percent-encoding.ts'

/** What shapes the result beside the conditions: without it, the query matches the same records. */
const SHAPING: ReadonlySet<string> = new Set(['$limit', '$skip', '$sort', '$select'])

/** Names whose value is always a list, so that the server reads one of any length. */
const LIST_NAMES: ReadonlySet<string> = new Set([
  ...['$in', '$nin', '$all', '$or', '$and', '$nor', '$select'],
])

/** Names by which a server takes an object below the top for a list. */
const INDEX = /^(?:0|[1-9]\d*)$/

/** No server reads as deep; an object that contains itself would never end. */
const MAX_DEPTH = 100

/** A part of a query. */
interface Part {
  readonly value: unknown
  /** The name by which the value stands in its object, or the list that it is in. */
  readonly name: string
  /** The whole name of the parameter, encoded: `a%5Bb%5D`. */
  readonly encoded: string
  /** The way to the value, for errors: `query.a.b`. */
  readonly path: string
  readonly depth: number
}

/** What the parts of a query share. */
interface Serialization {
  readonly arrayLimit: number
  readonly parameters: string[]
}

/**
 * Returns a query as a query string without `?`: `a[b]=1&c[0]=2`, percent-encoded. Numbers, booleans
 * and dates become strings, which is all that a query string has.
 * @param arrayLimit the longest list that the server reads as one wherever it stands
 * @throws {BadRequest} names the first part that a query string can not hold, or that the server would
 *   read as something else
 */
export function toQueryString(query: Query, arrayLimit: number): string {
  if (!isPlainObject(query)) throw new BadRequest('params.query must be an object')
  const serialization: Serialization = { arrayLimit, parameters: [] }
  for (const [name, value] of Object.entries(query)) {
    if (SHAPING.has(name) && isNotGiven(name, value)) continue
    const path = `query.${name}`
    const encoded = encodeName(name, path)
    addPart({ value, name, encoded, path, depth: 0 }, serialization)
  }
  return serialization.parameters.join('&')
}

/** Whether leaving it out changes nothing: services read `$limit: undefined` as no limit as well. */
function isNotGiven(name: string, value: unknown): boolean {
  if (value === undefined) return true
  return name === '$sort' && isPlainObject(value) && Object.keys(value).length === 0
}

function addPart(part: Part, serialization: Serialization): void {
  const { value, path, encoded, depth } = part
  if (depth > MAX_DEPTH) throw new BadRequest(`${path.slice(0, 80)}… is nested too deep`)
  if (Array.isArray(value)) addList(part, value, serialization)
  else if (isPlainObject(value) && toSentForm(value) === undefined) {
    addObject(part, value, serialization)
  } else {
    const text = toText(value, path)
    serialization.parameters.push(`${encoded}=${encodeString(text, path)}`)
  }
}

function addList(part: Part, list: readonly unknown[], serialization: Serialization): void {
  const { name, path, depth } = part
  if (list.length === 0) throw createEmptyError(path, 'list')
  const { arrayLimit } = serialization
  if (list.length > arrayLimit && !LIST_NAMES.has(name)) {
    throw new BadRequest(
      `${path} has ${list.length} items, and the server reads a list of more than ${arrayLimit} as an object: use $in, or the option arrayLimit of both sides`,
    )
  }
  // A loop by `forEach` would leave out the gaps of the list.
  for (const [index, value] of list.entries()) {
    const encoded = `${part.encoded}%5B${index}%5D`
    addPart({ value, name, encoded, path: `${path}[${index}]`, depth: depth + 1 }, serialization)
  }
}

function addObject(part: Part, object: Query, serialization: Serialization): void {
  const entries = Object.entries(object)
  if (entries.length === 0) throw createEmptyError(part.path, 'object')
  for (const [name, value] of entries) {
    const path = `${part.path}.${name}`
    if (INDEX.test(name)) {
      throw new BadRequest(`${path} can not be sent: the server would read a list`)
    }
    const encoded = `${part.encoded}%5B${encodeName(name, path)}%5D`
    addPart({ value, name, encoded, path, depth: part.depth + 1 }, serialization)
  }
}

function encodeName(name: string, path: string): string {
  if (name === '') throw new BadRequest(`${path} has a name that is empty`)
  if (/[[\]]/.test(name)) throw new BadRequest(`${path} has a name with brackets`)
  return encodeString(name, path)
}

/** Returns the string that a single value is sent as. */
function toText(value: unknown, path: string): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'boolean':
    case 'bigint':
      return String(value)
    case 'number':
      if (Number.isFinite(value)) return String(value)
      throw new BadRequest(`${path} is ${value}, which is no value of a query`)
    case 'object':
      return toText(toSingleValue(value, path), path)
    default:
      throw new BadRequest(`${path} is ${toKind(value)}, which would be left out of the query`)
  }
}

function toSingleValue(value: object | null, path: string): unknown {
  if (value === null) {
    throw new BadRequest(
      `${path} is null, which is '' in a query, to a server with a schema for it`,
    )
  }
  // `toJSON` of an invalid date is null.
  const form = toSentForm(value)
  if (form !== undefined && !isObject(form)) return form
  const { name = 'unknown' } = (value.constructor ?? {}) as { name?: string }
  throw new BadRequest(`${path} is an object of the class ${name}, which has no form in a query`)
}

function toKind(value: unknown): string {
  return value === undefined ? 'undefined' : `a ${typeof value}`
}

function createEmptyError(path: string, kind: 'list' | 'object'): BadRequest {
  return new BadRequest(
    `${path} is an empty ${kind}, which a query string can not hold: without it, the query would match more`,
  )
}
