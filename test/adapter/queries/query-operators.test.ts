import fc from 'fast-check'
import { ObjectId } from 'mongodb'
import t from 'tap'
import type { MongoDBOptions, MongoDBSettings } from '../../../src/adapter/mongodb-options.ts'
import { sanitizeQuery } from '../../../src/adapter/queries/query-operators.ts'
import { resolveMongoDBOptions } from '../../../src/adapter/resolve-options.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import type { Query } from '../../../src/core/params.ts'
import { idleCollection } from '../../support/idle-collection.ts'

function sanitize(query: Query, options: Partial<MongoDBOptions> = {}): Query {
  return sanitizeQuery(query, resolveMongoDBOptions({ Model: idleCollection, ...options }))
}

const OPERATORS: readonly [string, unknown][] = [
  ...['$eq', '$ne', '$lt', '$lte', '$gt', '$gte'].map((name): [string, unknown] => [name, 3]),
  ['$in', [1, 2]],
  ['$nin', [1, 2]],
]

for (const [operator, value] of OPERATORS) {
  t.test(`lets ${operator} pass in a field, and inside $or and $and`, async (t) => {
    const condition = { age: { [operator]: value } }
    const query = { ...condition, $or: [condition, { $and: [condition] }] }
    t.strictSame(sanitize(query), query)
  })
}

t.test('reads $le and $ge as $lte and $gte', async (t) => {
  t.strictSame(sanitize({ age: { $le: 5, $ge: 1 } }), { age: { $lte: 5, $gte: 1 } })
  t.throws(() => sanitize({ age: { $le: 5, $lte: 9 } }), BadRequest)
})

const FORBIDDEN = [
  ...[
    '$where',
    '$function',
    '$accumulator',
    '$expr',
    '$jsonSchema',
    '$text',
    '$near',
    '$geoWithin',
  ],
  ...['$elemMatch', '$regex', '$options', '$comment', '$mod', '$type', '$size', '$all', '$not'],
  ...['$nor', '$exists', '$rand', '$sampleRate', '$populate', '$lookup', '$out', '$merge', '$hint'],
  ...['$WHERE', '$where ', ' $where', '\uFF04where', '%24where', '$', 'a.$where'],
]

for (const operator of FORBIDDEN) {
  t.test(`refuses '${operator}' wherever it stands, naming it and not its value`, async (t) => {
    const bad = { [operator]: 'hunter2' }
    const places: Query[] = [
      bad,
      { name: bad },
      { name: { first: { second: bad } } },
      { $or: [bad] },
      { $or: [{ a: 1 }, { name: bad }] },
      { $and: [{ $or: [{ b: { c: 1 }, ...bad }] }] },
      { name: { $in: ['a', bad] } },
      { name: [[bad]] },
      { name: { constructor: bad } },
      { constructor: { name: 'x' }, name: bad },
    ]
    for (const query of places) {
      t.throws(() => sanitize(query), BadRequest)
      t.throws(() => sanitize(query), { message: operator })
      t.not(messageOf(() => sanitize(query)).includes('hunter2'), true)
    }
  })
}

t.test('says "filter value" at the top of a query and "query parameter" inside', async (t) => {
  t.throws(() => sanitize({ $where: 1 }), new BadRequest('Invalid filter value $where'))
  t.throws(() => sanitize({ a: { $where: 1 } }), new BadRequest('Invalid query parameter $where'))
  t.throws(() => sanitize({ $in: [1] }), new BadRequest('Invalid filter value $in'))
})

t.test('lets the operators of the option pass, and further names at the top', async (t) => {
  const query = { name: { $regex: 'a' }, $or: [{ name: { $regex: 'b' } }] }
  t.strictSame(sanitize(query, { operators: ['$regex'] }), query)
  const filters = { $search: (value: unknown) => String(value).trim(), $comment: true } as const
  t.strictSame(sanitize({ $search: ' x ', $comment: 'y' }, { filters }), {
    $search: 'x',
    $comment: 'y',
  })
  t.throws(() => sanitize({ $comment: { $where: 1 } }, { filters }), BadRequest)
})

const MALFORMED: readonly [string, Query][] = [
  ['$or as an object', { $or: { name: 'a' } }],
  ['$or as a string', { $or: '1' }],
  ['an empty $or', { $or: [] }],
  ['$or of strings', { $or: ['a'] }],
  ['$or of lists', { $or: [[{ $where: '1' }]] }],
  ['$and as a string', { $and: '1' }],
  ['$in as a string', { name: { $in: 'a' } }],
  ['$in with another operator among its indexes', { name: { $in: { 0: 'a', $ne: 'b' } } }],
  ['undefined', { owner: undefined }],
  ['undefined in $in', { owner: { $in: [undefined] } }],
  ['undefined in $or', { $or: [{ owner: undefined }] }],
  ['a function', { owner: () => true }],
  ['a symbol', { owner: Symbol('x') }],
  ['an ObjectId made of JSON', { ref: { _bsontype: 'ObjectId' } }],
  ['an object of an unknown class', { ref: new Map([['$where', 1]]) }],
  ['the key __proto__', JSON.parse('{"__proto__":{"admin":true}}') as Query],
  ['the key __proto__ deep inside', JSON.parse('{"a":{"b":[{"__proto__":{"x":1}}]}}') as Query],
  ['$sort as a name', { $sort: 'name' }],
  ['$sort as a list', { $sort: ['name'] }],
  ['$sort by $meta', { $sort: { a: { $meta: 'textScore' } } }],
  ['$sort by $natural', { $sort: { $natural: -1 } }],
  ['$sort with 2', { $sort: { a: 2 } }],
  ['$sort with __proto__', JSON.parse('{"$sort":{"__proto__":1}}') as Query],
  ['$select as a name', { $select: 'name' }],
  ['$select of numbers', { $select: [1] }],
  ['$select of an operator', { $select: ['$where'] }],
  ['$select of an empty path', { $select: ['a..b'] }],
  ...[
    -1,
    1.5,
    Number.NaN,
    Infinity,
    '-1',
    '1.5',
    '0x10',
    ' 5 ',
    '5;',
    '',
    'x',
    [],
    {},
    null,
  ].flatMap((value): [string, Query][] => [
    [`$limit ${JSON.stringify(value)}`, { $limit: value }],
    [`$skip ${JSON.stringify(value)}`, { $skip: value }],
  ]),
]

for (const [title, query] of MALFORMED) {
  t.test(`refuses ${title}`, async (t) => {
    t.throws(() => sanitize(query), BadRequest)
    t.equal(({} as { admin?: unknown }).admin, undefined)
  })
}

t.test('reads $limit, $skip and $sort from strings', async (t) => {
  const query = { $limit: '5', $skip: '0', $sort: { name: '1', 'address.city': '-1' } }
  t.strictSame(sanitize(query), { $limit: 5, $skip: 0, $sort: { name: 1, 'address.city': -1 } })
})

t.test('reads index-keyed objects as lists where lists are meant', async (t) => {
  const ids = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [index, `id-${index}`]))
  const query = { _id: { $in: ids }, $or: { 0: { a: 1 }, 1: { b: 2 } }, $select: { 0: 'name' } }
  t.strictSame(sanitize(query), {
    _id: { $in: Object.values(ids) },
    $or: [{ a: 1 }, { b: 2 }],
    $select: ['name'],
  })
})

t.test('keeps dates, ObjectIds, buffers and regular expressions of callers inside', async (t) => {
  const query = { a: new Date(), b: new ObjectId(), c: Buffer.from('x'), d: /x/, e: null, f: 5n }
  t.strictSame(sanitize(query), query)
})

t.test('takes objects without prototype as query string parsers make them', async (t) => {
  const inner: Query = Object.assign(Object.create(null), { $gt: 1 })
  t.strictSame(sanitize(Object.assign(Object.create(null), { age: inner })), { age: { $gt: 1 } })
})

t.test('changes nothing in the query it is given', async (t) => {
  const query = { age: { $le: '5' }, $or: [{ a: 1 }], $limit: '5', $sort: { a: '1' } }
  const before = structuredClone(query)
  sanitize(query)
  t.strictSame(query, before)
})

const nested = (levels: number): Query => (levels === 0 ? { a: 1 } : { $and: [nested(levels - 1)] })
const listed = (levels: number): unknown => (levels === 0 ? 1 : [listed(levels - 1)])

const TOO_MUCH: readonly [string, Query, RegExp][] = [
  ['1,000 alternatives', { $or: Array.from({ length: 1000 }, () => ({ a: 1 })) }, /150 conditions/],
  ['1,000 empty alternatives', { $or: Array(1000).fill({}) }, /150 conditions/],
  ['20 levels of $and', nested(20), /10 levels/],
  ['5,000 levels of $and', nested(5000), /10 levels/],
  ['5,000 lists inside each other', { a: listed(5000) }, /10 levels/],
  ['100,000 values', { a: { $in: Array(100_000).fill(1) } }, /10000 values/],
  [
    '200 fields',
    Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`f${index}`, 1])),
    /150 conditions/,
  ],
  ['a $skip of ten million', { $skip: 10_000_000 }, /1000000/],
]

for (const [title, query, message] of TOO_MUCH) {
  t.test(`refuses ${title} and names the limit`, async (t) => {
    t.throws(() => sanitize(query), BadRequest)
    t.match(
      messageOf(() => sanitize(query)),
      message,
    )
  })
}

t.test('takes limits from the options', async (t) => {
  const limits = { conditions: 1, skip: 5 }
  t.throws(() => sanitize({ a: 1, b: 2 }, { limits }), { message: /1 conditions/ })
  t.throws(() => sanitize({ $skip: 6 }, { limits }), { message: /5/ })
  t.strictSame(sanitize(nested(9)), nested(9))
})

t.test('either refuses a query with 400 or lets only allowed operators through', async (t) => {
  const key = fc.constantFrom('a', 'b.c', '__proto__', 'constructor', '$or', '$in', '$gt', '$where')
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 4 }, fc.constantFrom(1, 'x', null), tie('list'), tie('object')),
    list: fc.array(tie('any'), { maxLength: 3 }),
    object: fc.dictionary(key, tie('any'), { maxKeys: 3, noNullPrototype: false }),
  })).object
  const property = fc.property(value, (query) => {
    try {
      return !JSON.stringify(sanitize(query as Query)).includes('"$where"')
    } catch (error) {
      return error instanceof BadRequest
    }
  })
  fc.assert(property, { numRuns: 500 })
  t.strictSame(Object.keys(Object.prototype), [])
})

function messageOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return ''
}

t.test('a limit that somebody unset lets nothing pass', async (t) => {
  const unset = { ...resolveMongoDBOptions({ Model: idleCollection }), limits: {} }
  t.throws(() => sanitizeQuery({ a: 1 }, unset as MongoDBSettings), /nested more than undefined/)
})

t.test('tells the log, and no caller, which option allows what is refused', async (t) => {
  for (const [query, hint] of [
    [{ a: { $regex: 'x' } }, "allow it by the option operators: ['$regex']"],
    [{ $nor: [] }, "allow it by the option operators: ['$nor']"],
    [{ $text: { $search: 'x' } }, "allow it by the option operators: ['$text']"],
    [{ $search: 'x' }, 'name it in the option filters: { $search: true }'],
    [{ $comment: 'x' }, 'name it in the option filters: { $comment: true }'],
    [{ $where: 'x' }, undefined],
    [{ $expr: {} }, undefined],
    [{ a: { $function: 'x' } }, undefined],
    [{ a: { $unknown: 'x' } }, undefined],
    [{ '$odd name': 'x' }, undefined],
  ] as const) {
    const error = await sanitizeAndFail(query)
    t.notMatch(JSON.stringify(error), 'option')
    t.equal((error.cause as { hint?: string } | undefined)?.hint, hint, JSON.stringify(query))
  }
})

async function sanitizeAndFail(query: Query): Promise<BadRequest> {
  try {
    sanitize(query)
  } catch (error) {
    return error as BadRequest
  }
  throw new Error('was not refused')
}
