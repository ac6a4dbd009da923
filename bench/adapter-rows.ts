import type { Collection, Document, MongoClient, ObjectId } from 'mongodb'
import type { Page } from 'remex'

import { MongoDBService } from 'remex/mongodb'
import type { CallPair } from './call-pairs.ts'
import { KEYSET_SORT, toBehind, toCursor, toPage, toPlainKey } from './plain-cursor.ts'

/** One operation, as a program would write it with the driver alone and with a service. */
export interface AdapterRow extends CallPair {
  readonly title: string
}

const OUTSIDE = { provider: 'rest' } as const
const AFTER = { returnDocument: 'after' } as const
const MANY = 100

/** Resolves to the operations that are compared, on a collection with 1,000 records. */
export async function createRows(client: MongoClient, people: Collection): Promise<AdapterRow[]> {
  const service = new MongoDBService({ Model: people, multi: true })
  await people.createIndex({ age: 1 })
  const documents = Array.from({ length: 1_000 }, (_, age) => ({ name: `name ${age}`, age }))
  const { insertedIds } = await people.insertMany(documents)
  const id = insertedIds[7] as ObjectId
  const text = String(id)
  const query = { age: { $gte: 20, $lt: 50 }, $sort: { age: 1 }, $limit: 10 } as const
  const filter = { age: query.age }
  const findTen = (): Promise<unknown> =>
    people.find(filter, { sort: query.$sort, limit: 10 }).toArray()
  const group = { age: { $gte: 100, $lt: 100 + MANY } }
  const stage = { $set: { double: { $multiply: ['$age', 2] } } } as const
  const spent = new SpentRecords(people)
  const [first] = await people.find(filter, { sort: KEYSET_SORT, limit: 1 }).toArray()
  const cursor = toCursor(first, KEY)
  const firstPage = { ...query, $limit: 1, $after: '' }
  const { nextCursor } = (await service.find({
    query: firstPage,
    paginate: { default: 10 },
  })) as unknown as Page<Document>
  return [
    {
      title: 'get',
      calls: 100,
      driver: () => people.findOne({ _id: id }),
      service: () => service.get(text, OUTSIDE),
    },
    {
      title: 'find of 10',
      calls: 50,
      driver: findTen,
      service: () => service.find({ ...OUTSIDE, query }),
    },
    {
      title: 'page of 10',
      calls: 50,
      driver: () => Promise.all([findTen(), people.countDocuments(filter)]),
      service: () => service.find({ ...OUTSIDE, query, paginate: { default: 10 } }),
    },
    {
      title: 'keyset page',
      calls: 50,
      driver: async () => {
        const filtered = { ...filter, $or: toBehind(cursor, KEY) }
        const found = await people.find(filtered, { sort: KEYSET_SORT, limit: 11 }).toArray()
        return toPage(found, 10, KEY)
      },
      service: () =>
        service.find({
          ...OUTSIDE,
          query: { ...query, $after: nextCursor },
          paginate: { default: 10 },
        }),
    },
    {
      title: 'pipeline',
      calls: 50,
      driver: () =>
        people
          .aggregate([{ $match: filter }, { $sort: query.$sort }, { $limit: 10 }, stage])
          .toArray(),
      service: () => service.find({ query, pipeline: [stage] }),
    },
    {
      title: 'create',
      calls: 100,
      async driver() {
        const data = { name: 'a', age: -1 }
        const { insertedId } = await people.insertOne({ ...data })
        return { _id: insertedId, ...data }
      },
      service: () => service.create({ name: 'a', age: -1 }, OUTSIDE),
    },
    {
      title: `create ${MANY}`,
      calls: 10,
      driver: () => people.insertMany(toMany()),
      service: () => service.create(toMany(), OUTSIDE),
    },
    {
      title: 'update',
      calls: 100,
      driver: () => people.findOneAndReplace({ _id: id }, { name: 'a', age: 7 }, AFTER),
      service: () => service.update(text, { name: 'a', age: 7 }, OUTSIDE),
    },
    {
      title: 'patch',
      calls: 100,
      driver: () => people.findOneAndUpdate({ _id: id }, { $set: { seen: 1 } }, AFTER),
      service: () => service.patch(text, { seen: 1 }, OUTSIDE),
    },
    {
      title: `patch ${MANY}`,
      calls: 5,
      driver: () => patchMany(client, people, group, { $set: { seen: 1 } }),
      service: () => service.patch(null, { seen: 1 }, { ...OUTSIDE, query: group }),
    },
    {
      title: 'remove',
      calls: 100,
      prepare: (calls) => spent.fill(2 * calls),
      driver: () => people.findOneAndDelete({ _id: spent.next() }),
      service: () => service.remove(spent.next(), OUTSIDE),
    },
  ]
}

const KEY = toPlainKey('a secret')

function toMany(): Document[] {
  return Array.from({ length: MANY }, () => ({ name: 'a', age: -1 }))
}

/** What answers with exactly the records that were changed, whatever other programs do meanwhile. */
async function patchMany(
  client: MongoClient,
  people: Collection,
  filter: Document,
  update: Document,
): Promise<Document[]> {
  return client.withSession((session) =>
    session.withTransaction(async () => {
      const found = await people.find(filter, { session, projection: { _id: 1 } }).toArray()
      const byId = { _id: { $in: found.map(({ _id }) => _id) } }
      await people.updateMany(byId, update, { session })
      return people.find(byId, { session }).toArray()
    }),
  )
}

/** Records that are there to be removed. */
class SpentRecords {
  readonly #people: Collection
  #ids: ObjectId[] = []

  constructor(people: Collection) {
    this.#people = people
  }

  async fill(count: number): Promise<void> {
    const documents = Array.from({ length: count }, (_, age) => ({ name: 'a', age: -2 - age }))
    const { insertedIds } = await this.#people.insertMany(documents)
    this.#ids = Object.values(insertedIds)
  }

  next(): ObjectId {
    return this.#ids.pop() as ObjectId
  }
}
