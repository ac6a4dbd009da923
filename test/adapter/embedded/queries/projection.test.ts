import type { Document } from 'mongodb'
import { Decimal128 } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

interface Projection {
  readonly projection: Document
  readonly result: Document
}

const PROJECTIONS: Readonly<Record<string, Projection>> = {
  'keeps the order of the document, id first': {
    projection: { c: 1, a: 1 },
    result: { _id: 1, a: 1, c: 3 },
  },
  'leaves the id out when told to': { projection: { _id: 0, a: 1 }, result: { a: 1 } },
  'leaves fields out': { projection: { list: 0, inner: 0, c: 0 }, result: { _id: 1, a: 1 } },
  'reaches into documents': {
    projection: { 'inner.x': 1 },
    result: { _id: 1, inner: { x: 1 } },
  },
  'takes nested documents for paths': {
    projection: { inner: { y: 1 } },
    result: { _id: 1, inner: { y: 2 } },
  },
  'reaches into the items of arrays': {
    projection: { 'list.n': 1 },
    result: { _id: 1, list: [{ n: 1 }, { n: 2 }, { n: 3 }] },
  },
  'takes a decimal zero for "leave out"': {
    projection: { list: new Decimal128('0'), inner: new Decimal128('0.00') },
    result: { _id: 1, a: 1, c: 3 },
  },
  'takes any other decimal for "keep"': {
    projection: { a: new Decimal128('1') },
    result: { _id: 1, a: 1 },
  },
  'computes fields': {
    projection: { a: 1, double: { $multiply: ['$c', 2] } },
    result: { _id: 1, a: 1, double: 6 },
  },
}

t.test('a projection', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<{ _id: number }>('projection')
  const list = [1, 2, 3].map((n) => ({ n, m: 0 }))
  await collection.insertOne({ _id: 1, a: 1, inner: { x: 1, y: 2 }, list, c: 3 } as { _id: number })
  for (const [title, { projection, result }] of Object.entries(PROJECTIONS)) {
    await t.test(title, async (t) => {
      const found = await collection.findOne({ 'list.n': 3 }, { projection })
      t.equal(JSON.stringify(found), JSON.stringify(result))
    })
  }
  await t.test('must not mix both kinds', (t) =>
    t.rejects(collection.findOne({}, { projection: { a: 1, c: 0 } }), { code: 31254 }),
  )
  const refusals: readonly (readonly [projection: Document, what: RegExp])[] = [
    [{ list: { $slice: 2 } }, /The projection \$slice is not supported by the embedded server/],
    [
      { list: { $slice: [1, 1] } },
      /The projection \$slice is not supported by the embedded server/,
    ],
    [
      { list: { $elemMatch: { n: 1 } } },
      /'\$elemMatch': it is not supported by the embedded server/,
    ],
    [{ list: { $slice: [0, 0] } }, /The projection \$slice is not supported/],
    [{ 'inner.x': { $elemMatch: { n: 1 } } }, /'\$elemMatch': it is not supported/],
    [{ 'list.$': 1 }, /projection 'list\.\$' is not supported by the embedded server/],
    [{ 'list.$': 0 }, /projection 'list\.\$' is not supported/],
    [{ 'list.$.n': 1 }, /projection 'list\.\$\.n' is not supported/],
    [{ 'list.$.$': 1 }, /projection 'list\.\$\.\$' is not supported/],
    [{ 'list.$': 1, 'inner.$': 1 }, /projection 'list\.\$' is not supported/],
    [{ a: { $slice: 1 }, 'list.$': 1 }, /is not supported/],
    [{ list: { $: 1 } }, /'\$': it is not supported/],
    [{ 'list.$n': 1 }, /must not|may not start with '\$'/],
    [{ inner: { x: 1 }, 'inner.x': 1 }, /Path collision at inner\.x/],
    [{ inner: { x: { z: 1 } }, 'inner.x': 1 }, /Path collision at inner\.x/],
    [{ 'inner.x': 1, inner: 1 }, /Path collision at inner/],
  ]
  for (const [projection, message] of refusals) {
    await t.test(`refuses ${JSON.stringify(projection)}`, async (t) => {
      await t.rejects(collection.findOne({ 'list.n': 3 }, { projection }), { message })
      await t.rejects(collection.findOneAndDelete({ 'list.n': 3 }, { projection }), { message })
      t.equal(await collection.countDocuments(), 1)
    })
  }
})
