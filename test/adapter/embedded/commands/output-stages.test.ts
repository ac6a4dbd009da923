import type { Document } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

t.test('$out and $merge write collections', async (t) => {
  const database = await openDatabase(t)
  const source = database.collection<Document & { _id: number }>('source')
  const target = database.collection<Document & { _id: number }>('target')
  await source.insertMany([
    { _id: 1, a: 1 },
    { _id: 2, a: 2 },
  ])
  await target.insertMany([
    { _id: 2, b: 2 },
    { _id: 3, b: 3 },
  ])
  t.same(await source.aggregate([{ $merge: 'target' }]).toArray(), [])
  t.same(await target.find().sort({ _id: 1 }).toArray(), [
    { _id: 1, a: 1 },
    { _id: 2, b: 2, a: 2 },
    { _id: 3, b: 3 },
  ])
  await source.aggregate([{ $match: { _id: 1 } }, { $out: 'target' }]).toArray()
  t.same(await target.find().toArray(), [{ _id: 1, a: 1 }])
})
