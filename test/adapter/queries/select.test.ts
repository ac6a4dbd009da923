import { Binary, Long, ObjectId } from 'mongodb'
import t from 'tap'

import { createProjection, omitFields, pickSelected } from '../../../src/adapter/queries/select.ts'

t.test('a projection always has the id', async (t) => {
  t.strictSame(createProjection(['name'], '_id'), { _id: 1, name: 1 })
  t.strictSame(createProjection([], 'key'), { key: 1 })
})

const _id = new ObjectId()
const document = {
  _id,
  key: 'k',
  name: 'a',
  address: { city: 'x', street: 'y', geo: { lat: 1, lon: 2 } },
  items: [{ sku: 1, price: 2 }, 'loose', [{ sku: 3, price: 4 }]],
  at: new Date(0),
}

const PICKS: readonly [readonly string[], Record<string, unknown>][] = [
  [[], { _id }],
  [['name'], { _id, name: 'a' }],
  [['nothing'], { _id }],
  [['address.city', 'address.geo.lat'], { _id, address: { city: 'x', geo: { lat: 1 } } }],
  [['address.nothing'], { _id, address: {} }],
  [['items.sku'], { _id, items: [{ sku: 1 }, [{ sku: 3 }]] }],
  [['name.first', 'at.year'], { _id }],
  [['constructor', '__proto__'], { _id }],
]

for (const [select, picked] of PICKS) {
  t.test(`picks ${JSON.stringify(select)}`, async (t) => {
    t.strictSame(pickSelected(document, select, '_id'), picked)
  })
}

t.test('picks an id field of another name as well', async (t) => {
  t.strictSame(pickSelected(document, ['name'], 'key'), { _id, key: 'k', name: 'a' })
})

t.test('a hidden path ends at bytes and at types of BSON, which are single values', async (t) => {
  for (const profile of [new Binary(Buffer.from('a')), Long.fromNumber(7), Buffer.from('b')]) {
    t.equal(omitFields({ profile }, ['profile.token'])['profile'], profile)
  }
})
