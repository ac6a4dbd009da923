import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Document } from 'mongodb'
import { Binary, Decimal128, Long, ObjectId, UUID } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { Page } from '../../../src/core/params.ts'
import { openDatabase } from '../../support/database.ts'

t.setTimeout(600_000)

const SEEDS = process.env.KEYSET_SEED ? [Number(process.env.KEYSET_SEED)] : [1, 2, 20_261_126]
const RUNS = Number(process.env.KEYSET_RUNS ?? 30)

const { empty } = await openDatabase(t)

/** Values of all types that cursors take; `undefined` is a missing field. */
const VALUES: readonly unknown[] = [
  ...[undefined, null, Number.NaN, Number.NEGATIVE_INFINITY, -5, 0, 1, 1.5, 2, Infinity],
  ...[Long.fromString('9007199254740993'), Decimal128.fromString('1.25'), '', 'a', 'b', 'B'],
  ...[new Binary(Buffer.of(1)), new UUID('0189d5c6-0000-7000-8000-000000000000')],
  ...[new ObjectId('000000000000000000000001'), new ObjectId('0000000000000000000000ff')],
  ...[false, true, new Date(-1), new Date(0), new Date(1_700_000_000_000)],
]

const SORTS = [
  ...[undefined, { _id: -1 }, { a: 1 }, { a: -1 }, { a: 1, b: -1 }, { a: -1, b: 1, _id: 1 }],
  ...[{ 'a.x': 1 }, { b: -1, 'a.x': -1 }, { _id: 1, a: 1 }],
] as const

/** An id of one of three types, a few apart from the next one. */
const toId = (number: number): unknown =>
  [number, `id ${number}`, new ObjectId(number.toString(16).padStart(24, '0'))][number % 3]

const value = fc.constantFrom(...VALUES)
/** Where `$sort` looks inside of `a`, that is an object with the value, or the value. */
const fields = fc.record({ a: value, b: value, isInside: fc.boolean() })
const change = fc.record({
  kind: fc.constantFrom('insert', 'remove', 'patch', 'move'),
  target: fc.nat(1_000),
  fields,
})
const plan = fc.record({
  records: fc.array(fields, { minLength: 1, maxLength: 25 }),
  /** What happens behind each page. */
  changes: fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 12 }),
  sort: fc.constantFrom(...SORTS),
  size: fc.constantFrom(1, 2, 7),
  isBackward: fc.boolean(),
})

type Fields = typeof fields extends fc.Arbitrary<infer Value> ? Value : never
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never

const withValue = (name: string, given: unknown): Document =>
  given === undefined ? {} : { [name]: given }

const toRecord = (_id: unknown, { a, b, isInside }: Fields, sort: object = {}): Document => ({
  ...{ _id, count: 0 },
  ...('a.x' in sort && isInside ? { a: withValue('x', a) } : withValue('a', a)),
  ...withValue('b', b),
})

/** Returns the pages of a walk to its end. */
async function* walk(
  service: MongoDBService,
  { sort, size, isBackward }: { sort: object | undefined; size: number; isBackward: boolean },
): AsyncGenerator<Page<Document>> {
  let cursor: string | null | undefined = ''
  while (typeof cursor === 'string') {
    const query = {
      ...{ [isBackward ? '$before' : '$after']: cursor, $limit: size },
      ...(sort === undefined ? {} : { $sort: sort }),
    }
    const page: Page<Document> = (await service.find({ query })) as Page<Document>
    yield page
    cursor = isBackward ? page.previousCursor : page.nextCursor
  }
}

const idsOf = (records: readonly Document[]): string[] => records.map(({ _id }) => String(_id))

async function startWith(given: readonly Fields[], sort: object | undefined) {
  const records = given.map((one, index) => toRecord(toId(index * 5), one, sort))
  const model = await empty('keyset')
  await model.insertMany(records as never)
  const service = new MongoDBService({ Model: model, paginate: { default: 5 } })
  return { model, records, service: service as unknown as MongoDBService }
}

async function checkAll<Values>(property: fc.IAsyncProperty<Values>): Promise<void> {
  for (const seed of SEEDS) await fc.assert(property, { seed, numRuns: RUNS })
}

t.test('each walk goes through all records in the order of the database', async () => {
  await checkAll(
    fc.asyncProperty(plan, async ({ records, ...walked }) => {
      const { sort = {}, size, isBackward } = walked
      const { model, service } = await startWith(records, walked.sort)
      const last = Object.values(sort).at(-1) ?? 1
      const order = { ...sort, ...('_id' in sort ? {} : { _id: last }) }
      const expected = idsOf(await model.find({}, { sort: order as never }).toArray())
      const pages: string[][] = []
      for await (const { data } of walk(service, walked)) pages.push(idsOf(data))
      if (isBackward) pages.reverse()
      assert.deepEqual(pages.flat(), expected)
      assert.equal(pages.length, Math.ceil(expected.length / size))
    }),
  )
})

t.test('whatever others write, none is seen twice and none that stays is missed', async () => {
  await checkAll(
    fc.asyncProperty(plan, async ({ records: given, changes, ...walked }) => {
      const { sort } = walked
      const { model, records, service } = await startWith(given, sort)
      const stayed = new Set(idsOf(records))
      const moved = new Set<string>()
      let added = 0
      const apply = async ({ kind, target, fields }: Change): Promise<void> => {
        const _id = records[target % records.length]?.['_id']
        if (kind === 'insert') {
          added += 1
          await model.insertOne(toRecord(toId(added * 5 + 1), fields, sort) as never)
        } else if (kind === 'patch') await model.updateOne({ _id }, { $inc: { count: 1 } })
        else {
          stayed.delete(String(_id))
          if (kind === 'move') moved.add(String(_id))
          if (kind === 'remove') await model.deleteOne({ _id })
          else await model.replaceOne({ _id }, toRecord(_id, fields, sort))
        }
      }
      const seen: string[] = []
      let pages = 0
      for await (const { data } of walk(service, walked)) {
        seen.push(...idsOf(data))
        for (const one of changes[pages++] ?? []) await apply(one)
      }
      const once = seen.filter((id) => !moved.has(id))
      assert.equal(new Set(once).size, once.length, 'none is seen twice')
      const missed = [...stayed].filter((id) => !seen.includes(id))
      assert.deepEqual(missed, [], 'none is missed')
    }),
  )
})
