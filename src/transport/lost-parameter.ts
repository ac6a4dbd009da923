import type { Query } from '../core/index.ts'
import { BadRequest } from '../core/index.ts'
import { decodePercent } from './percent-encoding.ts'
import { quoteName } from './quote-name.ts'

/** What is parsed, for the errors. */
export type QueryNoun = 'query' | 'body'

type Parse = (raw: string) => Query

/** What follows a closing bracket without opening another one: `a[0].b` would be read as `a[0]`. */
const AFTER_BRACKET = /\[[^\]]*\][^[]/

/** The same in a whole query, where it may stand in a value too. */
const MAY_BE_CUT = /\][^[=&]/

/**
 * Refuses a query when its parser has lost a parameter, for a condition that disappears widens what is
 * read or written. Whatever the parser does, each parameter has to be a leaf of the result.
 * @param parse reads a part of the query as the parser has read all of it
 * @throws {BadRequest} names the first parameter that is lost
 */
export function checkParameters(raw: string, query: Query, parse: Parse, noun: QueryNoun): void {
  const open = raw.includes('%') ? raw.replace(/%5b/gi, '[').replace(/%5d/gi, ']') : raw
  let count = 0
  for (const parameter of open.split('&')) if (parameter !== '') count += 1
  if (countLeaves(query) === count && !MAY_BE_CUT.test(open)) return
  const parameters = open.split('&').filter((parameter) => parameter !== '')
  for (const name of parameters.map(toName)) {
    const reason = toReason(name)
    if (reason !== null) throw createLossError(name, reason, noun)
  }
  if (countLeaves(query) === count) return
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
  if (AFTER_BRACKET.test(name)) return 'has text after a bracket'
  const inherited = name.split(/[[\]]+/).find((part) => part !== '' && part in Object.prototype)
  return inherited === undefined ? null : `is not allowed: every object has a '${inherited}'`
}

/** Returns the name of a parameter as qs takes it: `]=` ends it before any other equals sign. */
function toName(parameter: string): string {
  const bracket = parameter.indexOf(']=')
  const end = bracket === -1 ? parameter.indexOf('=') : bracket + 1
  return decodePercent(end === -1 ? parameter : parameter.slice(0, end))
}

/** Counts the values in a parsed query, without recursion: its depth is a setting. */
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

/** Returns the name whose parameters lose one among them: `a[x]=1&a=`. Others do not meet them. */
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
