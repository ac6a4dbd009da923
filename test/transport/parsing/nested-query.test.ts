import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { parse } from 'qs'
import t from 'tap'

import { createNestedParser } from '../../../src/transport/parsing/nested-query.ts'

const LIMITS = { depth: 3, arrayLimit: 4 }
const parseNested = createNestedParser(LIMITS)
const RUNS = 100_000
const SEED = 20_261_121

/** What the parser is compared with, `null` where it refuses. */
function parseByQs(raw: string): unknown {
  try {
    return parse(raw, { ...LIMITS, strictDepth: true, parameterLimit: Number.POSITIVE_INFINITY })
  } catch {
    return null
  }
}

const toJSON = (parsed: unknown): string => JSON.stringify(parsed)

t.test('reads what clients send, percent-encoded or not', async (t) => {
  const cases: readonly (readonly [raw: string, query: object])[] = [
    ['age[$gte]=20&age[$lt]=60', { age: { $gte: '20', $lt: '60' } }],
    ['age%5B%24gte%5D=20&name=a%20b', { age: { $gte: '20' }, name: 'a b' }],
    ['$or[0][a]=1&$or[0][b]=x+y&$or[1][c]=', { $or: [{ a: '1', b: 'x y' }, { c: '' }] }],
    ['$select[]=a&$select[]=b&$limit=10', { $select: ['a', 'b'], $limit: '10' }],
    ['id[$in][0]=1&id[$in][1]=2', { id: { $in: ['1', '2'] } }],
    ['a[b.c]=1&a[]b=2', {}],
    ['a[b]&&c[d]=%C3%A9', { a: { b: '' }, c: { d: 'é' } }],
  ]
  for (const [raw, query] of cases) {
    const parsed = parseNested(raw)
    if (Object.keys(query).length === 0) t.equal(parsed, null, raw)
    else t.strictSame(parsed, query, raw)
  }
})

t.test('leaves to merging what has rules of its own', async (t) => {
  const left = [
    ...['a[b]=1&a[b]=2', 'a=1&a[b]=2', 'a[b]=1&a=2', 'a[0]=1&a[b]=2', 'a[1]=1', 'a[0]=1&a[2]=2'],
    ...['a[]=1&a[0]=2', 'a[0]=1&a[]=2', 'a[][b]=1', 'a[b', 'a]b=1', '[a]=1', '=1', 'a[01]=1'],
    ...['a[b][c][d][e]=1', 'a[]=1&a[]=2&a[]=3&a[]=4&a[]=5', 'a[b]=%zz', 'a%zz[b]=1', 'a=x]=1'],
    ...['a=x%5D=1', 'a[__proto__]=1', 'a[toString]=1', '__proto__[a]=1', 'constructor[a]=1'],
  ]
  for (const raw of left) {
    if (raw !== 'a[01]=1') t.equal(parseNested(raw), null, raw)
    else t.strictSame(parseNested(raw), parseByQs(raw), raw)
  }
})

t.test('a name that was read before is read the same, up to any number of names', async (t) => {
  const parser = createNestedParser(LIMITS)
  const wrong: string[] = []
  for (let round = 0; round < 2; round += 1) {
    for (let index = 0; index < 1_500; index += 1) {
      const raw = `n${index}[a]=${index}`
      const expected = { [`n${index}`]: { a: String(index) } }
      if (!isDeepStrictEqual(parser(raw), expected)) wrong.push(raw)
    }
  }
  t.strictSame(wrong, [])
})

/** Few names, so that they meet and contradict each other; odd ones are seldom. */
const key = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('a', 'b', 'c', 'd', '$gte', '0', '1', '') },
  { weight: 1, arbitrary: fc.constantFrom('2', '4', '01', 'toString', 'é', 'x y') },
)
const bracket = key.chain((text) =>
  fc.constantFrom(`[${text}]`, `%5B${encodeURIComponent(text)}%5D`, `%5b${text}%5d`),
)
const root = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('a', 'b', 'c', 'd', '$or', '0', 'e', 'f') },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'a%20b', 'a+b', '%61') },
)
const name = fc
  .tuple(root, fc.array(bracket, { maxLength: 4, size: 'small' }))
  .map(([first, rest]) => first + rest.join(''))
const odd = fc.constantFrom('[', ']', '=', '%5D=', ']=', '%', '%zz', '&', '', 'a[', 'a]b', '[]')
const value = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('1', '', 'x+y', '%5B1%5D', '%C3%A9', 'a=b') },
  { weight: 1, arbitrary: odd },
)
const parameter = fc.oneof(
  { weight: 20, arbitrary: fc.tuple(name, value).map((pair) => pair.join('=')) },
  { weight: 1, arbitrary: fc.oneof(name, odd) },
)
const query = fc.array(parameter, { minLength: 1, maxLength: 5 }).map((all) => all.join('&'))

t.test('has the outcome of qs, or leaves the query to merging', async (t) => {
  let own = 0
  fc.assert(
    fc.property(query, (raw) => {
      const parsed = parseNested(raw)
      if (parsed === null) return true
      own += 1
      const expected = parseByQs(raw)
      // As text as well, which shows the order of the keys.
      return isDeepStrictEqual(parsed, expected) && toJSON(parsed) === toJSON(expected)
    }),
    { numRuns: RUNS, seed: SEED },
  )
  t.ok(own > RUNS / 5, `${own} of ${RUNS} queries were its own`)
})
