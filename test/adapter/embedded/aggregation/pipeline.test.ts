import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import t from 'tap'
import { ACCUMULATORS } from '../../../../src/adapter/embedded/aggregation/group-stage.ts'
import { STAGES } from '../../../../src/adapter/embedded/aggregation/pipeline.ts'
import { openDatabase } from '../open-database.ts'

const ID = new ObjectId('000000000000000000000001')

interface Case {
  readonly documents: readonly Document[]
  readonly pipeline: Document[]
  readonly result: readonly Document[]
}

const CASES: Readonly<Record<string, Case>> = {
  '$match, $sort, $skip, $limit and $project make a page': {
    documents: [1, 2, 3, 4].map((n) => ({ n, x: 'x' })),
    pipeline: [
      { $match: { n: { $gt: 1 } } },
      { $sort: { n: -1 } },
      { $skip: 1 },
      { $limit: 1 },
      { $project: { _id: 0, n: 1 } },
    ],
    result: [{ n: 3 }],
  },
  '$group sums, pushes what is there and takes extremes by BSON order': {
    documents: [{ k: 'a', n: 1 }, { k: 'a' }, { k: 'a', n: 5 }, { n: 'text' }],
    pipeline: [
      {
        $group: {
          _id: '$k',
          sum: { $sum: '$n' },
          all: { $push: '$n' },
          max: { $max: '$n' },
          avg: { $avg: '$n' },
          count: { $count: {} },
        },
      },
      { $sort: { _id: 1 } },
    ],
    result: [
      { _id: null, sum: 0, all: ['text'], max: 'text', avg: null, count: 1 },
      { _id: 'a', sum: 6, all: [1, 5], max: 5, avg: 3, count: 3 },
    ],
  },
  '$group takes an expression and documents as its key': {
    documents: [
      { a: 1, b: 1 },
      { a: 1, b: 1 },
      { a: 2, b: 1 },
    ],
    pipeline: [{ $group: { _id: { a: '$a', odd: { $mod: ['$a', 2] } }, n: { $sum: 1 } } }],
    result: [
      { _id: { a: 1, odd: 1 }, n: 2 },
      { _id: { a: 2, odd: 0 }, n: 1 },
    ],
  },
  '$count of nothing gives no document': {
    documents: [{ a: 1 }],
    pipeline: [{ $match: { a: 2 } }, { $count: 'n' }],
    result: [],
  },
  '$unwind keeps empty strings and documents, and empty arrays when told to': {
    documents: [{ a: [1, 2] }, { a: '' }, { a: {} }, { a: [] }, {}],
    pipeline: [
      { $unwind: { path: '$a', includeArrayIndex: 'i', preserveNullAndEmptyArrays: true } },
      { $project: { _id: 0 } },
    ],
    result: [
      { a: 1, i: 0 },
      { a: 2, i: 1 },
      { a: '', i: null },
      { a: {}, i: null },
      { i: null },
      { i: null },
    ],
  },
  '$unwind follows documents only, and puts the index in place of an array': {
    documents: [
      { a: [{ b: [1, 2] }] },
      { a: { b: [1, 2] }, i: [{ x: 1 }] },
      { a: { b: 3 }, i: { x: 1 } },
    ],
    pipeline: [{ $unwind: { path: '$a.b', includeArrayIndex: 'i.n' } }, { $unset: '_id' }],
    result: [
      { a: { b: 1 }, i: { n: 0 } },
      { a: { b: 2 }, i: { n: 1 } },
      { a: { b: 3 }, i: { x: 1, n: null } },
    ],
  },
  '$set merges documents, and reaches into arrays': {
    documents: [{ a: { b: 1 }, list: [{ x: 1 }] }],
    pipeline: [{ $set: { a: { c: 2 }, 'list.y': 3, gone: '$missing' } }, { $unset: ['_id'] }],
    result: [{ a: { b: 1, c: 2 }, list: [{ x: 1, y: 3 }] }],
  },
  '$set and $project make a document on the way to what has no value': {
    documents: [{}, { x: 5 }, { x: [1, { z: 1 }] }, { x: { y: 1, z: 2 } }],
    pipeline: [
      {
        $facet: {
          set: [{ $set: { 'x.y': '$gone' } }, { $unset: '_id' }],
          project: [{ $project: { _id: 0, 'x.y': '$gone' } }],
          value: [{ $project: { _id: 0, x: { y: '$_id' } } }],
          empty: [{ $set: { x: {}, w: { v: {} } } }, { $unset: '_id' }, { $limit: 1 }],
        },
      },
    ],
    result: [
      {
        set: [{ x: {} }, { x: {} }, { x: [{}, { z: 1 }] }, { x: { z: 2 } }],
        project: [{ x: {} }, { x: {} }, { x: [{}, {}] }, { x: {} }],
        value: [{ x: { y: 0 } }, { x: { y: 1 } }, { x: [{ y: 2 }, { y: 2 }] }, { x: { y: 3 } }],
        empty: [{ x: {}, w: { v: {} } }],
      },
    ],
  },
  '$group takes a missing value for null where it is the only one of its key': {
    documents: [{ a: null, b: 1 }, { b: 1 }],
    pipeline: [
      {
        $facet: {
          one: [{ $group: { _id: { a: '$a' }, n: { $sum: 1 } } }],
          two: [{ $group: { _id: { a: '$a', b: '$b' } } }],
          none: [{ $group: { _id: {}, first: { $first: '$gone' }, all: { $push: '$gone' } } }],
          list: [{ $group: { _id: ['$gone', '$b'] } }],
        },
      },
    ],
    result: [
      {
        one: [{ _id: { a: null }, n: 2 }],
        two: [{ _id: { a: null, b: 1 } }, { _id: { b: 1 } }],
        none: [{ _id: {}, first: null, all: [] }],
        list: [{ _id: [null, 1] }],
      },
    ],
  },
  '$sum and $avg keep what rounding would lose': {
    documents: Array.from({ length: 10 }, () => ({ n: 0.1 })),
    pipeline: [{ $group: { _id: null, sum: { $sum: '$n' }, avg: { $avg: '$n' } } }],
    result: [{ _id: null, sum: 1, avg: 0.1 }],
  },
  '$facet runs several pipelines over the same documents': {
    documents: [{ n: 1 }, { n: 2 }],
    pipeline: [
      {
        $facet: {
          total: [{ $count: 'n' }],
          top: [{ $sort: { n: -1 } }, { $limit: 1 }, { $project: { _id: 0 } }],
        },
      },
    ],
    result: [{ total: [{ n: 2 }], top: [{ n: 2 }] }],
  },
  'accumulators leave out what is missing, and count null where MongoDB does': {
    documents: [{ n: null, l: [1] }, { l: [2] }, { n: 4, d: { a: 1 } }, { n: 2, d: { b: 2 } }],
    pipeline: [
      {
        $group: {
          _id: null,
          sum: { $sum: '$n' },
          avg: { $avg: '$n' },
          min: { $min: '$n' },
          max: { $max: '$n' },
          push: { $push: '$n' },
          pairs: { $push: { pair: ['$n', '$gone'] } },
          set: { $addToSet: '$l' },
          first: { $first: '$n' },
          last: { $last: '$l' },
          merged: { $mergeObjects: '$d' },
          none: { $sum: '$gone' },
          lists: { $sum: '$l' },
          count: { $count: {} },
        },
      },
    ],
    result: [
      {
        _id: null,
        sum: 6,
        avg: 3,
        min: 2,
        max: 4,
        push: [null, 4, 2],
        pairs: [
          { pair: [null, null] },
          { pair: [null, null] },
          { pair: [4, null] },
          { pair: [2, null] },
        ],
        set: [[1], [2]],
        first: null,
        last: null,
        merged: { a: 1, b: 2 },
        none: 0,
        lists: 0,
        count: 4,
      },
    ],
  },
  '$group of no documents gives none, $count one': {
    documents: [{ a: 1 }],
    pipeline: [
      {
        $facet: { none: [{ $match: { a: 2 } }, { $group: { _id: null } }], one: [{ $count: 'n' }] },
      },
    ],
    result: [{ none: [], one: [{ n: 1 }] }],
  },
  '$addFields sets fields as $set does, and $replaceWith a whole document': {
    documents: [{ a: 1 }],
    pipeline: [{ $addFields: { 'b.c': { $add: ['$a', 1] } } }, { $replaceWith: '$b' }],
    result: [{ c: 2 }],
  },
  '$unset takes one path or several, through arrays of documents': {
    documents: [{ a: 1, list: [{ x: 1, y: 2 }, { x: 3 }, 5] }],
    pipeline: [{ $unset: ['_id', 'list.x'] }, { $unset: 'a' }],
    result: [{ list: [{ y: 2 }, {}, 5] }],
  },
  '$sortByCount counts the most frequent first': {
    documents: [{ k: 'a' }, { k: 'b' }, { k: 'b' }],
    pipeline: [{ $sortByCount: '$k' }],
    result: [
      { _id: 'b', count: 2 },
      { _id: 'a', count: 1 },
    ],
  },
  '$replaceRoot and $sample keep to their documents': {
    documents: [{ in: { a: 1 } }],
    pipeline: [{ $sample: { size: 5 } }, { $replaceRoot: { newRoot: '$in' } }],
    result: [{ a: 1 }],
  },
  'comparisons in expressions follow BSON’s order of types': {
    documents: [{ n: null, s: 'x', id: ID }],
    pipeline: [
      {
        $project: {
          _id: 0,
          missing: { $eq: ['$gone', null] },
          types: { $lt: [5, '$s'] },
          id: { $eq: ['$id', ID] },
          in: { $in: ['$id', [ID]] },
          cmp: { $cmp: ['a', 'b'] },
        },
      },
    ],
    result: [{ missing: false, types: true, id: true, in: true, cmp: -1 }],
  },
  'conversions know ObjectIds and dates': {
    documents: [{ id: ID, d: new Date(0), hex: '000000000000000000000001' }],
    pipeline: [
      {
        $project: {
          _id: 0,
          text: { $toString: '$id' },
          date: { $toString: '$d' },
          id: { $toObjectId: '$hex' },
          type: { $type: '$id' },
        },
      },
    ],
    result: [
      {
        text: '000000000000000000000001',
        date: '1970-01-01T00:00:00.000Z',
        id: ID,
        type: 'objectId',
      },
    ],
  },
  'strings, dates, arrays and conditions are computed': {
    documents: [{ name: 'Ada', tags: ['x', 'y'], d: new Date('2024-02-29T12:00:00Z') }],
    pipeline: [
      {
        $project: {
          _id: 0,
          up: { $toUpper: '$name' },
          size: { $size: ['$tags'] },
          year: { $year: '$d' },
          text: { $dateToString: { date: '$d', format: '%Y-%m-%d' } },
          list: { $map: { input: '$tags', as: 'tag', in: { $concat: ['$$tag', '!'] } } },
          cond: { $cond: [{ $eq: ['$name', 'Ada'] }, 'yes', 'no'] },
          array: ['$name', '$missing'],
          gone: '$$REMOVE',
        },
      },
    ],
    result: [
      {
        up: 'ADA',
        size: 2,
        year: 2024,
        text: '2024-02-29',
        list: ['x!', 'y!'],
        cond: 'yes',
        array: ['Ada', null],
      },
    ],
  },
}

t.test('a pipeline:', async (t) => {
  const database = await openDatabase(t)
  for (const [number, [title, { documents, pipeline, result }]] of Object.entries(
    CASES,
  ).entries()) {
    await t.test(title, async (t) => {
      const collection = database.collection(`case${number}`)
      const stored = documents.map((document, index) => ({ _id: index as never, ...document }))
      await collection.insertMany(stored)
      const found = await collection.aggregate(pipeline).toArray()
      t.equal(JSON.stringify(found), JSON.stringify(result))
      t.same(await collection.find().toArray(), stored)
    })
  }
})

t.test('`let` gives variables to a pipeline', async (t) => {
  const collection = (await openDatabase(t)).collection('a')
  await collection.insertOne({ n: 1 })
  const sum = [{ $project: { _id: 0, sum: { $add: ['$n', '$$one'] } } }]
  t.same(await collection.aggregate(sum, { let: { one: 1 } }).toArray(), [{ sum: 2 }])
})

const JOIN = { localField: 'a', foreignField: 'b' }

type Refusal = readonly [title: string, pipeline: Document[], code: number]

const REFUSALS: readonly Refusal[] = [
  ...[
    '$nope',
    '$bucket',
    '$bucketAuto',
    '$changeStream',
    '$collStats',
    '$currentOp',
    '$densify',
    '$documents',
    '$fill',
    '$geoNear',
    '$indexStats',
    '$listSessions',
    '$redact',
    '$search',
    '$setWindowFields',
    '$unionWith',
    '$vectorSearch',
    '$constructor',
    '$copy',
  ].map((name): Refusal => [name, [{ [name]: {} }], 40324]),
  ['$out before the end', [{ $out: 'x' }, { $match: {} }], 40324],
  ['a stage of two names', [{ $match: {}, $limit: 1 }], 40323],
  ['a stage of no name', [{}], 40323],
  ['an unknown field of $sample', [{ $sample: { size: 1, seed: 2 } }], 28748],
  ['$sortByCount of a constant', [{ $sortByCount: 'a' }], 40148],
  ['$out to another database', [{ $out: { db: 'x', coll: 'y' } }], 2],
  ['$merge into another database', [{ $merge: { into: { db: 'x', coll: 'y' } } }], 2],
  ['a $limit of 0', [{ $limit: 0 }], 15958],
  ['a $skip below 0', [{ $skip: -1 }], 5107200],
  ['a $skip of a string', [{ $skip: '1' }], 5107200],
  ['a $limit below 0', [{ $limit: -1 }], 5107201],
  ['a $limit of a fraction', [{ $limit: 1.5 }], 5107201],
  ['a $sample of nothing', [{ $sample: { size: 0 } }], 28747],
  ['a $sample below 0', [{ $sample: { size: -1 } }], 28747],
  ['a key of $group that looks like a projection', [{ $group: { _id: { a: 1 } } }], 17390],
  ['a $group without _id', [{ $group: { n: { $sum: 1 } } }], 15955],
  ['a $group of no object', [{ $group: 5 }], 15947],
  ['a field of $group without an accumulator', [{ $group: { _id: 1, a: '$a' } }], 40234],
  ['two accumulators in one', [{ $group: { _id: 1, a: { $sum: 1, $max: 1 } } }], 40238],
  ['an accumulator of a list', [{ $group: { _id: 1, a: { $sum: [1, 2] } } }], 40237],
  ['a dot in the name of a group’s field', [{ $group: { _id: 1, 'a.b': { $sum: 1 } } }], 40235],
  ['$count with an argument', [{ $group: { _id: 1, a: { $count: 1 } } }], 14],
  ...[
    '$nope',
    '$accumulator',
    '$top',
    '$topN',
    '$bottom',
    '$bottomN',
    '$firstN',
    '$lastN',
    '$maxN',
    '$minN',
    '$median',
    '$percentile',
    '$stdDevPop',
    '$stdDevSamp',
    '$covariancePop',
    '$expMovingAvg',
  ].map(
    (name): Refusal => [
      `the accumulator ${name}`,
      [{ $group: { _id: 1, a: { [name]: '$a' } } }],
      15952,
    ],
  ),
  ['an unknown field of $unwind', [{ $unwind: { path: '$a', deep: true } }], 28811],
  ['$unwind of a name without a dollar', [{ $unwind: 'a' }], 28818],
  ['$unwind of a variable', [{ $unwind: '$$ROOT' }], 16410],
  ['$unwind of a path that ends with a dot', [{ $unwind: '$a.' }], 40353],
  ['$unwind of a path with an empty name', [{ $unwind: '$a..b' }], 15998],
  [
    'an includeArrayIndex with a dollar inside',
    [{ $unwind: { path: '$a', includeArrayIndex: 'i.$j' } }],
    16410,
  ],
  [
    'an includeArrayIndex with a dollar',
    [{ $unwind: { path: '$a', includeArrayIndex: '$i' } }],
    28822,
  ],
  ['an unknown field of $lookup', [{ $lookup: { from: 'b', as: 'x', pipeline: [], on: 1 } }], 9],
  ['a $lookup of half a join', [{ $lookup: { from: 'b', as: 'x', localField: 'a' } }], 9],
  [
    'a $lookup with variables and no pipeline',
    [{ $lookup: { from: 'b', as: 'x', ...JOIN, let: { n: 1 } } }],
    9,
  ],
  ['a $lookup into a path with a dollar', [{ $lookup: { from: 'b', as: '$x', ...JOIN } }], 16410],
  ['a $lookup into an empty path', [{ $lookup: { from: 'b', as: '', ...JOIN } }], 40352],
  [
    'a $lookup by a path with a dollar',
    [{ $lookup: { from: 'b', as: 'x', ...JOIN, localField: '$a' } }],
    16410,
  ],
  [
    'a $lookup by a path that ends with a dot',
    [{ $lookup: { from: 'b', as: 'x', ...JOIN, foreignField: 'b.' } }],
    40353,
  ],
  ['a $lookup from a collection without a name', [{ $lookup: { from: '', as: 'x', ...JOIN } }], 73],
  ['a $lookup without a collection', [{ $lookup: { as: 'x', pipeline: [] } }], 9],
  [
    'an unknown stage inside $lookup',
    [{ $lookup: { from: 'b', as: 'x', pipeline: [{ $no: 1 }] } }],
    40324,
  ],
  ['$facet inside $facet', [{ $facet: { a: [{ $facet: { b: [] } }] } }], 40600],
  [
    '$facet inside $lookup inside $facet',
    [{ $facet: { a: [{ $lookup: { from: 'b', as: 'x', pipeline: [{ $facet: { b: [] } }] } }] } }],
    40600,
  ],
  ['an empty $facet', [{ $facet: {} }], 40169],
  ['a $facet of no pipeline', [{ $facet: { a: 5 } }], 40170],
  ['an empty $sort', [{ $sort: {} }], 15976],
  ['$out inside $facet', [{ $facet: { a: [{ $out: 'x' }] } }], 40324],
  ['a $count of a number', [{ $count: 1 }], 40156],
  ['an empty $count', [{ $count: '' }], 40157],
  ['a $count with a dollar', [{ $count: '$n' }], 40158],
  ['a $count with a null byte', [{ $count: 'a\0b' }], 40159],
  ['a $count with a dot', [{ $count: 'a.b' }], 40160],
  ['a $count as _id', [{ $count: '_id' }], 15948],
  ['an empty $project', [{ $project: {} }], 51272],
  ['an empty $unset', [{ $unset: [] }], 31002],
  ['an $unset of a path twice', [{ $unset: ['a', 'a'] }], 31250],
  ['an $unset of a field and of one below it', [{ $unset: ['a', 'a.b'] }], 31249],
  ['an $unset with a dollar inside', [{ $unset: 'a.$b' }], 16410],
  ['a $project of a field and of one below it', [{ $project: { a: 1, 'a.b': 1 } }], 31249],
  ['a $project of a field twice', [{ $project: { 'a.b': 1, a: { b: 1 } } }], 31250],
  ['a $project of an empty document', [{ $project: { a: {} } }], 51270],
  ['a $project of an empty name', [{ $project: { 'a..b': 1 } }], 15998],
  ['$replaceRoot to a number', [{ $replaceRoot: { newRoot: '$a' } }], 40228],
  ['$replaceWith nothing', [{ $replaceWith: '$gone' }], 40228],
  ['an unknown field of $replaceRoot', [{ $replaceRoot: { newRoot: '$a', x: 1 } }], 40415],
  ['a $set of a field and of one below it', [{ $set: { o: 1, 'o.p': 1 } }], 40176],
  ['a $set of a field and of one above it', [{ $set: { 'o.p': 1, o: 1 } }], 40176],
  ['a $set of a field twice', [{ $set: { 'o.p': 1, o: { p: 1 } } }], 40176],
  ['a $set of a path inside a document', [{ $set: { o: { 'p.q': 1 } } }], 40183],
  ['a $set of a path with a dollar', [{ $set: { 'o.$p': 1 } }], 16410],
  ['a sort by an empty name', [{ $sort: { 'a..b': 1 } }], 15998],
  ['a sort by an unknown order', [{ $sort: { a: 2 } }], 15975],
  [
    '$out with a time series',
    [{ $out: { db: 'test', coll: 'x', timeseries: { timeField: 't' } } }],
    2,
  ],
  ['an unknown field of $merge', [{ $merge: { into: 'x', how: 1 } }], 40415],
  ...['on', 'whenMatched', 'whenNotMatched', 'let'].map(
    (name): Refusal => [`${name} of $merge`, [{ $merge: { into: 'x', [name]: 'a' } }], 72],
  ),
]

t.test('a pipeline is refused with MongoDB’s code for', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('refusals')
  await collection.insertOne({ a: 1 })
  for (const [title, pipeline, code] of REFUSALS) {
    const isStage = title === Object.keys(pipeline[0] ?? {})[0]
    const message = isStage
      ? new RegExp(`'\\${title}'.* not supported by the embedded server`)
      : /./
    await t.test(title, (t) =>
      t.rejects(collection.aggregate(pipeline).toArray(), { code, message }),
    )
  }
})

t.test('no stage and no accumulator is allowed that has no case here', (t) => {
  const written = JSON.stringify(CASES)
  const elsewhere = ['$lookup', '$graphLookup']
  const names = [...STAGES.keys(), ...ACCUMULATORS.keys()].filter(
    (name) => !elsewhere.includes(name),
  )
  t.strictSame(
    names.filter((name) => !written.includes(`"${name}":`)),
    [],
  )
  t.end()
})

t.test('a pipeline that names no collection is refused, as its $documents are', async (t) => {
  const database = await openDatabase(t)
  const refusal = { code: 73, message: /\$documents is not supported by the embedded server/ }
  await t.rejects(database.aggregate([{ $documents: [{ x: 1 }] }]).toArray(), refusal)
  await t.rejects(database.aggregate([]).toArray(), refusal)
  const message = /\$currentOp is not supported by the embedded server/
  await t.rejects(database.aggregate([{ $currentOp: {} }]).toArray(), { code: 73, message })
})

t.test('a change stream is refused by its name, whatever it watches', async (t) => {
  const database = await openDatabase(t)
  for (const watched of [database.collection('watched'), database, database.client]) {
    const stream = watched.watch()
    t.teardown(() => stream.close())
    const message = /watch\(\).*'\$changeStream', is not supported by the embedded server/
    await t.rejects(stream.next(), { code: 40324, message })
  }
})

t.test('of equal values $addToSet keeps the first', async (t) => {
  const collection = (await openDatabase(t)).collection('sets')
  await collection.insertMany(['A', 'b', 'a'].map((name) => ({ name })))
  const pipeline = [{ $group: { _id: null, names: { $addToSet: '$name' } } }]
  const options = { collation: { locale: 'en', strength: 2 } }
  t.same(await collection.aggregate(pipeline, options).toArray(), [
    { _id: null, names: ['A', 'b'] },
  ])
})

t.test('stages that multiply documents are stopped before the memory is full', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('many')
  await collection.insertMany(Array.from({ length: 200 }, () => ({ list: Array(200).fill(0) })))
  const unwind = { $unwind: '$list' }
  const lookup = { $lookup: { from: 'many', pipeline: [], as: 'list' } }
  const pipeline = [lookup, unwind, lookup, unwind, lookup, unwind]
  await t.rejects(collection.aggregate(pipeline).toArray(), { code: 146 })
})

t.test('a collation counts in $match, $group and $sort', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('collation')
  await collection.insertMany(['b', 'A', 'a'].map((name) => ({ name })))
  const pipeline = [
    { $match: { name: { $ne: 'B' } } },
    { $group: { _id: '$name', n: { $sum: 1 } } },
  ]
  const found = await collection
    .aggregate(pipeline, { collation: { locale: 'en', strength: 2 } })
    .toArray()
  t.same(found, [{ _id: 'A', n: 2 }])
})
