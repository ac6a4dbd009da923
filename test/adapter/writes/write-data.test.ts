import { ObjectId } from 'mongodb'
import t from 'tap'
import { resolveMongoDBOptions } from '../../../src/adapter/resolve-options.ts'
import { checkChange, checkNewRecords } from '../../../src/adapter/writes/data-check.ts'
import type { WriteData } from '../../../src/adapter/writes/write-data.ts'
import {
  checkUnmixed,
  createDocument,
  createReplacement,
  createUpdate,
  listRecords,
} from '../../../src/adapter/writes/write-data.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import { idleCollection } from '../../support/idle-collection.ts'

const HEX = '507f1f77bcf86cd799439011'
const Model = idleCollection
const settings = resolveMongoDBOptions({ Model })
const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) })

const REFUSED_FIELDS: readonly [string, WriteData][] = [
  ['an operator inside', { name: { $gt: 1 } }],
  ['an operator in a list', { tags: [{ a: [{ $where: 1 }] }] }],
  ['an operator after a harmless sibling', { a: { b: 1 }, c: { d: { $where: '1' } } }],
  ['a dotted name', { 'profile.isAdmin': true }],
  ['a dotted name inside', { profile: { 'a.b': 1 } }],
  ['an ObjectId made of JSON', { ref: { _bsontype: 'ObjectId' } }],
  ['__proto__', JSON.parse('{"__proto__":{"admin":true}}') as WriteData],
  ['__proto__ inside', JSON.parse('{"a":[{"__proto__":{"admin":true}}]}') as WriteData],
  ['a number that is not finite', { price: [Infinity] }],
  ['NaN', { price: Number.NaN }],
  ['101 levels', { a: deep(101) }],
  ['100,000 levels', { a: deep(5_000) }],
]

for (const [title, data] of REFUSED_FIELDS) {
  t.test(`refuses ${title} from outside, in new records and in changes`, async (t) => {
    t.throws(() => checkNewRecords(data, settings), BadRequest)
    t.throws(() => checkChange(data, HEX, settings), BadRequest)
  })
}

t.test('refuses a promise in the place of a record', async (t) => {
  const record = Promise.resolve({ name: 'Ann' })
  const fault = { name: 'TypeError', message: 'The data is a promise: await it first' }
  t.throws(() => listRecords(record), fault)
  t.throws(() => listRecords([{}, record]), fault)
  t.throws(() => checkChange(record, HEX, settings), fault)
})

const REFUSED_OPERATORS: readonly WriteData[] = [
  { $rename: { password: 'name' } },
  { $unset: { password: 1 } },
  { $push: { roles: 'admin' } },
  { $inc: { credit: 9 } },
  { $set: { role: 'admin' } },
  { $currentDate: {} },
  { '$set.x': 1 },
  { name: 'a', $inc: { credit: 9 } },
]

for (const data of REFUSED_OPERATORS) {
  t.test(`refuses ${JSON.stringify(data)} from outside`, async (t) => {
    t.throws(() => checkNewRecords(data, settings), BadRequest)
    t.throws(() => checkChange(data, HEX, settings), BadRequest)
  })
}

t.test('lets operators and dotted names pass that the option lists', async (t) => {
  const updateOperators = ['$push', '$inc', '$pull', 'address.city', 'stats.visits']
  const open = resolveMongoDBOptions({ Model, updateOperators })
  checkChange({ $push: { tags: { $each: ['a'], $slice: -5 } } }, HEX, open)
  checkChange({ $pull: { tags: { $in: ['a'] } }, $inc: { 'stats.visits': 1 } }, HEX, open)
  checkChange({ 'address.city': 'x' }, HEX, open)
  const refused: WriteData[] = [
    { $set: { a: 1 } },
    { $inc: { 'stats.other': 1 } },
    { $inc: { _id: 1 } },
    { $push: { tags: { $where: '1' } } },
    { $push: 'tags' },
    { 'address.street': 'x' },
  ]
  for (const data of refused) t.throws(() => checkChange(data, HEX, open), BadRequest)
})

t.test('lets a change repeat the id and refuses another one', async (t) => {
  checkChange({ _id: HEX.toUpperCase(), a: 1 }, new ObjectId(HEX), settings)
  for (const _id of [new ObjectId(), 'x', { $ne: null }]) {
    t.throws(() => checkChange({ _id }, HEX, settings), BadRequest)
  }
  t.throws(() => checkChange({ _id: HEX }, null, settings), BadRequest)
})

t.test('refuses an id of a new record, whatever it is (MASS-1)', async (t) => {
  const withKey = resolveMongoDBOptions({ Model, id: 'key' })
  const refusal = (name: string) => new BadRequest(`The field '${name}' is set by the server`)
  for (const id of [HEX, 'x', 1, null, {}, [HEX], true]) {
    t.throws(() => checkNewRecords({ _id: id }, settings), refusal('_id'))
    t.throws(() => checkNewRecords({ _id: id }, withKey), refusal('_id'))
    t.throws(() => checkNewRecords({ key: id }, withKey), refusal('key'))
  }
  t.doesNotThrow(() => checkNewRecords({ _id: undefined, key: 1 }, settings))
})

t.test('takes a usable id of a new record with allowClientId, rejects a broken one', async (t) => {
  const open = resolveMongoDBOptions({ Model, allowClientId: true })
  checkNewRecords({ _id: HEX }, open)
  for (const _id of [null, {}, [HEX], true]) {
    t.throws(() => checkNewRecords({ _id }, open), BadRequest)
  }
  const withKey = resolveMongoDBOptions({ Model, id: 'key', allowClientId: true })
  checkNewRecords({ key: 'FRA' }, withKey)
  t.throws(() => checkNewRecords({ key: {} }, withKey), BadRequest)
  t.throws(() => checkNewRecords({ _id: {} }, withKey), BadRequest)
})

t.test('keeps values that hooks have converted already', async (t) => {
  const data = { at: new Date(), ref: new ObjectId(), raw: Buffer.from('x'), constructor: 'x' }
  t.doesNotThrow(() => checkNewRecords(data, settings))
})

for (const data of [null, undefined, 'x', 1, [[]], [null], [1]]) {
  t.test(`takes ${JSON.stringify(data)} for no record`, async (t) => {
    t.throws(() => listRecords(data), BadRequest)
  })
}

const withKey = resolveMongoDBOptions({ Model: idleCollection, id: 'key' })

const UPDATES: readonly [string, Record<string, unknown>, Record<string, unknown>][] = [
  ['puts fields into $set', { a: 1, 'b.c': 2 }, { $set: { a: 1, 'b.c': 2 } }],
  ['joins fields and $set', { a: 1, $set: { b: 2 } }, { $set: { a: 1, b: 2 } }],
  ['keeps operators', { $inc: { a: 1 } }, { $inc: { a: 1 } }],
  ['takes fields and operators', { a: 1, $inc: { b: 1 } }, { $inc: { b: 1 }, $set: { a: 1 } }],
  ['leaves the id out', { _id: 1, a: 1, $set: { _id: 2 } }, { $set: { a: 1 } }],
  ['leaves undefined out', { a: undefined, b: null }, { $set: { b: null } }],
  ['makes an empty patch an update without changes', {}, { $set: {} }],
]

for (const [title, data, update] of UPDATES) {
  t.test(`a patch ${title}`, async (t) => {
    const before = structuredClone(data)
    t.strictSame(createUpdate(data, { id: '_id' }), update)
    t.strictSame(data, before)
  })
}

t.test('a patch leaves out an id field of another name, and _id as well', async (t) => {
  t.strictSame(createUpdate({ key: 'x', _id: HEX, a: 1 }, { id: 'key' }), {
    $set: { a: 1 },
  })
})

t.test('a patch refuses a $set that is no object', async (t) => {
  t.throws(() => createUpdate({ $set: 'a' }, { id: '_id' }), BadRequest)
})

t.test('a replacement has no _id and always the given id of another name', async (t) => {
  t.strictSame(createReplacement({ _id: HEX, a: 1 }, '_id', HEX), { a: 1 })
  t.strictSame(createReplacement({ _id: HEX, key: 'y', a: 1 }, 'key', 'x'), { a: 1, key: 'x' })
})

t.test('an update is either fields or operators', async (t) => {
  checkUnmixed({ a: 1 })
  checkUnmixed({ $inc: { a: 1 } })
  t.throws(() => checkUnmixed({ a: 1, $inc: { b: 1 } }), BadRequest)
})

t.test('a new document keeps its id, with an ObjectId for 24 hexadecimal digits', async (t) => {
  t.strictSame(createDocument({ _id: HEX, a: 1 }, settings), { _id: new ObjectId(HEX), a: 1 })
  t.strictSame(createDocument({ _id: 7 }, settings), { _id: 7 })
  t.strictSame(createDocument({ _id: undefined, a: 1 }, settings), { a: 1 })
  const raw = { ...settings, disableObjectify: true }
  t.strictSame(createDocument({ _id: HEX }, raw), { _id: HEX })
})

t.test('a new document gets a missing id of another name', async (t) => {
  t.match(createDocument({ a: 1 }, withKey), { a: 1, key: /^[0-9a-f]{24}$/ })
  t.strictSame(createDocument({ key: 'x' }, withKey), { key: 'x' })
})
