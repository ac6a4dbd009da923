import type { Document } from 'mongodb'
import { Decimal128, Long, ObjectId, Timestamp } from 'mongodb'
import t from 'tap'
import { UPDATE_OPERATORS } from '../../../../src/adapter/embedded/updates/update-operators.ts'
import { openDatabase } from '../open-database.ts'

interface Case {
  readonly before: Document
  readonly update: Document
  readonly after: Document
  readonly filter?: Document
  readonly arrayFilters?: Document[]
}

const CASES: Readonly<Record<string, Case>> = {
  '$set adds new fields in the order of their names': {
    before: { z: 1 },
    update: { $set: { c: 1, b: 2 } },
    after: { z: 1, b: 2, c: 1 },
  },
  '$set makes documents on the way': {
    before: {},
    update: { $set: { 'a.b.c': 1 } },
    after: { a: { b: { c: 1 } } },
  },
  '$set fills an array up with null': {
    before: { a: [1] },
    update: { $set: { 'a.3': 4 } },
    after: { a: [1, null, null, 4] },
  },
  '$unset removes fields and makes items null': {
    before: { a: 1, b: [1, 2] },
    update: { $unset: { a: '', 'b.0': '', c: '' } },
    after: { b: [null, 2] },
  },
  '$inc creates a field': { before: {}, update: { $inc: { n: 2 } }, after: { n: 2 } },
  '$inc adds to longs without losing digits': {
    before: { n: Long.fromString('9007199254740993') },
    update: { $inc: { n: 2 } },
    after: { n: Long.fromString('9007199254740995') },
  },
  '$mul makes a missing field zero': {
    before: { a: 3 },
    update: { $mul: { a: 2, b: 5 } },
    after: { a: 6, b: 0 },
  },
  '$min and $max compare by type and value': {
    before: { a: 5, b: 5, c: 5 },
    update: { $min: { a: 3, c: 'x' }, $max: { b: 'x' } },
    after: { a: 3, b: 'x', c: 5 },
  },
  '$rename moves a field': {
    before: { a: 1, b: 2 },
    update: { $rename: { a: 'x.y' } },
    after: { b: 2, x: { y: 1 } },
  },
  '$push appends a value, and a list as one item': {
    before: { a: [1] },
    update: { $push: { a: [2, 3] } },
    after: { a: [1, [2, 3]] },
  },
  '$push takes $each, $position, $sort and $slice': {
    before: { a: [{ n: 5 }] },
    update: { $push: { a: { $each: [{ n: 9 }, { n: 1 }], $sort: { n: -1 }, $slice: 2 } } },
    after: { a: [{ n: 9 }, { n: 5 }] },
  },
  '$push with $slice and $sort works on a missing field': {
    before: {},
    update: { $push: { a: { $each: [3, 1, 2], $sort: 1, $slice: -2 } } },
    after: { a: [2, 3] },
  },
  '$push at a $position': {
    before: { a: [1, 2] },
    update: { $push: { a: { $each: [9], $position: -1 } } },
    after: { a: [1, 9, 2] },
  },
  '$addToSet adds only what is new and keeps existing duplicates': {
    before: { a: [1, 1] },
    update: { $addToSet: { a: { $each: [1, 2, 2] } } },
    after: { a: [1, 1, 2] },
  },
  '$addToSet tells documents apart by the order of fields': {
    before: { a: [{ x: 1, y: 2 }] },
    update: { $addToSet: { a: { y: 2, x: 1 } } },
    after: {
      a: [
        { x: 1, y: 2 },
        { y: 2, x: 1 },
      ],
    },
  },
  '$pop takes from either end': {
    before: { a: [1, 2, 3], b: [1, 2, 3] },
    update: { $pop: { a: 1, b: -1 } },
    after: { a: [1, 2], b: [2, 3] },
  },
  '$pull takes values and conditions': {
    before: { a: [1, 5, 9], b: [{ x: 1, y: 1 }, { x: 2 }], c: ['x', 'y'] },
    update: { $pull: { a: { $gt: 4 }, b: { x: 1 }, c: 'x', d: 1 } },
    after: { a: [1], b: [{ x: 2 }], c: ['y'] },
  },
  '$pull of a value takes equal items only, and not arrays that hold it': {
    before: { a: [1, [1], [1, 2], 'x'], b: [[1], [1, 2], 1], c: [null, 1] },
    update: { $pull: { a: 1, b: [1], c: null } },
    after: { a: [[1], [1, 2], 'x'], b: [[1, 2], 1], c: [1] },
  },
  '$pull with operators finds items as a filter finds fields': {
    before: { a: [5, [5], 1], b: ['apple', 'pear'], c: [[{ x: 1 }], { x: 1 }, { x: 2 }] },
    update: { $pull: { a: { $gt: 4 }, b: /^a/, c: { $or: [{ x: 1 }, { x: 3 }] } } },
    after: { a: [1], b: ['pear'], c: [[{ x: 1 }], { x: 2 }] },
  },
  '$pullAll removes all listed values': {
    before: { a: [1, 2, 1, 3] },
    update: { $pullAll: { a: [1, 3] } },
    after: { a: [2] },
  },
  '$setOnInsert leaves an existing document alone': {
    before: { a: 1 },
    update: { $setOnInsert: { b: 1 } },
    after: { a: 1 },
  },
  'the positional $ is the item that the filter found': {
    before: {
      a: [
        { k: 1, v: 0 },
        { k: 2, v: 0 },
      ],
    },
    filter: { 'a.k': 2 },
    update: { $set: { 'a.$.v': 7 } },
    after: {
      a: [
        { k: 1, v: 0 },
        { k: 2, v: 7 },
      ],
    },
  },
  'the positional $ is found inside $and': {
    before: { a: [1, 2, 3] },
    filter: { $and: [{ a: { $gt: 1 } }] },
    update: { $inc: { 'a.$': 10 } },
    after: { a: [1, 12, 3] },
  },
  'the positional $ is the item of the outermost array on the path of the condition': {
    before: { a: [{ b: [1] }, { b: [2, 3] }] },
    filter: { 'a.b': { $gte: 3 }, a: { $ne: 7 } },
    update: { $set: { 'a.$.hit': true } },
    after: { a: [{ b: [1] }, { b: [2, 3], hit: true }] },
  },
  'the positional $ is the index that two conditions have in common': {
    before: { a: [{ k: 1 }, { k: 2, m: 5 }], b: [0, 9] },
    filter: { 'a.k': 2, 'a.m': { $gt: 4, $lt: 6 }, b: { $elemMatch: { $gt: 8 } } },
    update: { $set: { 'a.$.v': 7 } },
    after: { a: [{ k: 1 }, { k: 2, m: 5, v: 7 }], b: [0, 9] },
  },
  'the positional $ looks at the items and not into them': {
    before: { a: [[5], 5] },
    filter: { a: 5 },
    update: { $set: { 'a.$': 0 } },
    after: { a: [[5], 0] },
  },
  'a value of another type of numbers is stored, although it is equal': {
    before: { a: 1 },
    update: { $set: { a: new Decimal128('1') } },
    after: { a: new Decimal128('1') },
  },
  '$unset leads through anything': {
    before: { a: 1, b: [{ c: 1 }] },
    update: { $unset: { 'a.x': '', 'b.c': '', d: '' } },
    after: { a: 1, b: [{ c: 1 }] },
  },
  '$pull, $pullAll and $pop leave a missing field and a missing item': {
    before: { a: {}, b: [] },
    update: { $pull: { 'a.x.y': 1 }, $pullAll: { c: [1] }, $pop: { 'b.0.c': 1 } },
    after: { a: {}, b: [] },
  },
  '$pull takes null for null and for a missing field of documents': {
    before: { a: [null, {}, { b: null }, { b: 1 }, 5] },
    update: { $pull: { a: { b: null } } },
    after: { a: [null, { b: 1 }, 5] },
  },
  '$push sorts documents by a dotted path, other items as if they had no field': {
    before: { a: [{ n: { m: 2 } }, 5] },
    update: { $push: { a: { $each: [{ n: { m: 1 } }], $sort: { 'n.m': 1 } } } },
    after: { a: [5, { n: { m: 1 } }, { n: { m: 2 } }] },
  },
  '$push takes $slice of 0 and a $position beyond either end': {
    before: { a: [1], b: [1], c: [1] },
    update: {
      $push: {
        a: { $each: [2], $slice: 0 },
        b: { $each: [2], $position: 9 },
        c: { $each: [2], $position: -9 },
      },
    },
    after: { a: [], b: [1, 2], c: [2, 1] },
  },
  '$[] is every item': {
    before: { a: [1, 2] },
    update: { $inc: { 'a.$[]': 10 } },
    after: { a: [11, 12] },
  },
  '$[name] is every item of an array filter, also with $or': {
    before: { a: [{ n: 1 }, { n: 2 }, { n: 3 }] },
    update: { $set: { 'a.$[x].hit': true } },
    arrayFilters: [{ $or: [{ 'x.n': 1 }, { 'x.n': 3 }] }],
    after: { a: [{ n: 1, hit: true }, { n: 2 }, { n: 3, hit: true }] },
  },
  'setting the same _id changes nothing': {
    before: { a: 1 },
    update: { $set: { _id: 1, a: 2 } },
    after: { a: 2 },
  },
  'a field named __proto__ is a field': {
    before: { a: 1 },
    update: { $set: JSON.parse('{"x.__proto__": {"polluted": true}}') },
    after: { a: 1, x: JSON.parse('{"__proto__": {"polluted": true}}') },
  },
}

t.test('an update', async (t) => {
  const database = await openDatabase(t)
  for (const [number, [title, { before, update, after, ...rest }]] of Object.entries(
    CASES,
  ).entries()) {
    await t.test(title, async (t) => {
      const collection = database.collection<Document & { _id: number }>(`case${number}`)
      await collection.insertOne({ _id: 1, ...before })
      const { filter = { _id: 1 }, ...options } = rest
      await collection.updateOne(filter, update, options)
      const stored = await collection.findOne({ _id: 1 }, { promoteValues: true })
      t.equal(JSON.stringify(stored), JSON.stringify({ _id: 1, ...after }))
    })
  }
  t.notOk('polluted' in {})
})

const REFUSALS: Readonly<
  Record<string, readonly [before: Document, update: Document, code: number]>
> = {
  '$inc of a string': [{ a: 'x' }, { $inc: { a: 1 } }, 14],
  '$inc of null': [{ a: null }, { $inc: { a: 1 } }, 14],
  '$inc by a string': [{}, { $inc: { a: 'x' } }, 14],
  '$inc of a decimal': [{ a: new Decimal128('1') }, { $inc: { a: 1 } }, 2],
  '$mul of a string': [{ a: 'x' }, { $mul: { a: 1 } }, 14],
  '$push to a scalar': [{ a: 1 }, { $push: { a: 1 } }, 2],
  '$addToSet to a scalar': [{ a: 1 }, { $addToSet: { a: 1 } }, 2],
  '$pull from a scalar': [{ a: 1 }, { $pull: { a: 1 } }, 2],
  '$pop from a scalar': [{ a: 1 }, { $pop: { a: 1 } }, 14],
  '$set through a scalar': [{ a: 1 }, { $set: { 'a.b': 1 } }, 28],
  '$set through null': [{ a: null }, { $set: { 'a.b': 1 } }, 28],
  '$set of a field of an array': [{ a: [] }, { $set: { 'a.b': 1 } }, 28],
  '$set far beyond an array': [{ a: [] }, { $set: { 'a.1000000000': 1 } }, 2],
  '$[] without an array': [{}, { $set: { 'a.$[]': 1 } }, 2],
  '$ without a condition': [{ a: [1] }, { $set: { 'a.$': 1 } }, 2],
  '$ twice': [{ a: [1] }, { $set: { 'a.$.b.$': 1 } }, 2],
  '$pull of half a DBRef': [{ r: [] }, { $pull: { r: { $id: 1 } } }, 2],
  '$pull through an array': [{ a: [{ b: [1] }] }, { $pull: { 'a.b': 1 } }, 28],
  '$pullAll through a scalar': [{ a: 1 }, { $pullAll: { 'a.b': [1] } }, 28],
  '$pop through null': [{ a: null }, { $pop: { 'a.b': 1 } }, 28],
  '$pop of two from nothing': [{}, { $pop: { a: 2 } }, 9],
  '$pull from nothing with an unknown operator': [{}, { $pull: { a: { $near: 1 } } }, 2],
  '$push sorted by nothing': [{ a: [] }, { $push: { a: { $each: [1], $sort: {} } } }, 2],
  '$push sorted by a field that is an array': [
    { a: [] },
    { $push: { a: { $each: [{ n: [1] }], $sort: { n: 1 } } } },
    2,
  ],
  '$rename of a placeholder': [{ a: [1], b: 1 }, { $rename: { b: 'c.$' } }, 2],
  'another _id': [{}, { $set: { _id: 2 } }, 66],
  'an _id of another type': [{}, { $set: { _id: new Decimal128('1') } }, 66],
  'the same path twice': [{}, { $set: { a: 1 }, $inc: { a: 1 } }, 40],
  'a path inside another': [{}, { $set: { a: {}, 'a.b': 1 } }, 40],
  'an empty name in a path': [{}, { $set: { 'a..b': 1 } }, 56],
  'an unknown operator': [{}, { $inch: { a: 1 } }, 9],
  $bit: [{ a: 1 }, { $bit: { a: { and: 1 } } }, 9],
  $pushAll: [{ a: [] }, { $pushAll: { a: [1] } }, 9],
  'a name that objects inherit': [{}, { $constructor: { a: 1 } }, 9],
  'an operator of no fields': [{}, { $set: 5 }, 9],
  '$currentDate of a number': [{}, { $currentDate: { a: 1 } }, 2],
  '$currentDate with an unknown type': [{}, { $currentDate: { a: { $type: 'time' } } }, 2],
  '$currentDate with another field': [{}, { $currentDate: { a: { $type: 'date', x: 1 } } }, 2],
  '$push with an unknown modifier': [{ a: [] }, { $push: { a: { $each: [1], $max: 2 } } }, 2],
  '$push with a modifier and no $each': [{ a: [] }, { $push: { a: { $slice: 2 } } }, 2],
  '$push sorted by a word': [{ a: [] }, { $push: { a: { $each: [1], $sort: 'up' } } }, 2],
  '$addToSet with a modifier': [{ a: [] }, { $addToSet: { a: { $each: [1], $slice: 1 } } }, 2],
  '$pop of two': [{ a: [1, 2, 3] }, { $pop: { a: 2 } }, 9],
  '$pullAll of a value': [{ a: [1] }, { $pullAll: { a: 1 } }, 2],
  '$pull with an unknown operator': [{ a: [1] }, { $pull: { a: { $near: 1 } } }, 2],
  '$rename to a number': [{ a: 1 }, { $rename: { a: 1 } }, 2],
  '$rename of an item': [{ a: [1] }, { $rename: { 'a.0': 'b' } }, 2],
  '$rename into an array': [{ a: [1], b: 2 }, { $rename: { b: 'a.1' } }, 2],
}

t.test('an update is refused with MongoDB’s code for', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Document & { _id: number }>('refusals')
  for (const [title, [before, update, code]] of Object.entries(REFUSALS)) {
    await t.test(title, async (t) => {
      await collection.replaceOne({ _id: 1 }, before, { upsert: true })
      await t.rejects(collection.updateOne({ _id: 1 }, update), { code })
      t.same(await collection.findOne({ _id: 1 }), { _id: 1, ...before })
    })
  }
  await t.test('an array filter that is not used', (t) =>
    t.rejects(collection.updateOne({}, { $set: { a: 1 } }, { arrayFilters: [{ x: 1 }] }), {
      code: 9,
    }),
  )
  for (const name of ['E', '_e', 'e_', '1', 'é']) {
    await t.test(`an array filter named ${name}`, (t) => {
      const update = { $set: { [`a.$[${name}]`]: 1 } }
      return t.rejects(collection.updateOne({}, update, { arrayFilters: [{ [name]: 1 }] }), {
        code: 2,
      })
    })
  }
  await t.test('an operand that is not valid, even where nothing matches', async (t) => {
    const update = (update: Document) => collection.updateOne({ _id: 9 }, update)
    await t.rejects(update({ $inc: { a: 'x' } }), { code: 14 })
    await t.rejects(update({ $pop: { a: 2 } }), { code: 9 })
  })
  await t.test('$ of conditions that different items meet, or only a negation', async (t) => {
    await collection.replaceOne({ _id: 1 }, { a: [1, 2, 3], b: [5, 6] })
    const hit = (filter: Document) => collection.updateOne(filter, { $set: { 'a.$': 0 } })
    const message = /different items meet is not supported by the embedded server/
    await t.rejects(hit({ a: 1, b: 6 }), { code: 2, message })
    await t.rejects(hit({ a: { $gt: 1, $lt: 3 } }), { code: 2, message })
    await t.rejects(hit({ a: { $all: [1, 2] } }), { code: 2, message })
    for (const condition of [{ $ne: 9 }, { $nin: [9] }, { $not: { $gt: 9 } }, { $size: 3 }]) {
      await t.rejects(hit({ a: condition }), { code: 2, message: /did not find the match/ })
    }
    t.same(await collection.findOne({ _id: 1 }), { _id: 1, a: [1, 2, 3], b: [5, 6] })
  })
})

t.test('an upsert', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('upserts')
  await t.test('takes the equalities of its filter and $setOnInsert', async (t) => {
    const filter = { $and: [{ 'a.b': 1 }, { c: { $eq: 2 } }], d: { $gt: 5 } }
    const update = { $set: { e: 3 }, $setOnInsert: { f: 4 } }
    const { upsertedId, upsertedCount } = await collection.updateOne(filter, update, {
      upsert: true,
    })
    t.equal(upsertedCount, 1)
    t.ok(upsertedId instanceof ObjectId)
    t.same(await collection.findOne({ 'a.b': 1 }), {
      _id: upsertedId,
      a: { b: 1 },
      c: 2,
      e: 3,
      f: 4,
    })
  })
  await t.test('has the fields of its filter by name, then those of the update', async (t) => {
    const filter = { z: 1, $or: [{ y: { $in: [2, 2] } }], 'b.d': { $all: [3] }, 'b.c': null }
    const options = { upsert: true, returnDocument: 'after' } as const
    const made = await collection.findOneAndUpdate(filter, { $set: { a: 5, 'b.a': 6 } }, options)
    const { _id, ...fields } = made ?? {}
    t.equal(JSON.stringify(fields), '{"b":{"c":null,"d":3,"a":6},"y":2,"z":1,"a":5}')
    t.equal(Object.keys(made ?? {})[0], '_id')
  })
  await t.test('takes no equality from a list of several values and from patterns', async (t) => {
    const filter = { a: { $in: [1, 2] }, b: { $in: [/x/] }, c: /x/, $nor: [{ d: 1 }], e: 9 }
    const { upsertedId } = await collection.updateOne(filter, { $set: { f: 1 } }, { upsert: true })
    t.same(await collection.findOne({ e: 9 }), { _id: upsertedId, e: 9, f: 1 })
  })
  const conflicts: readonly Document[] = [
    { $and: [{ q: 1 }, { q: 1 }] },
    { q: { $all: [1, 2] } },
    { q: { $eq: 1, $in: [1] } },
    { q: { c: 1 }, 'q.c': 1 },
    { 'q.c': 1, q: { d: 1 }, 'q-c': 1 },
  ]
  for (const filter of conflicts) {
    await t.test(`refuses ${JSON.stringify(filter)}`, async (t) => {
      const count = await collection.countDocuments()
      const options = { upsert: true }
      await t.rejects(collection.updateOne(filter, { $set: { a: 1 } }, options), { code: 54 })
      t.equal(await collection.countDocuments(), count)
      await t.resolves(collection.replaceOne(filter, { a: 1 }, options))
    })
  }
  await t.test('refuses $expr, and with a replacement a part of the _id', async (t) => {
    const options = { upsert: true }
    const expression = { $and: [{ $expr: { $eq: ['$a', 'none'] } }] }
    await t.rejects(collection.updateOne(expression, { $set: { a: 1 } }, options), { code: 224 })
    // Its source: MongoDB's src/mongo/db/ops/parsed_update.cpp
    const found = { $expr: { $eq: [1, 1] } }
    await t.rejects(collection.updateOne(found, { $set: { a: 1 } }, options), { code: 224 })
    const change = collection.findOneAndUpdate(found, { $set: { a: 1 } }, options)
    await t.rejects(change, { code: 224 })
    await t.rejects(collection.replaceOne({ '_id.x': 1 }, { a: 1 }, options), { code: 111 })
  })
  await t.test('with a replacement takes the _id only', async (t) => {
    const id = new ObjectId()
    await collection.replaceOne({ _id: id, x: 1 }, { y: 2 }, { upsert: true })
    t.same(await collection.findOne({ _id: id }), { _id: id, y: 2 })
  })
  await t.test('changes what matches and tells so', async (t) => {
    await collection.insertOne({ k: 1 })
    const result = await collection.updateOne({ k: 1 }, { $set: { k: 1 } }, { upsert: true })
    t.match(result, { matchedCount: 1, modifiedCount: 0, upsertedCount: 0 })
  })
})

t.test('an update with a pipeline sees the old document', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Document & { _id: number }>('pipeline')
  await collection.insertOne({ _id: 1, a: 2, b: { c: 1 } })
  await collection.updateOne({}, [
    { $set: { sum: { $add: ['$a', '$b.c'] }, b: { d: 1 } } },
    { $unset: 'a' },
  ])
  t.same(await collection.findOne(), { _id: 1, b: { c: 1, d: 1 }, sum: 3 })
  await t.rejects(collection.updateOne({}, [{ $match: {} }]), { code: 72 })
})

t.test('an update with a pipeline keeps the _id, in the first place', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection<Document & { _id: number }>('kept')
  const pipelines: readonly (readonly [pipeline: Document[], after: string])[] = [
    [[{ $replaceWith: { b: '$a' } }], '{"_id":1,"b":2}'],
    [[{ $replaceRoot: { newRoot: { b: '$a', _id: '$_id' } } }], '{"_id":1,"b":2}'],
    [[{ $project: { _id: 0, a: 1 } }], '{"_id":1,"a":2}'],
    [[{ $unset: ['_id', 'a'] }], '{"_id":1}'],
  ]
  for (const [pipeline, after] of pipelines) {
    await collection.replaceOne({ _id: 1 }, { a: 2 }, { upsert: true })
    await collection.updateOne({ _id: 1 }, pipeline)
    t.equal(JSON.stringify(await collection.findOne()), after)
  }
  await t.rejects(collection.updateOne({}, [{ $replaceWith: { _id: 2 } }]), { code: 66 })
  await collection.updateOne({ _id: 3 }, [{ $replaceWith: { b: 1 } }], { upsert: true })
  t.same(await collection.findOne({ _id: 3 }), { _id: 3, b: 1 })
})

t.test('no update operator is allowed that has no case here', (t) => {
  const written = JSON.stringify(CASES)
  const names = [...UPDATE_OPERATORS.keys(), '$rename'].filter((name) => name !== '$currentDate')
  t.strictSame(
    names.filter((name) => !written.includes(`"${name}":`)),
    [],
  )
  t.end()
})

t.test('a replacement with an operator, and array filters beside one, are refused', async (t) => {
  const database = await openDatabase(t)
  const update = (one: Document) =>
    database.command({ update: 'replaced', updates: [{ q: {}, ...one }] })
  const code = (reply: Document) => reply['writeErrors']?.[0]?.code
  await database.collection('replaced').insertOne({})
  t.equal(await update({ u: { a: 1, $set: { b: 1 } } }).then(code, ({ code }) => code), 52)
  const arrayFilters = [{ x: 1 }]
  t.equal(await update({ u: { a: 1 }, arrayFilters }).then(code, ({ code }) => code), 9)
  t.equal(await update({ u: [{ $unset: 'a' }], arrayFilters }).then(code, ({ code }) => code), 9)
})

t.test('$currentDate sets dates and timestamps', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('dates')
  await collection.insertOne({})
  await collection.updateOne(
    {},
    { $currentDate: { d: { $type: 'date' }, s: { $type: 'timestamp' } } },
  )
  const found = await collection.findOne()
  t.ok(found?.['d'] instanceof Date)
  t.ok(found?.['s'] instanceof Timestamp)
})
