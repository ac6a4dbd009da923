import t from 'tap'

import { readLists } from '../../../../src/core/schema/queries/query-lists.ts'

/** A query as it is parsed, and as it is read. */
const READ: readonly (readonly [string, Record<string, unknown>, Record<string, unknown>])[] = [
  ['indexes', { a: { $in: { 0: 'x', 1: 'y' } } }, { a: { $in: ['x', 'y'] } }],
  ['one value', { a: { $nin: 'x', $all: 'y' } }, { a: { $nin: ['x'], $all: ['y'] } }],
  ['one name', { $select: 'a' }, { $select: ['a'] }],
  [
    'conditions by index',
    { $or: { 0: { a: '1' }, 1: { $and: { 0: { b: { $in: 'c' } } } } } },
    { $or: [{ a: '1' }, { $and: [{ b: { $in: ['c'] } }] }] },
  ],
  ['no list of conditions from one of them', { $or: { a: '1' } }, { $or: { a: '1' } }],
  ['no list of values from an object', { a: { $in: { b: '1' } } }, { a: { $in: { b: '1' } } }],
  ['fields with indexes', { a: { 0: 'x' } }, { a: { 0: 'x' } }],
  [
    'null and nothing',
    { a: { $in: null, $nin: undefined } },
    { a: { $in: null, $nin: undefined } },
  ],
  ['an empty list', { a: { $in: [] } }, { a: { $in: [] } }],
]

for (const [title, parsed, read] of READ) {
  t.test(`reads ${title}`, async (t) => {
    t.strictSame(readLists(parsed), read)
  })
}

t.test('copies plain objects and lists, and nothing else', async (t) => {
  const date = new Date(0)
  const query = { at: { $lt: date }, tags: ['a'], $sort: { at: 1 } }
  const copy = readLists(query) as typeof query
  t.strictSame(copy, query)
  t.equal(copy.at.$lt, date)
  t.not(copy.at, query.at)
  t.not(copy.tags, query.tags)
  t.not(copy.$sort, query.$sort)
})

t.test('keeps a key __proto__ as one, for the validation to refuse', async (t) => {
  const copy = readLists(JSON.parse('{ "a": { "__proto__": { "$in": "x" } } }'))
  const inner = copy['a'] as object
  t.strictSame(Object.keys(inner), ['__proto__'])
  t.equal(Object.getPrototypeOf(inner), Object.prototype)
})

t.test('ends for a query that is nested without end', async (t) => {
  const circle: Record<string, unknown> = {}
  circle['a'] = circle
  t.type(readLists(circle)['a'], 'object')
  const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)
  t.type(readLists(deep)['a'], 'object')
})
