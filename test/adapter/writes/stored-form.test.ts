import { runInNewContext } from 'node:vm'
import type { Document } from 'mongodb'
import { Binary, BSON, Decimal128, Double, Long, ObjectId, Timestamp, UUID } from 'mongodb'
import t from 'tap'
import type { AdapterCall } from '../../../src/adapter/adapter-call.ts'
import type { MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { toStoredForm } from '../../../src/adapter/writes/stored-form.ts'
import { BadRequest, PayloadTooLarge } from '../../../src/core/errors/index.ts'
import type { AroundHook, HookContext } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { resolve, resolveExternal } from '../../../src/core/schema/index.ts'
import { openDatabase } from '../../support/database.ts'

const { empty } = await openDatabase(t)

class Point {
  x = 1
  toJSON(): string {
    return 'a point'
  }
}

/** Values of records, each of which would look otherwise in JSON than what is stored of it. */
const VALUES: Readonly<Record<string, unknown>> = {
  'a small Long': Long.fromNumber(7),
  'a large Long': Long.MAX_VALUE,
  'a Double': new Double(1.5),
  'an Int32': new BSON.Int32(3),
  'a Timestamp': Timestamp.fromBits(1, 2),
  'a Decimal128': new Decimal128('1.10'),
  'a Binary': new Binary(Buffer.from('hi')),
  'a UUID': new UUID('2ff47f10-6a52-405a-a7cc-495644a0b4b7'),
  'an ObjectId': new ObjectId(),
  'a symbol of BSON': new BSON.BSONSymbol('s'),
  'code of BSON': new BSON.Code('a'),
  'a small bigint': 7n,
  'the largest bigint': 2n ** 63n - 1n,
  'bytes of Node': Buffer.from('hi'),
  bytes: new Uint8Array([1, 2]),
  'other numbers of a size': new Float32Array([1.5]),
  'a Map': new Map([['a', new Map([['b', 1]])]]),
  'a Set': new Set([1]),
  'a URL': new URL('http://example.org/a'),
  'an object of a class with toJSON': new Point(),
  'an object with toJSON': { x: 1, toJSON: () => 'other' },
  'an object with toBSON': { x: 1, toBSON: () => ({ y: 2 }) },
  'an error': new Error('secret'),
  'a regular expression': /a/giu,
  'a date': new Date(5),
  'a date that is none': new Date(Number.NaN),
  'a date of another realm': runInNewContext('new Date(5)'),
  'a function': () => 1,
  'a symbol': Symbol('s'),
  undefined,
  'a list with holes': Object.assign([1, undefined, () => 1], { length: 5 }),
  'an object without a prototype': Object.assign(Object.create(null), { a: 1 }),
  'a string with half of a character': 'a\ud800',
  'names with half of a character': { 'a\ud800': 1, 'b\ud800': [{ '\udc00': 2 }] },
  'minus zero': -0,
  'what is stored as it is': { a: [{ b: 'ü', c: null, d: true, e: 1.5 }] },
}

const PLACES: Readonly<Record<string, (value: unknown) => unknown>> = {
  'in a field': (value) => value,
  'in an object': (value) => ({ inside: value, beside: 1 }),
  'in a list': (value) => [0, value],
}

for (const [place, put] of Object.entries(PLACES)) {
  t.test(`create answers what get returns, also for values of classes ${place}`, async (t) => {
    const things = new MongoDBService({ Model: await empty('things'), multi: true })
    for (const [title, value] of Object.entries(VALUES)) {
      const v = put(value)
      const created = await things.create({ title, v })
      t.strictSame(created, await things.get(created['_id']), title)
      t.equal(JSON.stringify(created), JSON.stringify(await things.get(created['_id'])), title)
      const params: MongoDBParams = { provider: 'rest', query: { $select: ['v'] } }
      const [shown] = (await things._create([{ title, v }, { title }], params)) as Document[]
      t.strictSame(shown, await things.get(shown?.['_id'], params), `${title} of a list`)
    }
  })
}

t.test('update and patch answer what get returns as well', async (t) => {
  const things = new MongoDBService({ Model: await empty('things'), multi: true })
  const { _id } = await things.create({})
  for (const [title, v] of Object.entries(VALUES)) {
    t.strictSame(await things.update(_id, { title, v }), await things.get(_id), title)
    t.strictSame(await things.patch(_id, { title, v }), await things.get(_id), title)
  }
})

t.test('an id of a class is answered as it is stored', async (t) => {
  const things = new MongoDBService({ Model: await empty('things'), multi: true })
  for (const _id of [5n, Long.fromNumber(6), new Map([['a', 1]]), new UUID()]) {
    const created = await things.create({ _id })
    t.strictSame([created], await things.find({ query: { _id: created['_id'] } }))
  }
})

t.test('reads as the options of the driver say', async (t) => {
  const Model = await empty('things')
  for (const docdb of [
    { promoteLongs: false },
    { promoteValues: false },
    { promoteBuffers: true },
    { bsonRegExp: true },
    { useBigInt64: true },
    { serializeFunctions: true },
    { ignoreUndefined: false },
  ]) {
    const reading = Model.db.collection('things', docdb)
    for (const things of [new MongoDBService({ Model: reading }), new MongoDBService({ Model })]) {
      const params = things.options.Model === reading ? {} : { docdb }
      const data = {
        n: 1,
        long: 2n ** 60n,
        bytes: Buffer.from('hi'),
        pattern: /a/i,
        f: () => 1,
        u: undefined,
      }
      const created = await things.create(data, params)
      t.strictSame(created, await things.get(created['_id'], params), Object.keys(docdb).join())
    }
  }
})

t.test('no write takes a bigint beyond 64 bits, of which a part would be stored', async (t) => {
  const things = new MongoDBService({ Model: await empty('things'), multi: true })
  const { _id } = await things.create({ n: -(2n ** 63n) })
  for (const large of [2n ** 63n, -(2n ** 63n) - 1n, 2n ** 70n]) {
    for (const n of [large, [large], { a: { b: large } }, new Map([['a', [large]]])]) {
      for (const params of [{}, { provider: 'rest' }]) {
        await t.rejects(things.create({ n }, params), BadRequest)
        await t.rejects(things.create([{ n: 1 }, { n }], params), BadRequest)
        await t.rejects(things.update(_id, { n }, params), BadRequest)
        await t.rejects(things.patch(_id, { n }, params), BadRequest)
        await t.rejects(things.patch(null, { $set: { n } }), BadRequest)
      }
      await t.rejects(things._create({ n: new Map([['a', n]]) }), BadRequest)
    }
  }
  t.equal(await things.countDocuments({ query: { n: { $lt: 0 } } }), 1)
  t.equal(await things.countDocuments(), 1)
})

t.test('a map is checked as the object that is stored of it', async (t) => {
  const things = new MongoDBService({ Model: await empty('things') })
  const v = new Map([['ref', { _bsontype: 'ObjectId' }]])
  for (const params of [{}, { provider: 'rest' }]) {
    await t.rejects(things.create({ v }, params), BadRequest)
    await t.rejects(things.patch(new ObjectId(), { v }, params), BadRequest)
    await t.rejects(things.create({ v: new Map([['__proto__', 1]]) }, params), BadRequest)
  }
  await t.rejects(things.create({ v: new Map([['$a', 1]]) }, { provider: 'rest' }), BadRequest)
  t.equal(await things.countDocuments(), 0)
})

t.test('the JSON of a large Long, and the digits that a resolver makes of it', async (t) => {
  const app = createApp<{ things: MongoDBService }>()
  app.use('things', new MongoDBService({ Model: await empty('things') }))
  const things = app.service('things')
  let shown: unknown
  const digits = resolveExternal(
    resolve<{ views: number | Long | string }, HookContext>({
      views: (views) => views?.toString(),
    }),
  )
  const note: AroundHook = async (context, next) => {
    await next()
    shown = context.dispatch
  }
  things.hooks({ around: { get: [note, digits] } })
  const created = await things.create({ views: 2n ** 63n - 1n })
  const json = '{"high":2147483647,"low":-1,"unsigned":false}'
  t.equal(JSON.stringify(created['views']), json)
  t.equal(JSON.stringify((await things.get(created['_id']))['views']), json)
  t.match(shown, { views: '9223372036854775807' })
})

t.test('a record of JSON is neither copied nor written twice', (t) => {
  const call = { collection: { bsonOptions: {} }, driver: {} } as unknown as AdapterCall
  const record = JSON.parse('{"a":[{"b":"c"},1.5,true,null],"d":{"e":[]}}')
  t.equal(toStoredForm(call, record), record)
  const converted = { ...record, at: new Date(5), id: new ObjectId() }
  t.equal(toStoredForm(call, converted), converted)
  t.not(toStoredForm(call, { ...record, n: 7n }), record)
  t.end()
})

t.test('rejects a record that is too large with 413, also with values of classes', async (t) => {
  const things = new MongoDBService({ Model: await empty('things'), multi: true })
  const text = 'x'.repeat(41_943_040)
  for (const record of [{ text }, { n: 1n, text }]) {
    await t.rejects(things.create(record), PayloadTooLarge)
    await t.rejects(things.create([{}, record]), PayloadTooLarge)
  }
  t.equal(await things.countDocuments(), 0)
})

t.test('a record that holds itself is refused by an error, and not by a full stack', async (t) => {
  const things = new MongoDBService({ Model: await empty('things'), multi: true })
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  await t.rejects(things._create({ circle }), BadRequest)
  await t.rejects(things._create([{ circle }, {}]), BadRequest)
  t.equal(await things.countDocuments(), 0)
})
