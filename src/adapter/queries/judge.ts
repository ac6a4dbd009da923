import type { Document } from 'mongodb'
import { BSON } from 'mongodb'
import { InvalidStream } from '../../core/errors/coded-errors.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { CommandError } from '../matching/command-error.ts'
import { decodeStored } from '../matching/decode.ts'
import type { Predicate } from '../matching/filter.ts'
import { compileFilter } from '../matching/filter.ts'

/** Operators that mean the same here and in the database. */
const JUDGED: ReadonlySet<string> = new Set([
  ...['$and', '$or', '$nor', '$not', '$eq', '$ne', '$in', '$nin', '$gt', '$gte', '$lt', '$lte'],
  ...['$exists', '$size', '$all', '$elemMatch', '$mod', '$regex', '$options'],
])

/** Patterns that the database and JavaScript read alike: plain text, perhaps from the start. */
const PLAIN_PATTERN = /^\^?[\w\s\-@/:,;'"#%&<>=~!]*$/

/**
 * Returns the test whether a record, as {@link toCompared} returns it, matches a filter.
 * @throws {BadRequest} the filter has an operator that only the database can apply
 */
export function compileJudge(filter: Document): Predicate {
  checkOperators(filter)
  const compileExpression = (): never => refuseStream('$expr')
  try {
    return compileFilter(toCompared(filter), { collation: undefined, compileExpression })
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    throw new InvalidStream(`The query can't be followed: ${error.message}`, {}, { cause: error })
  }
}

/** @throws {BadRequest} an operator that only the database can evaluate */
function checkOperators(value: unknown): void {
  if (value instanceof RegExp) checkPattern(value.source, value.flags)
  if (Array.isArray(value)) value.forEach(checkOperators)
  if (!isPlainObject(value)) return
  for (const [name, operand] of Object.entries(value)) {
    if (name.startsWith('$') && !JUDGED.has(name)) refuseStream(name)
    if (name === '$regex') checkPattern(operand, value['$options'] ?? '')
    else checkOperators(operand)
  }
}

function checkPattern(pattern: unknown, flags: unknown): void {
  const source = pattern instanceof RegExp ? pattern.source : pattern
  const given = pattern instanceof RegExp ? `${pattern.flags}${flags}` : flags
  if (typeof source === 'string' && PLAIN_PATTERN.test(source) && ['', 'i'].includes(`${given}`)) {
    return
  }
  refuseStream('a $regex that is more than plain text')
}

/** @throws {BadRequest} always: only the database can tell what the query finds */
export function refuseStream(what: string): never {
  throw new InvalidStream(`A stream of records is not possible with ${what}`)
}

/** Returns a document as the database stores it: instances of classes become their fields. */
export function toCompared(document: object): Document {
  // Serialized by the driver: its BSON classes may be of another version than those that compare.
  return decodeStored(BSON.serialize(document, { ignoreUndefined: true }))
}
