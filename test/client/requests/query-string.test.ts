import fc from 'fast-check'
import t from 'tap'
import { toQueryString } from '../../../src/client/requests/query-string.ts'
import type { Query } from '../../../src/core/index.ts'
import { BadRequest } from '../../../src/core/index.ts'
import { createQueryParser } from '../../../src/transport/parsing/query-string.ts'

const LIMITS = { depth: 100, parameterLimit: 10_000, maxLength: 1_000_000 }
const parse = createQueryParser(LIMITS)

/** Returns what a server reads of a query. */
const travel = (query: Query): unknown => parse(toQueryString(query, 20))

t.test('what the server reads is what was sent, as strings', (t) => {
  const queries: [Query, unknown][] = [
    [{}, {}],
    [
      { a: 1, b: 1.5, c: -0, d: 10n },
      { a: '1', b: '1.5', c: '0', d: '10' },
    ],
    [
      { yes: true, no: false },
      { yes: 'true', no: 'false' },
    ],
    [
      { name: '', text: 'a b&c=d[e]+%20#?ü☃' },
      { name: '', text: 'a b&c=d[e]+%20#?ü☃' },
    ],
    [{ at: new Date(5) }, { at: '1970-01-01T00:00:00.005Z' }],
    [{ _id: { toHexString: () => 'ab12' } }, { _id: 'ab12' }],
    [{ price: { toJSON: () => 12 } }, { price: '12' }],
    [{ id: { $in: [1, 'b'] } }, { id: { $in: ['1', 'b'] } }],
    [{ $or: [{ a: 1 }, { b: { $gt: 2 } }] }, { $or: [{ a: '1' }, { b: { $gt: '2' } }] }],
    [{ grid: [[1, 2], [3]] }, { grid: [['1', '2'], ['3']] }],
    [
      {
        id: { $in: [] },
        tags: [],
        $or: [{ a: { $nin: [] } }, { b: [[], ['x'], []] }],
        $select: [],
      },
      {
        id: { $in: [] },
        tags: [],
        $or: [{ a: { $nin: [] } }, { b: [[], ['x'], []] }],
        $select: [],
      },
    ],
    [
      { 'author.name': 'Ann', 0: 'zero' },
      { 'author.name': 'Ann', 0: 'zero' },
    ],
    [
      { $sort: { name: -1 }, $limit: 0, $select: ['a'] },
      { $sort: { name: '-1' }, $limit: '0', $select: ['a'] },
    ],
  ]
  for (const [query, expected] of queries) t.strictSame(travel(query), expected)
  t.end()
})

t.test('leaves out only what does not decide which records match', (t) => {
  const query = { $limit: undefined, $skip: undefined, $select: undefined, $sort: {} }
  t.equal(toQueryString(query, 20), '')
  t.equal(toQueryString({ $sort: undefined, a: 1 }, 20), 'a=1')
  t.end()
})

const circle: Query = {}
circle['a'] = circle

/** Every value that a server would read as another one or not at all, with what names it. */
const REFUSED: Readonly<Record<string, [value: unknown, name: string]>> = {
  'an empty object': [{}, 'query.x is an empty object'],
  'an empty object in a list': [[{ a: 1 }, {}], 'query.x[1] is an empty object'],
  undefined: [undefined, 'query.x is undefined'],
  'undefined inside': [{ a: undefined }, 'query.x.a is undefined'],
  'a gap in a list': [new Array(1), 'query.x[0] is undefined'],
  null: [null, 'query.x is null'],
  NaN: [Number.NaN, 'query.x is NaN'],
  'an infinite number': [-1 / 0, 'query.x is -Infinity'],
  'an invalid date': [new Date(Number.NaN), 'query.x is null'],
  'a function': [() => 1, 'query.x is a function'],
  'a symbol': [Symbol('a'), 'query.x is a symbol'],
  'a regular expression': [/a/, 'query.x is an object of the class RegExp'],
  'a map': [new Map([['a', 1]]), 'query.x is an object of the class Map'],
  bytes: [new Uint8Array(2), 'query.x is an object of the class Uint8Array'],
  'an object whose JSON is an object': [
    Object.assign(Object.create({ toJSON: () => ({ a: 1 }) }), {}),
    'query.x is an object of the class Object',
  ],
  'half of a character': ['\ud800', 'query.x is not well-formed Unicode'],
  'the name of an empty list': [{ $empty: '' }, 'query.x.$empty cannot be sent'],
  'the same in a list': [[{ $empty: 'a' }], 'query.x[0].$empty cannot be sent'],
  'indexes as names': [{ 0: 'a', 1: 'b' }, 'query.x.0 cannot be sent'],
  'a name without characters': [{ '': 1 }, 'query.x. has a name that is empty'],
  'a name with brackets': [{ 'a[b]': 1 }, 'query.x.a[b] has a name with brackets'],
  'a name that is half of a character': [{ '\udc00': 1 }, 'query.x.\udc00 is not well-formed'],
  'a list of 21 items that the server takes for an object': [
    Array.from({ length: 21 }, () => 1),
    'query.x has 21 items',
  ],
  'an object that contains itself': [circle, 'is nested too deep'],
}

for (const [title, [value, message]] of Object.entries(REFUSED)) {
  t.test(`refuses ${title}, and names it (QS-8)`, (t) => {
    t.throws(() => toQueryString({ a: 1, x: value }, 20), BadRequest)
    t.throws(() => toQueryString({ a: 1, x: value }, 20), message)
    t.end()
  })
}

t.test('sends lists of any length where a list is meant, or the server takes longer ones', (t) => {
  const list = Array.from({ length: 300 }, (_, index) => String(index))
  for (const name of ['$in', '$nin', '$all']) {
    const query = travel({ x: { [name]: list } }) as Record<'x', Record<string, object>>
    t.strictSame(Object.values(query.x[name] ?? {}), list, name)
  }
  const read = createQueryParser({ ...LIMITS, arrayLimit: 300 })
  t.strictSame(read(toQueryString({ x: list }, 300)), { x: list })
  t.end()
})

t.test('sends an empty list in long lists, and in the form that URLs keep', (t) => {
  const list = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? String(index) : []))
  const { x } = travel({ x: { $in: list } }) as Record<'x', Record<'$in', object>>
  t.strictSame(Object.values(x.$in), list)
  const sent = toQueryString({ id: { $in: [] } }, 20)
  t.equal(sent, 'id%5B%24in%5D%5B%24empty%5D=')
  t.equal(new URLSearchParams(sent).toString(), sent, 'programs on the way may write it anew')
  t.end()
})

t.test('a query is no other object', (t) => {
  for (const query of [new URLSearchParams('a=1'), [], 'a=1', null]) {
    t.throws(() => toQueryString(query as unknown as Query, 20), /params.query must be an object/)
  }
  t.end()
})

t.test('whatever is sent, the server reads exactly that, or it is not sent (QS-8)', (t) => {
  const sendable = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.bigInt(), fc.date())
  const odd = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.constantFrom(null, [], {}))
  const name = fc.oneof(
    fc.string({ minLength: 1 }),
    fc.constantFrom('$in', '$or', '$empty', 'a.b', 'a]=b'),
  )
  const oddName = fc.constantFrom('', '0', '__proto__', 'a[0]', 'a[', 'toString')
  const query = fc.oneof(
    fc.object({ maxDepth: 4, key: name, values: [sendable] }),
    fc.object({ maxDepth: 4, key: name, values: [sendable, sendable, sendable, odd] }),
    fc.object({ maxDepth: 4, key: fc.oneof(name, name, oddName), values: [sendable] }),
  )
  let arrived = 0
  const check = fc.property(query, (sent) => {
    try {
      const read = travel(sent as Query)
      arrived += 1
      return isSame(sent, read)
    } catch (error) {
      // The server refuses names that every object has.
      return error instanceof BadRequest
    }
  })
  fc.assert(check, { numRuns: 3_000 })
  t.ok(arrived > 300, `${arrived} were sent`)
  t.end()
})

/** Whether a part of a query is what a server has read, where all values are strings. */
function isSame(sent: unknown, read: unknown): boolean {
  if (sent instanceof Date) return read === sent.toJSON()
  if (typeof sent !== 'object' || sent === null) return read === String(sent)
  const names = Object.keys(sent)
  const readObject = read as Record<string, unknown>
  return (
    names.length === Object.keys(readObject).length &&
    names.every((name) => isSame((sent as Record<string, unknown>)[name], readObject[name]))
  )
}
