import type { Query } from '../../core/index.ts'
import { BadRequest } from '../../core/index.ts'
import { decodeParameter } from '../routing/request-path.ts'

/** What is parsed, for error messages. */
export type QueryNoun = 'query' | 'body'

type Parse = (raw: string) => Query

/** What follows a closing bracket without opening another one, in a raw query: maybe in a value. */
const MAY_BE_CUT = /(?:\]|%5d)(?!\[|%5b|[=&]|$)/i

/**
 * Refuses a query of which the parser has lost a parameter: a condition that disappears would widen
 * what is read or written. Each parameter has to be a leaf of the result, whichever parser is used.
 * @param parse reads a part of the query as the parser has read all of it
 * @throws {BadRequest} names the first parameter that is lost
 */
export function checkParameters(raw: string, query: Query, parse: Parse, noun: QueryNoun): void {
  const isLossless = countLeaves(query) === countParameters(raw)
  if (isLossless && !MAY_BE_CUT.test(raw)) return
  const open = raw.replace(/%5b/gi, '[').replace(/%5d/gi, ']')
  const parameters = open.split('&').filter((parameter) => parameter !== '')
  for (const name of parameters.map(toName)) {
    const reason = toReason(name)
    if (reason !== null) throw createLossError(name, reason, noun)
  }
  if (isLossless) return
  throw createLossError(findConflict(parameters, parse), 'contradicts another one', noun)
}

/** @throws {BadRequest} no object of a parsed query may have this name */
export function checkName(name: string, noun: QueryNoun): void {
  if (name !== '' && !(name in Object.prototype)) return
  throw createLossError(name, toReason(name) ?? '', noun)
}

function createLossError(name: string, reason: string, noun: QueryNoun): BadRequest {
  return new BadRequest(`The ${noun} parameter ${quoteName(name)} ${reason}`)
}

/** Returns why no parameter may have a name, `null` if one may. */
function toReason(name: string): string | null {
  if (name === '') return 'has no name'
  if (isCut(name)) return 'has text after a bracket'
  const inherited = name.split(/[[\]]+/).find((part) => part !== '' && part in Object.prototype)
  return inherited === undefined ? null : `is not allowed: every object has a '${inherited}'`
}

/** Whether qs leaves out a part of a name: it reads `a[0].b` as `a[0]`. */
function isCut(name: string): boolean {
  const open = name.indexOf('[')
  return open !== -1 && /\][^[]/.test(name.slice(open))
}

/** Returns the name of a parameter as qs takes it: `]=` ends it before any other equals sign. */
function toName(parameter: string): string {
  const bracket = parameter.indexOf(']=')
  const end = bracket === -1 ? parameter.indexOf('=') : bracket + 1
  return decodeParameter(end === -1 ? parameter : parameter.slice(0, end))
}

/** Counts what stands between ampersands, and is not empty. */
function countParameters(raw: string): number {
  let count = 0
  for (let from = 0; from < raw.length; ) {
    const end = raw.indexOf('&', from)
    const next = end === -1 ? raw.length : end
    if (next > from) count += 1
    from = next + 1
  }
  return count
}

/**
 * Counts the values in a parsed query; without recursion, since the depth may be set to any number.
 */
function countLeaves(query: object): number {
  let count = 0
  const left: object[] = [query]
  for (let parent = left.pop(); parent !== undefined; parent = left.pop()) {
    for (const value of Object.values(parent)) {
      if (typeof value === 'string') count += 1
      else if (typeof value === 'object' && value !== null) left.push(value)
    }
  }
  return count
}

/**
 * Returns the first name whose parameters contradict each other, so that one is lost: `a[x]=1&a=`.
 */
function findConflict(parameters: readonly string[], parse: Parse): string {
  const groups = new Map<string, string[]>()
  for (const parameter of parameters) {
    const root = /^\[?([^[\]]*)/.exec(toName(parameter))?.[1] ?? ''
    const group = groups.get(root)
    if (group === undefined) groups.set(root, [parameter])
    else group.push(parameter)
  }
  const hasLoss = ([, group]: [string, string[]]): boolean =>
    countLeaves(parse(group.join('&'))) !== group.length
  return [...groups].find(hasLoss)?.[0] ?? ''
}

const MAX_LENGTH = 50

/** Returns a name from a request in quotes for an error message, cut after 50 characters. */
export function quoteName(name: string): string {
  // A cut may go through the middle of a character.
  return name.length <= MAX_LENGTH ? `'${name}'` : `'${name.slice(0, MAX_LENGTH).toWellFormed()}…'`
}
