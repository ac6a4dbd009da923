import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { parse } from 'qs'
import t from 'tap'
import type { QueryNoun } from '../../../src/transport/parsing/parameters.ts'
import type { QueryParser } from '../../../src/transport/parsing/query-string.ts'
import { createQueryParser } from '../../../src/transport/parsing/query-string.ts'

type Setting = readonly [noun: QueryNoun, depth: number, arrayLimit: number]

/** Limits, and what is read by them: a list that is too long becomes an object in a query, an error in a body. */
const SETTINGS: readonly Setting[] = [
  ['query', 10, 20],
  ['query', 2, 3],
  ['query', 3, 1],
  ['query', 1, 0],
  ['body', 10, 1_000],
  ['body', 3, 2],
]

/** Returns what qs reads, `null` if it throws or leaves out a parameter. */
function parseByQs(raw: string, [noun, depth, arrayLimit]: Setting): unknown {
  const count = raw.split('&').filter((parameter) => parameter !== '').length
  const throwOnLimitExceeded = noun === 'body'
  const parameterLimit = Number.POSITIVE_INFINITY
  const options = { depth, strictDepth: true, arrayLimit, parameterLimit, throwOnLimitExceeded }
  try {
    const query = parse(raw, options)
    return countLeaves(query) === count ? query : null
  } catch {
    return null
  }
}

function countLeaves(value: unknown): number {
  if (typeof value === 'string') return 1
  return Object.values(value as object).reduce((sum: number, one) => sum + countLeaves(one), 0)
}

const parsers = new Map<Setting, QueryParser>()

/** Returns what we read, `null` for 400. */
function parseByUs(raw: string, setting: Setting): unknown {
  const [noun, depth, arrayLimit] = setting
  const parseQuery = parsers.get(setting) ?? createQueryParser({ depth, arrayLimit }, noun)
  parsers.set(setting, parseQuery)
  try {
    return parseQuery(raw)
  } catch (error) {
    if ((error as { code?: unknown }).code === 400) return null
    throw error
  }
}

/** Returns whether we reject a name or bytes that qs guesses: query-string.test.ts has the table of them. */
function isGuessed(raw: string, depth: number): boolean {
  const text = raw.replace(/%5b/gi, '[').replace(/%5d/gi, ']')
  return text.split('&').some((parameter) => {
    const end = parameter.includes(']=') ? parameter.indexOf(']=') + 1 : parameter.search(/=|$/)
    const name = parameter.slice(0, end)
    // As brackets without a partner, qs reads more than the levels of a name.
    if (name.split('[').length - 1 > depth + 1) return true
    if (/\[.*\](?!\[|$)/s.test(name) || name.includes('[][')) return true
    if (name.split(/[[\]]+/).some((part) => part in Object.prototype)) return true
    return /%[89a-f][\da-f]/i.test(parameter.replaceAll('%C3%A9', ''))
  })
}

/** Returns how the outcomes differ, `null` if they do not. Text shows the order of the keys as well. */
function findDifference(raw: string, setting: Setting): string | null {
  const expected = parseByQs(raw.replace(/&+(?=&|$)|^&+/g, ''), setting)
  const query = parseByUs(raw, setting)
  if (query === null && isGuessed(raw, setting[1])) return null
  const isSame = isDeepStrictEqual(query, expected)
  return isSame && JSON.stringify(query) === JSON.stringify(expected)
    ? null
    : `'${raw}' by ${setting}: ${JSON.stringify(query)}, not ${JSON.stringify(expected)}`
}

/** What each raw query becomes; `null` for 400. */
const CASES: readonly [raw: string, query: object | null][] = [
  // Repeated names.
  ['a=1&a=2&a[]=3', { a: ['1', '2', '3'] }],
  ['a[b]=1&a[b]=2&a[b][]=3', { a: { b: ['1', '2', '3'] } }],
  ['a=&a=&b[]=&b[]=', { a: ['', ''], b: ['', ''] }],
  ['[a]=1&a=2', { a: ['1', '2'] }],
  ['b=1&0=2&0[c]=3', { 0: ['2', { c: '3' }], b: '1' }],
  // Indexes with gaps, twice, in any order, and beside empty brackets.
  ['a[7]=x&a[2]=y', { a: ['y', 'x'] }],
  ['a[0]=1&[a][0]=2', { a: ['1', '2'] }],
  ['a[]=1&a[0]=2&a[5]=3', { a: ['1', '2', '3'] }],
  ['a[0][b]=1&a[0][c]=2&a[2][b]=3', { a: [{ b: '1', c: '2' }, { b: '3' }] }],
  ['a[0][b]=1&a[0]=2', { a: [{ b: '1' }, '2'] }],
  ['a[01]=1&a[-1]=2&a[1e3]=3', { a: { '01': '1', '-1': '2', '1e3': '3' } }],
  // Beyond the limit of lists.
  ['a[20]=x', { a: { 20: 'x' } }],
  ['a[20]=x&a=y&a[]=z', { a: { 0: 'z', 20: 'x', 21: 'y' } }],
  ['a=x&a[19]=y', { a: { 0: 'x', 20: 'y' } }],
  ['a[]=x&a[19]=y', { a: ['x', 'y'] }],
  ['a=x&a[20]=y', { a: { 0: 'x', 21: 'y' } }],
  // Names and values at the same place.
  ['a=1&a[b]=2', { a: ['1', { b: '2' }] }],
  ['a[b]=1&a=2&a[c]=3', { a: { 0: { b: '1' }, 1: '2', c: '3' } }],
  ['a[b]=1&a=2&[a]=3', { a: [{ b: '1' }, '2', '3'] }],
  ['a[0]=1&a[b]=2&a=3', { a: [{ 0: '1', b: '2' }, '3'] }],
  ['a=&a[b]=1', { a: ['', { b: '1' }] }],
  ['a[b]=1&a=', null],
  ['a[]=1&a=', null],
  // Brackets without a partner, next to others, and without a name before them.
  ['a[=1&b]=2&c[d=3', { a: { '[': '1' }, 'b]': '2', c: { '[d': '3' } }],
  ['a[b[c]=1&[[=2&]=3&][x]=4', { a: { '[b[c]': '1' }, '[[': '2', ']': ['3', { x: '4' }] }],
  ['[]=1&[]=2&[0]=3&[b][c]=4', { 0: ['1', '3'], 1: '2', b: { c: '4' } }],
  ['a[][]=1', { a: ['1'] }],
  ['a[][b]=1', { a: [{ b: '1' }] }],
  // Percent-encoding.
  ['a%5Bb%5d=1&%61[b]=2', { a: { b: ['1', '2'] } }],
  ['a=%zz&a%zz[b]=%5B&a%255B=+', { a: '%zz', 'a%zz': { b: '[' }, 'a%5B': ' ' }],
  ['a=b]=c&d[e]=f]=g', { 'a=b]': 'c', d: { e: 'f]=g' } }],
  ['a%26b%3Dc=1&%00[\n]=2', { 'a&b=c': '1', '\0': { '\n': '2' } }],
]

for (const [raw, query] of CASES) {
  t.test(`reads ${JSON.stringify(raw)} as qs does: ${JSON.stringify(query)}`, async (t) => {
    t.strictSame(parseByUs(raw, ['query', 10, 20]), query)
    for (const setting of SETTINGS) t.equal(findDifference(raw, setting), null)
  })
}

/** Where we accept or reject what qs would not, by intention. */
const INTENDED: readonly [raw: string, setting: Setting, query: object | null][] = [
  // An index of ten or more digits is a name, as an id or a time may be one.
  ['a[1735689600000]=1', ['body', 10, 20], { a: { 1735689600000: '1' } }],
  ['a=1&a[1735689600000]=2', ['query', 10, 20], { a: ['1', { 1735689600000: '2' }] }],
  // Empty parameters are none. To qs, they are a list.
  ['a=1&&&', ['body', 10, 1], { a: '1' }],
  // No brackets, rather than names that contain them.
  ['a[b]=1', ['query', 0, 20], null],
  // A name that every object has, next to a bracket without a partner.
  ['a[[toString]=1', ['query', 10, 20], null],
]

for (const [raw, setting, query] of INTENDED) {
  t.test(`reads '${raw}' as ${JSON.stringify(query)}, unlike qs`, async (t) => {
    t.strictSame(parseByUs(raw, setting), query)
    t.strictNotSame(parseByQs(raw, setting), query)
  })
}

t.test('a value is never written over another one, however large the indexes are', async (t) => {
  const query = parseByUs('a[999999999]=1&[a]=2&a=3', ['query', 10, 20])
  t.strictSame(query, { a: { 999999999: '1', 1000000000: '2', 1000000001: '3' } })
  const beyond = 'a[30]=1&a[999999999999999]=2&[a]=3&a=4'
  t.equal(parseByUs(beyond, ['query', 10, 20]), null)
})

t.test('a query of 10,000 levels is read where the limit allows it', async (t) => {
  const deep = `a${'[b]'.repeat(10_000)}`
  const read = createQueryParser({ depth: 20_000, maxLength: 200_000 })
  let value: unknown = read(`${deep}=1&${deep}[0]=2`)
  for (let level = 0; level <= 10_000; level += 1) value = Object.values(value as object)[0]
  t.strictSame(value, ['1', '2'])
})

const join = (parts: readonly string[]): string => parts.join('')
const joinAll = (parameters: readonly string[]): string => parameters.join('&')

/** Names of up to five parts, which are few so that they meet. */
const names = fc
  .tuple(
    fc.constantFrom('a', 'a', 'a', '[a]', 'b', '0', '[0]', '[]', '[1]'),
    fc.array(fc.constantFrom('[a]', '[b]', '[0]', '[1]', '[3]', '[]', '[01]', '[21]'), {
      maxLength: 4,
    }),
    fc.constantFrom('', '', '', '', '', '', '[', '[b', '[[a]'),
  )
  .map(([root, brackets, rest]) => root + join(brackets) + rest)

const values = fc.constantFrom('', '=', '=1', '=2', '=x', '=y', '=a', '=]', '=]=', '=%5D=', '=[b]')

/** Spellings of few places, so that nearly all parameters contradict each other. */
const places = fc.constantFrom(
  ...['a', '[a]', 'a[]', 'a[0]', 'a[1]', 'a[3]', 'a[19]', 'a[20]', 'a[25]', '[a][0]', '[a][4]'],
  ...['a[b]', '[a][b]', 'a[b][]', 'a[b][0]', 'a[b][7]', 'a[0][]', 'a[0][b]', 'a[0][0]', '[a][33]'],
  ...['[a][]', 'a[][]', 'a[b][c]', 'a[999999999]'],
)

/** Long lists in several notations, around the limits. */
const lists = fc
  .tuple(
    fc.integer({ min: 0, max: 24 }),
    fc.constantFrom('a', 'a[]', '[a][]', 'a[i]', '[a][i]', 'a[b][i]', 'a[i][b]'),
    fc.integer({ min: 0, max: 4 }),
  )
  .map(([length, notation, first]) =>
    joinAll(
      Array.from({ length }, (_, at) => `${notation.replace('i', String(at + first))}=v${at}`),
    ),
  )

const RANDOM: Readonly<Record<string, fc.Arbitrary<string>>> = {
  'mixtures of special characters': fc
    .array(
      fc.constantFrom(
        ...['[', ']', '%5B', '%5d', '=', '&', '&', '[]', '[0]', '[1]', '[b]', 'a', 'b', '0', '12'],
        ...['%', '%zz', '%FF', '%C3%A9', '+', '%2B', '%3D', '%26', '%25', '.', '%00', '\n', '-1'],
        ...['toString', '__proto__', '[25]', ']=', '01', 'é'],
      ),
      { maxLength: 20 },
    )
    .map(join),
  'names of several parts': fc
    .array(fc.tuple(names, values).map(join), { minLength: 1, maxLength: 6 })
    .map(joinAll),
  'contradicting names': fc
    .array(fc.tuple(places, fc.constantFrom('=', '=1', '=2', '=x', '=y', '=z')).map(join), {
      minLength: 2,
      maxLength: 8,
    })
    .map(joinAll),
  'long lists': fc.array(lists, { minLength: 1, maxLength: 3 }).map(joinAll),
}

const RUNS = 10_000
const SEED = 20_261_129

for (const [title, queries] of Object.entries(RANDOM)) {
  t.test(`has the outcome of qs for ${RUNS} ${title}`, async (t) => {
    let accepted = 0
    const property = fc.property(queries, fc.constantFrom(...SETTINGS), (raw, setting) => {
      const difference = findDifference(raw, setting)
      if (difference !== null) throw new Error(difference)
      if (parseByUs(raw, setting) !== null) accepted += 1
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
    t.ok(accepted > RUNS / 5, `${accepted} of ${RUNS} were accepted`)
  })
}
