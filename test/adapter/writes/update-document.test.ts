import { ObjectId } from 'mongodb'
import t from 'tap'

import { resolveMongoDBOptions } from '../../../src/adapter/resolve-options.ts'
import {
  checkUnmixed,
  createDocument,
  createReplacement,
  createUpdate,
} from '../../../src/adapter/writes/write-data.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import { idleCollection } from '../../support/idle-collection.ts'

const HEX = '507f1f77bcf86cd799439011'
const settings = resolveMongoDBOptions({ Model: idleCollection })
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
    t.strictSame(createUpdate(data, '_id'), update)
    t.strictSame(data, before)
  })
}

t.test('a patch leaves out an id field of another name, and _id as well', async (t) => {
  t.strictSame(createUpdate({ key: 'x', _id: HEX, a: 1 }, 'key'), { $set: { a: 1 } })
})

t.test('a patch refuses a $set that is no object', async (t) => {
  t.throws(() => createUpdate({ $set: 'a' }, '_id'), BadRequest)
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
