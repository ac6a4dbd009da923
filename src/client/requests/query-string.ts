import { InvalidCall } from '../../core/errors/coded-errors.ts'
import type { Query } from '../../core/params.ts'
import { RESULT_NAMES } from '../../core/query-names.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { describeValue } from './request-body.ts'
import { encodeString, toSentForm } from './service-url.ts'

/** Names whose value is always a list, so that the server accepts one of any length. */
const LIST_NAMES: readonly string[] = ['$in', '$nin', '$all', '$or', '$and', '$nor', '$select']

/** Names that make a server read a nested object as a list. */
const LIST_KEY = /^(?:0|[1-9]\d*|\$empty)$/

/** No server reads deeper; a circular object would never end. */
const MAX_DEPTH = 100

/** The place of a value in a query. */
interface Place {
  /** The key of the value in its object or list. */
  readonly name: string
  /** The full name of the parameter, encoded: `a%5Bb%5D`. */
  readonly encoded: string
  /** The path to the value, for errors: `query.a.b`. */
  readonly path: string
}

/**
 * Returns a query as a query string without `?`: `a[b]=1&c[0]=2`, percent-encoded. Numbers, booleans and dates become
 * strings, as a query string has nothing else. An empty list is `a[$empty]=`.
 * @param arrayLimit the longest list that the server recognizes anywhere
 * @throws {BadRequest} names the first part that a query string cannot hold, or that the server would read differently
 */
export function toQueryString(query: Query, arrayLimit: number): string {
  if (!isPlainObject(query)) throw new InvalidCall('params.query must be an object')
  const parameters: string[] = []
  const add = (value: unknown, { name, encoded, path }: Place, depth: number): void => {
    if (depth > MAX_DEPTH) throw new InvalidCall(`${path.slice(0, 80)}… is nested too deep`)
    const isList = Array.isArray(value)
    if (!isList && !(isPlainObject(value) && toSentForm(value) === undefined)) {
      parameters.push(`${encoded}=${encodeString(toText(value, path), path)}`)
      return
    }
    // `Object.entries` of a list would skip its holes.
    const entries = isList ? [...value.entries()] : Object.entries(value)
    const { length } = entries
    if (length === 0) {
      if (!isList) throw new InvalidCall(`${path} is an empty object, which cannot be sent`)
      parameters.push(`${encoded}%5B%24empty%5D=`)
      return
    }
    if (isList && length > arrayLimit && !LIST_NAMES.includes(name)) {
      throw new InvalidCall(
        `${path} has ${length} items, more than ${arrayLimit}: use $in, or arrayLimit of both sides`,
      )
    }
    for (const [key, inner] of entries) {
      const innerPath = isList ? `${path}[${key}]` : `${path}.${key}`
      if (!isList && LIST_KEY.test(String(key))) {
        throw new InvalidCall(`${innerPath} cannot be sent: the server would read a list`)
      }
      const innerName = isList ? name : String(key)
      const innerKey = isList ? key : encodeName(innerName, innerPath)
      const place = { name: innerName, encoded: `${encoded}%5B${innerKey}%5D`, path: innerPath }
      add(inner, place, depth + 1)
    }
  }
  for (const [name, value] of Object.entries(query)) {
    if ((RESULT_NAMES as readonly string[]).includes(name) && isNotGiven(name, value)) continue
    const path = `query.${name}`
    add(value, { name, encoded: encodeName(name, path), path }, 0)
  }
  return parameters.join('&')
}

/** Returns whether leaving a value out changes nothing: services also read `$limit: undefined` as no limit. */
function isNotGiven(name: string, value: unknown): boolean {
  return (
    value === undefined ||
    (name === '$sort' && isPlainObject(value) && Object.keys(value).length === 0)
  )
}

function encodeName(name: string, path: string): string {
  if (name === '') throw new InvalidCall(`${path} has a name that is empty`)
  if (/[[\]]/.test(name)) throw new InvalidCall(`${path} has a name with brackets`)
  return encodeString(name, path)
}

/** Returns the string that a single value is sent as. */
function toText(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || typeof value === 'bigint' || Number.isFinite(value)) {
    return String(value)
  }
  // `toJSON` of an invalid date returns null.
  const form = isObject(value) ? toSentForm(value) : undefined
  if (form !== undefined && !isObject(form)) return toText(form, path)
  const reason = value === null ? "is '' in a query" : 'a query cannot hold'
  throw new InvalidCall(`${path} is ${describeValue(value)}, which ${reason}`)
}
