import { isDeepStrictEqual } from 'node:util'

/** A query as clients send it, with percent-encoded names: `age%5B%24gte%5D=20`. */
export const BRACKETS = [
  ...['age[$gte]=20', 'age[$lt]=60', '$or[0][active]=true', '$or[1][name]=Name', '$sort[age]=-1'],
  ...['$select[]=name', '$select[]=email', '$skip=20'],
]
  .map((parameter) => parameter.split('=').map(encodeURIComponent).join('='))
  .join('&')

/** What {@link BRACKETS} means. */
const MEANING = {
  age: { $gte: '20', $lt: '60' },
  $or: [{ active: 'true' }, { name: 'Name' }],
  $sort: { age: '-1' },
  $select: ['name', 'email'],
  $skip: '20',
}

let isChecked = false

/**
 * Checks the first query that skips records as {@link BRACKETS} does, which is told by the answer: a
 * parser that got the rest of it wrong would only be faster.
 * @throws {Error} the query is another one
 */
export function checkBrackets(query: Readonly<Record<string, unknown>>): void {
  if (isChecked || query['$skip'] !== MEANING.$skip) return
  // Of which classes its objects are is up to the parser.
  const text = JSON.stringify(query)
  if (!isDeepStrictEqual(JSON.parse(text), MEANING)) throw new Error(`Parsed wrongly: ${text}`)
  isChecked = true
}
