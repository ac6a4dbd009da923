import { generateKeyPairSync } from 'node:crypto'
import type { Collection, Document } from 'mongodb'
import { MinKey, ObjectId, Timestamp } from 'mongodb'
import t from 'tap'
import type { MongoDBOptions, MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { createApp } from '../../../src/core/create-app.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import type { Page } from '../../../src/core/params.ts'
import { isPlainObject } from '../../../src/core/value-kind.ts'
import { namesOf, openDatabase } from '../../support/database.ts'

const { client, empty, commandsOf } = await openDatabase(t)

const SECRET = 'a secret of the pages, long enough'
const PAGINATE = { default: 2, max: 10, secret: SECRET }
const OUTSIDE = { provider: 'rest' } as const

type Options = Partial<MongoDBOptions>

/** Starts with records whose `rank` is 0, 0, 1, 1, 2 … */
async function startWith(records: readonly Document[] | number, options: Options = {}) {
  const model = await empty('pages')
  const list = Array.isArray(records)
    ? records
    : Array.from({ length: Number(records) }, (_, _id) => ({
        ...{ _id, rank: Math.floor(_id / 2), name: `name ${_id}`, at: { day: _id % 3 } },
      }))
  if (list.length > 0) await model.insertMany(list.map((one) => ({ ...one })) as never)
  return { model, ...serve(model, options) }
}

function serve(model: Collection, options: Options = {}) {
  const service = new MongoDBService({ Model: model, paginate: PAGINATE, ...options } as never)
  const find = (query: object, params: MongoDBParams = {}): Promise<Page<Document>> =>
    service.find({ query, ...params } as never) as unknown as Promise<Page<Document>>
  return { service, find }
}

/** Returns a `$sort` of this many fields. */
const sortBy = (length: number): Record<string, -1> =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`f${index}`, -1]))

const idsOf = ({ data }: Page<Document>): unknown[] => data.map(({ _id }) => _id)

t.test('a page by a skip is what it was', async (t) => {
  const { find } = await startWith(3)
  const page = await find({ $limit: 1, $skip: 1, $select: ['rank'] })
  t.strictSame(page, { total: 3, limit: 1, skip: 1, data: [{ _id: 1, rank: 0 }] })
})

t.test('pages go forward by nextCursor, and tell where they end', async (t) => {
  const { find } = await startWith(5)
  const $sort = { rank: -1 }
  const first = await find({ $sort, $after: '' })
  t.strictSame(Object.keys(first), ['limit', 'data', 'hasNext', 'nextCursor', 'previousCursor'])
  t.match(first, { limit: 2, hasNext: true })
  t.strictSame(idsOf(first), [4, 3])
  const second = await find({ $sort, $after: first.nextCursor })
  t.strictSame(idsOf(second), [2, 1])
  const third = await find({ $sort, $after: second.nextCursor })
  t.strictSame(idsOf(third), [0])
  t.match(third, { hasNext: false, nextCursor: null })
})

t.test('and back by previousCursor, in the same order', async (t) => {
  const { find } = await startWith(5)
  const $sort = { rank: -1 }
  const last = await find({ $sort, $before: '' })
  t.strictSame(Object.keys(last), ['limit', 'data', 'hasPrevious', 'previousCursor', 'nextCursor'])
  t.strictSame(idsOf(last), [1, 0])
  const middle = await find({ $sort, $before: last.previousCursor })
  t.strictSame(idsOf(middle), [3, 2])
  t.match(middle, { hasPrevious: true })
  const first = await find({ $sort, $before: middle.previousCursor })
  t.strictSame(idsOf(first), [4])
  t.match(first, { hasPrevious: false, previousCursor: null })
  t.strictSame(idsOf(await find({ $sort, $after: middle.nextCursor })), [1, 0])
})

t.test('previousCursor of the first page finds what has come since', async (t) => {
  const { model, find } = await startWith(3)
  const $sort = { _id: -1 }
  const { previousCursor } = await find({ $sort, $after: '' })
  t.strictSame(idsOf(await find({ $sort, $before: previousCursor })), [])
  await model.insertOne({ _id: 9 } as never)
  t.strictSame(idsOf(await find({ $sort, $before: previousCursor })), [9])
})

t.test('a page without records has no cursors', async (t) => {
  const { find } = await startWith(0)
  const ends = { nextCursor: null, previousCursor: null }
  t.strictSame(await find({ $after: '' }), { limit: 2, data: [], hasNext: false, ...ends })
  t.match(await find({ $before: '' }), { data: [], hasPrevious: false, ...ends })
})

t.test('without $sort it is by the id', async (t) => {
  const { find } = await startWith([{ _id: 2 }, { _id: 'a' }, { _id: 1 }])
  const { data, nextCursor } = await find({ $total: false })
  t.strictSame(data, [{ _id: 1 }, { _id: 2 }])
  t.strictSame(idsOf(await find({ $after: nextCursor })), ['a'])
})

const TOTALS: Readonly<Record<string, readonly [object, object]>> = {
  none: [{ $after: '' }, { total: undefined }],
  'none by false': [{ $total: false }, { total: undefined }],
  all: [{ $total: true }, { total: 5, isTotalCapped: undefined }],
  'all by a string': [{ $total: 'true', $after: '' }, { total: 5 }],
  'those that match': [{ $total: true, rank: 0 }, { total: 2 }],
  'an estimate': [{ $total: 'estimate' }, { total: 5 }],
  'an estimate of those that match': [{ $total: 'estimate', rank: 0 }, { total: 2 }],
  'fewer than the cap': [{ $total: { cap: 6 } }, { total: 5, isTotalCapped: false }],
  'as many as the cap': [{ $total: { cap: '5' } }, { total: 5, isTotalCapped: false }],
  'more than the cap': [{ $total: { cap: 4 } }, { total: 4, isTotalCapped: true }],
}

for (const [title, [query, expected]] of Object.entries(TOTALS)) {
  t.test(`the total: ${title}`, async (t) => {
    const { find } = await startWith(5)
    const page = (await find(query)) as unknown as Record<string, unknown>
    for (const [name, value] of Object.entries(expected)) t.equal(page[name], value, name)
    t.equal('total' in page, (expected as { total?: number }).total !== undefined)
    t.notOk('skip' in page)
  })
}

t.test('only an estimate without any condition is read from the metadata', async (t) => {
  const { find } = await startWith(5)
  const countOf = async (query: object, params?: object) => {
    const commands = await commandsOf(() => find(query, params))
    return namesOf(commands).sort()
  }
  t.strictSame(await countOf({ $total: 'estimate' }), ['count', 'find'])
  t.strictSame(await countOf({ $total: 'estimate', rank: 0 }), ['aggregate', 'find'])
  t.strictSame(await countOf({ $total: true }), ['aggregate', 'find'])
  t.strictSame(await countOf({ $total: false }), ['find'])
  const { nextCursor } = await find({ $sort: { rank: 1 }, $after: '' })
  t.strictSame(await countOf({ $sort: { rank: 1 }, $after: nextCursor }), ['find'])
})

t.test('pages of a transaction share its session', async (t) => {
  const { find } = await startWith(5)
  await client.withSession((session) =>
    session.withTransaction(async () => {
      const page = await find({ $after: '', $total: true }, { docdb: { session } })
      t.match(page, { total: 5, data: [{ _id: 0 }, { _id: 1 }] })
    }),
  )
})

t.test('$select may leave out what is sorted by', async (t) => {
  const { find } = await startWith(4)
  const $sort = { 'at.day': 1, rank: -1 }
  const query = { $sort, $select: ['name'] }
  const first = await find({ ...query, $after: '' })
  t.strictSame(first.data, [
    { _id: 3, name: 'name 3' },
    { _id: 0, name: 'name 0' },
  ])
  const second = await find({ $sort, $select: ['at'], $after: first.nextCursor })
  t.strictSame(second.data, [
    { _id: 1, at: { day: 1 } },
    { _id: 2, at: { day: 2 } },
  ])
})

t.test('hidden fields stay hidden, and can not be sorted by from outside', async (t) => {
  const { find, service } = await startWith(3, { hidden: ['rank'] })
  const page = await find({ $after: '', $sort: { name: 1 } }, OUTSIDE)
  t.strictSame(Object.keys(page.data[0] ?? {}), ['_id', 'name', 'at'])
  const params = { query: { $after: '', $sort: { rank: 1 } }, ...OUTSIDE }
  await t.rejects(service.find(params as never), BadRequest)
  await t.rejects(service._find(params as never), BadRequest)
  t.match(await find({ $after: '', $sort: { rank: 1 } }), { data: [{ rank: 0 }, { rank: 0 }] })
})

t.test('a cursor does not show the values that it is made of', async (t) => {
  const { find } = await startWith([{ _id: 1, name: 'confidential' }, { _id: 2 }, { _id: 3 }])
  const { nextCursor, previousCursor } = await find({ $after: '', $sort: { name: -1 } })
  for (const cursor of [nextCursor, previousCursor]) {
    t.notMatch(Buffer.from(cursor ?? '', 'base64url').toString('latin1'), /confidential/)
  }
})

t.test('a collation sorts and compares in the same way', async (t) => {
  const names = ['b', 'A', 'a', 'B', 'c']
  const { find } = await startWith(names.map((name, _id) => ({ _id, name })))
  const params = { collation: { locale: 'en', strength: 2 } }
  const query = { $sort: { name: 1 } }
  const ids: unknown[] = []
  for (let cursor: string | null | undefined = ''; typeof cursor === 'string'; ) {
    const page: Page<Document> = await find({ ...query, $after: cursor }, params)
    ids.push(...idsOf(page))
    cursor = page.nextCursor
  }
  t.strictSame(ids, [1, 2, 0, 3, 4])
  const { nextCursor } = await find({ ...query, $after: '' }, params)
  await t.rejects(find({ ...query, $after: nextCursor }), BadRequest, 'it belongs to the cursor')
  const strings = await startWith([{ _id: 'a' }, { _id: 'A' }])
  await t.rejects(strings.find({ $after: '' }, params), {
    message: "Cannot sort pages with cursors by a string, with a collation, in '_id'",
  })
})

t.test('a text search has pages', async (t) => {
  const { model, find } = await startWith(
    [1, 2, 3, 4].map((_id) => ({ _id, text: _id === 2 ? 'bird' : 'fox' })),
    { filters: { $search: true } },
  )
  await model.createIndex({ text: 'text' }, { default_language: 'none' })
  t.teardown(() => model.dropIndexes())
  const first = await find({ $search: 'fox', $after: '', $total: true })
  t.match(first, { total: 3, data: [{ _id: 1 }, { _id: 3 }] })
  t.strictSame(idsOf(await find({ $search: 'fox', $after: first.nextCursor })), [4])
})

/** Values that no cursor can be made of, and how the error calls them. */
const REFUSED_VALUES: Readonly<Record<string, readonly [unknown, string]>> = {
  'a list': [[1, 2], 'a list'],
  'an empty list': [[], 'a list'],
  'an object': [{ x: 1 }, 'a value of its type'],
  'a regular expression': [/a/, 'a value of its type'],
  'a timestamp': [new Timestamp({ t: 1, i: 1 }), 'a value of its type'],
  MinKey: [new MinKey(), 'a value of its type'],
}

for (const [title, [value, named]] of Object.entries(REFUSED_VALUES)) {
  t.test(`${title} to sort by is refused by name, wherever a page comes to it`, async (t) => {
    const others = ['', 1, null, new ObjectId()].map((rank) => ({ rank }))
    const { find } = await startWith([...others, { rank: value }])
    const message = `Cannot sort pages with cursors by ${named} in 'rank'`
    for (const direction of [1, -1]) {
      const walk = async (): Promise<void> => {
        for (let cursor: string | null | undefined = ''; typeof cursor === 'string'; ) {
          const page: Page<Document> = await find({ $sort: { rank: direction }, $after: cursor })
          cursor = page.nextCursor
        }
      }
      await t.rejects(walk(), { name: 'BadRequest', message })
    }
    t.match(await find({ $after: '', $limit: 10 }), { data: { length: 5 } }, 'by the id they come')
  })
}

t.test('a list on the way to what is sorted by is refused', async (t) => {
  const { find } = await startWith([{ tags: [{ name: 'a' }] }])
  const message = "Cannot sort pages with cursors by a list in 'tags.name'"
  await t.rejects(find({ $after: '', $sort: { 'tags.name': 1 } }), { message })
})

t.test('values that are too long for a URL are refused', async (t) => {
  const { find } = await startWith([{ name: 'a'.repeat(5_000) }])
  const message = 'The values that $sort sorts by are too long for a cursor'
  await t.rejects(find({ $after: '', $sort: { name: 1 } }), { name: 'BadRequest', message })
})

const REFUSED_QUERIES: readonly [object, string][] = [
  [{ $after: '', $before: '' }, '$after and $before cannot be combined in one query'],
  [{ $after: '', $skip: 1 }, '$after and $skip cannot be combined in one query'],
  [{ $total: true, $skip: 0 }, '$total and $skip cannot be combined in one query'],
  [{ $after: '', $limit: 0 }, '$after is not possible with a $limit of 0'],
  [{ $after: null }, '$after must be a cursor, or an empty string'],
  [{ $after: 5 }, '$after must be a cursor, or an empty string'],
  [{ $before: ['a'] }, '$before must be a cursor, or an empty string'],
  [{ $before: { $gt: '' } }, '$before must be a cursor, or an empty string'],
  ...[0, 'all', null, [], {}, { cap: 0 }, { cap: 5, of: 1 }, { of: 5 }].map(
    ($total): [object, string] => [
      { $total },
      "$total must be true, false, 'estimate' or { cap: 1000 }",
    ],
  ),
  [{ $total: { cap: -1 } }, '$total[cap] must be a whole number from 0 on'],
  [{ $total: { cap: 'x' } }, '$total[cap] must be a whole number from 0 on'],
  [{ $or: [{ $after: '' }] }, 'Invalid query parameter $after'],
  [{ name: { $total: true } }, 'Invalid query parameter $total'],
  [
    {
      $after: '',
      $sort: sortBy(9),
    },
    '$sort takes at most 8 fields in pages with cursors, not counting _id',
  ],
  [
    { $total: true, $sort: sortBy(31) },
    '$sort takes at most 8 fields in pages with cursors, not counting _id',
  ],
  [
    { $before: '', $sort: { ...sortBy(9), _id: 1 } },
    '$sort takes at most 8 fields in pages with cursors, not counting _id',
  ],
]

/** Returns how many fields and operators a condition has. */
function countNames(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum, one) => sum + countNames(one), 0)
  if (!isPlainObject(value)) return 0
  return Object.values(value).reduce<number>((sum, one) => sum + 1 + countNames(one), 0)
}

t.test('a page of eight sort fields has a condition of bounded size', async (t) => {
  const records = Array.from({ length: 3 }, (_, _id) => ({
    ...{ _id, ...Object.fromEntries(Object.keys(sortBy(8)).map((name) => [name, 1])) },
  }))
  const { find } = await startWith(records)
  for (const others of [{}, { _id: -1 }, { _id: -1, f8: 1, f9: 1 }]) {
    const $sort = { ...sortBy(8), ...others }
    const { nextCursor: $after } = await find({ $sort, $after: '' })
    const [{ filter } = {}] = await commandsOf(async () => {
      t.strictSame(idsOf(await find({ $sort, $after })), [0])
    })
    t.ok(countNames(filter) < 300, `${countNames(filter)} names`)
  }
})

t.test('queries that ask for no page are refused by name', async (t) => {
  const { find } = await startWith(1)
  for (const [query, message] of REFUSED_QUERIES) {
    await t.rejects(find(query), { name: 'BadRequest', message }, JSON.stringify(query))
  }
})

t.test('the largest numbers are sizes as well', async (t) => {
  const { find } = await startWith(3)
  const most = String(Number.MAX_SAFE_INTEGER - 1)
  const page = await find(
    { $after: '', $limit: most, $total: { cap: most } },
    { paginate: { default: 1 } },
  )
  t.match(page, { total: 3, isTotalCapped: false, hasNext: false, data: { length: 3 } })
})

const ELSEWHERE: Readonly<Record<string, (service: MongoDBService) => Promise<unknown>>> = {
  get: (service) => service.get(1, { query: { $after: '' } } as never),
  update: (service) => service.update(1, { a: 1 } as never, { query: { $total: true } } as never),
  patch: (service) => service.patch(1, { a: 1 }, { query: { $before: '' } } as never),
  'patch of many': (service) => service.patch(null, {}, { query: { $after: '' } } as never),
  remove: (service) => service.remove(1, { query: { $after: '' } } as never),
  countDocuments: (service) => service.countDocuments({ query: { $after: '' } } as never),
  findRaw: (service) => service.findRaw({ query: { $total: true } } as never),
}

for (const [title, call] of Object.entries(ELSEWHERE)) {
  t.test(`${title} has no pages`, async (t) => {
    const { service } = await startWith(2, { multi: true })
    await t.rejects(call(service as unknown as MongoDBService), {
      name: 'BadRequest',
      message: / is only possible in find, and not in live queries and exports$/,
    })
  })
}

const REFUSED_CALLS: readonly [object, MongoDBParams, string][] = [
  [{ $after: '' }, { paginate: false }, '$after is not possible in a service without pages'],
  [{ $total: true }, { paginate: { max: 5 } }, '$total is not possible in a service without pages'],
  [
    { $after: '' },
    { pipeline: [{ $set: { a: 1 } }] },
    '$after is not possible with params.pipeline',
  ],
  [
    { $after: '' },
    { docdb: { sort: { rank: 1 } } },
    '$after is not possible with params.docdb.sort',
  ],
  [
    { $after: '', at: { $near: [1, 2] } },
    { adapter: { operators: ['$near'] } },
    '$after is not possible with $near',
  ],
  [
    { $after: '', $sort: { score: { $meta: 'textScore' } } },
    {},
    '$sort takes field names with the values 1 and -1',
  ],
]

for (const [query, params, message] of REFUSED_CALLS) {
  t.test(message, async (t) => {
    const { find } = await startWith(1)
    await t.rejects(find(query, params), { name: 'BadRequest', message })
  })
}

t.test('a stream of a page with cursors is refused', async (t) => {
  const { service } = await startWith(1)
  await t.rejects(service.followRecords({ query: { $after: '' } } as never), BadRequest)
})

t.test('a cursor is for its service, sort and secret alone', async (t) => {
  const { model, find } = await startWith(5)
  const query = { $sort: { rank: 1 } }
  const { nextCursor } = await find({ ...query, $after: '' })
  t.match(await find({ ...query, $after: nextCursor, name: /name/ }), { hasNext: true }, 'a filter')
  t.match(await find({ ...query, $after: nextCursor, $limit: 1 }), { limit: 1 }, 'a size')
  t.match(await serve(model).find({ ...query, $after: nextCursor }), { limit: 2 }, 'a process')
  const message = '$after is not a cursor of this service and this $sort'
  const refused = { name: 'BadRequest', message }
  for (const $sort of [undefined, { rank: -1 }, { rank: 1, name: 1 }, { name: 1 }]) {
    await t.rejects(find({ $after: nextCursor, ...($sort && { $sort }) }), refused)
  }
  const others = await empty('other pages')
  await t.rejects(serve(others).find({ ...query, $after: nextCursor }), refused)
  const paginate = { ...PAGINATE, secret: 'another secret of at least 32 bytes' }
  await t.rejects(serve(model, { paginate }).find({ ...query, $after: nextCursor }), refused)
  const app = createApp()
  app.use('pages', serve(model).service as never)
  const named = app.service('pages')
  await t.rejects(named.find({ query: { ...query, $after: nextCursor } }), refused, 'a path')
})

t.test('params.paginate keeps the secret of the service', async (t) => {
  const { find } = await startWith(5)
  const { nextCursor } = await find({ $after: '' })
  const page = await find({ $after: nextCursor }, { paginate: { default: 1 } })
  t.match(page, { limit: 1, data: [{ _id: 2 }] })
})

/** Returns `find` of a service in an application with a secret of its authentication. */
function startPages(model: Collection, secret: unknown, paginate: object = {}) {
  const app = createApp()
  app.set('authentication', { secret })
  app.use('pages', serve(model, { paginate: { default: 2, ...paginate } }).service as never)
  return (query: object): Promise<Page<Document>> =>
    app.service('pages').find({ query } as never) as Promise<Page<Document>>
}

t.test('the secret of the authentication is the default, and a list of them rotates', async (t) => {
  const { model } = await startWith(5)
  const [old, fresh] = ['an old secret of at least 32 bytes', 'a new secret of at least 32 bytes']
  const start = (secret: unknown) => startPages(model, secret)
  const { nextCursor } = await start(old)({ $after: '' })
  const rotated = await start([fresh, old])({ $after: nextCursor })
  t.strictSame(idsOf(rotated), [2, 3])
  t.strictSame(idsOf(await start(fresh)({ $after: rotated.nextCursor })), [4])
  await t.rejects(start(fresh)({ $after: nextCursor }), BadRequest)
})

t.test('without a secret cursors hold in this process, and production logs it', async (t) => {
  const before = process.env['NODE_ENV']
  process.env['NODE_ENV'] = 'production'
  t.teardown(() => {
    process.env['NODE_ENV'] = before
    if (before === undefined) delete process.env['NODE_ENV']
  })
  const { model } = await startWith(3)
  const app = createApp()
  const warnings: unknown[] = []
  app.logger = {
    ...app.logger,
    warn: (_details: object, message: string) => warnings.push(message),
  }
  app.use('pages', serve(model, { paginate: { default: 2 } }).service as never)
  const find = (query: object) => app.service('pages').find({ query } as never)
  const { nextCursor } = (await find({ $after: '' })) as Page<Document>
  t.match(await find({ $after: nextCursor }), { data: [{ _id: 2 }] })
  t.strictSame(warnings, [
    "Cursors of pages end with this process, and hold in no other one: set 'paginate.secret'",
  ])
})

t.test('a public key that tokens are verified by makes and opens no cursor', async (t) => {
  const { model } = await startWith(5)
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  // What everybody could make.
  const { nextCursor: forged } = await startPages(model, undefined, { secret: publicKey })({
    $after: '',
  })
  for (const secret of [[privateKey, publicKey], publicKey]) {
    const find = startPages(model, secret)
    await t.rejects(find({ $after: forged }), BadRequest)
    const { nextCursor } = await find({ $after: '' })
    t.strictSame(idsOf(await find({ $after: nextCursor })), [2, 3])
  }
  const { nextCursor } = await startPages(model, [privateKey, publicKey])({ $after: '' })
  const signing = await startPages(model, privateKey)({ $after: nextCursor })
  t.strictSame(idsOf(signing), [2, 3], 'a private key is a secret')
})

t.test('the option paginate.secret is checked', (t) => {
  for (const secret of ['short', 5, Buffer.alloc(32)]) {
    const paginate = { default: 1, secret } as never
    t.throws(() => new MongoDBService({ Model: client.db('a').collection('b'), paginate }), {
      message: "MongoDBService: the option 'paginate.secret' must be a string of at least 32 bytes",
    })
  }
  t.end()
})

t.test('no changed cursor opens', async (t) => {
  const { find } = await startWith(5)
  const cursor = (await find({ $after: '' })).nextCursor ?? ''
  const bytes = Buffer.from(cursor, 'base64url')
  const flipped = [...bytes.keys()].map((index) => {
    const copy = Buffer.from(bytes)
    copy[index] = (copy[index] ?? 0) ^ 1
    return copy.toString('base64url')
  })
  const cut = [...cursor].map((_, index) => cursor.slice(0, index)).slice(1)
  const odd = [
    'null',
    ' ',
    `${cursor} `,
    `${cursor}=`,
    `${cursor}A`,
    '\0',
    'ä',
    'A'.repeat(1_000_000),
  ]
  for (const $after of [...flipped, ...cut, ...odd]) {
    await t.rejects(find({ $after }), BadRequest, $after.slice(0, 100))
  }
})
