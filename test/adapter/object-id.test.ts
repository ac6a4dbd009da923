import { Binary, Decimal128, Double, Long, ObjectId, UUID } from 'mongodb'
import t from 'tap'

import { checkId, getIdKey, isObjectId, isSameId, toObjectId } from '../../src/adapter/object-id.ts'
import { BadRequest } from '../../src/core/errors/index.ts'

const HEX = '507f1f77bcf86cd799439011'

/** What an ObjectId of another copy of the driver looks like. */
class ForeignObjectId {
  get _bsontype(): string {
    return 'ObjectId'
  }
  toHexString(): string {
    return HEX
  }
}

t.test('makes an ObjectId of 24 hexadecimal digits in any case', async (t) => {
  for (const text of [HEX, HEX.toUpperCase()]) {
    const id = toObjectId(text)
    t.ok(id instanceof ObjectId)
    t.equal(String(id), HEX)
  }
})

t.test('keeps every other id as it is', async (t) => {
  const others = ['', 'abc', 'twelve chars', `${HEX}0`, ` ${HEX}`, `${HEX}\n`, 0, -1, 1.5, null]
  for (const id of others) t.equal(toObjectId(id), id)
})

t.test('takes over the ObjectId of another copy of the driver', async (t) => {
  const id = toObjectId(new ForeignObjectId())
  t.ok(id instanceof ObjectId)
  t.equal(String(id), HEX)
})

t.test('takes no object literal for an ObjectId', async (t) => {
  const fakes = [
    { _bsontype: 'ObjectId' },
    { _bsontype: 'ObjectId', toHexString: () => HEX },
    {},
    null,
    HEX,
  ]
  for (const fake of fakes) t.equal(isObjectId(fake), false)
  t.equal(isObjectId(new ObjectId()), true)
})

t.test('accepts strings, numbers and ObjectIds as an id argument', async (t) => {
  for (const id of ['a', '', 0, -1, new ObjectId(), new ForeignObjectId()]) {
    t.doesNotThrow(() => checkId(id))
  }
})

const BROKEN_IDS: readonly [unknown, string][] = [
  [undefined, 'undefined'],
  [null, 'null'],
  [{ $ne: null }, '{"$ne":null}'],
  [[HEX], `["${HEX}"]`],
  [true, 'true'],
  [5n, '5'],
  [{ _bsontype: 'ObjectId' }, '{"_bsontype":"ObjectId"}'],
]

for (const [id, text] of BROKEN_IDS) {
  t.test(`refuses the id ${text}`, async (t) => {
    t.throws(() => checkId(id), new BadRequest(`Invalid id '${text}'`))
  })
}

t.test('knows the same id in its different forms', async (t) => {
  t.equal(isSameId(HEX.toUpperCase(), new ObjectId(HEX)), true)
  t.equal(isSameId('7', 7), true)
  t.equal(isSameId(HEX, new ObjectId()), false)
  t.equal(isSameId({ $ne: null }, HEX), false)
})

t.test('takes no list and no object for an id, whatever its toString is', async (t) => {
  for (const value of [[HEX], [7], [[HEX]], { toString: HEX }, { toString: 1, valueOf: 1 }, {}]) {
    t.equal(isSameId(value, HEX), false)
    t.equal(isSameId(7, value), false)
    t.equal(isSameId(value, value), false)
  }
})

const UNLIKE_IDS: readonly unknown[] = [
  ...[1, '1', true, 'true', null, 'null', 1.5, '1.5', { a: 1 }, { a: '1' }, '{"a":1}'],
  ...[
    new ObjectId(HEX),
    HEX,
    new Date(0),
    0,
    2n ** 60n,
    2n ** 60n + 1n,
    Decimal128.fromString('1'),
  ],
  ...[new UUID(HEX.padEnd(32, '0')), Buffer.from('1')],
]

t.test('gives ids of different types and values different keys', async (t) => {
  t.equal(new Set(UNLIKE_IDS.map(getIdKey)).size, UNLIKE_IDS.length)
})

const BYTES = Buffer.from('ab')
const LIKE_IDS: readonly (readonly unknown[])[] = [
  [new ObjectId(HEX), new ForeignObjectId()],
  [1, 1n, Long.fromNumber(1), new Double(1)],
  [2n ** 60n, Long.fromBigInt(2n ** 60n)],
  [{ at: 1 }, { at: Long.fromNumber(1) }],
  [BYTES, new Uint8Array(BYTES), new Binary(BYTES)],
]

for (const ids of LIKE_IDS) {
  t.test(`gives an id like ${getIdKey(ids[0])} one key, as written and as read`, async (t) => {
    t.equal(new Set(ids.map(getIdKey)).size, 1)
  })
}
