import type { Document } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

t.test('a collation counts in filters, ranges, sorting and distinct', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('collation')
  await collection.insertMany(['b', 'A', 'a', 'B', 'é', 'e'].map((name) => ({ name })))
  const collation = { locale: 'en', strength: 1 as const }
  const names = (documents: readonly Document[]) => documents.map(({ name }) => name)
  t.same(names(await collection.find({ name: 'a' }, { collation }).toArray()), ['A', 'a'])
  t.same(names(await collection.find({ name: { $in: ['E'] } }, { collation }).toArray()), [
    'é',
    'e',
  ])
  t.same(names(await collection.find({ name: { $gt: 'a' } }, { collation }).toArray()), [
    'b',
    'B',
    'é',
    'e',
  ])
  t.same(names(await collection.find({}, { collation }).sort({ name: 1 }).toArray()), [
    'A',
    'a',
    'b',
    'B',
    'é',
    'e',
  ])
  t.same(await collection.distinct('name', {}, { collation }), ['b', 'A', 'é'])
  await t.rejects(collection.find({}, { collation: { locale: 'not a locale' } }).toArray(), {
    code: 2,
  })
})
