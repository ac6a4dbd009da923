import type { Document } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

t.test('$lookup', async (t) => {
  const database = await openDatabase(t)
  const users = database.collection<Document & { _id: number }>('users')
  const posts = database.collection<Document & { _id: number }>('posts')
  await users.insertMany([{ _id: 1, name: 'Ada' }, { _id: 2, name: 'Bob' }, { _id: 3 }])
  await posts.insertMany([{ _id: 1, by: 1 }, { _id: 2, by: [1, 2] }, { _id: 3 }])
  const run = async (lookup: Document): Promise<Document[]> =>
    await posts.aggregate([{ $lookup: { from: 'users', as: 'out.users', ...lookup } }]).toArray()

  await t.test('joins values, items of arrays and missing with null', async (t) => {
    const found = await run({ localField: 'by', foreignField: '_id' })
    t.same(
      found.map(({ out }) => out.users.map(({ _id }: Document) => _id)),
      [[1], [1, 2], []],
    )
  })
  await t.test('runs a pipeline over the joined documents', async (t) => {
    const found = await run({
      localField: 'by',
      foreignField: '_id',
      pipeline: [{ $project: { _id: 0 } }],
    })
    t.same(
      found.map(({ out }) => out.users),
      [[{ name: 'Ada' }], [{ name: 'Ada' }, { name: 'Bob' }], []],
    )
  })
  await t.test('runs a pipeline with variables', async (t) => {
    const match = { $match: { $expr: { $gt: ['$_id', '$$own'] } } }
    const found = await run({ let: { own: '$_id' }, pipeline: [match, { $count: 'n' }] })
    t.same(
      found.map(({ out }) => out.users),
      [[{ n: 2 }], [{ n: 1 }], []],
    )
  })
})
