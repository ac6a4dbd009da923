import t from 'tap'

import type { MongoDBParams } from '../../src/adapter/index.ts'
import type { AnyPaging } from '../support/any-paging.ts'
import { createAnyPaging } from '../support/any-paging.ts'
import { namesOf, openDatabase } from '../support/database.ts'

const { empty, commandsOf } = await openDatabase(t)

interface Note {
  _id: number
  n: number
}

const MANY: readonly Note[] = Array.from({ length: 1_000 }, (_, n) => ({ _id: n, n }))
const OUTSIDE: MongoDBParams = { provider: 'rest' }
const PAGED: MongoDBParams = { paginate: { default: 10, max: 100 } }
const ALL: MongoDBParams = { query: { n: { $gte: 0 } } }
const UNREAD = { ...ALL, docdb: { returning: false } } as const

/** What is called, and the commands that it sends. */
const CALLS: readonly [string, (notes: AnyPaging<Note>) => Promise<unknown>, string[]][] = [
  ['create', (notes) => notes.create({ n: 1 }), ['insert']],
  ['create of a list of one', (notes) => notes.create([{ n: 1 }]), ['insert']],
  [
    'create of 1,000',
    (notes) => notes.create(MANY.map(({ n }) => ({ n }))),
    ['insert', 'commitTransaction'],
  ],
  ['get', (notes) => notes.get(1), ['find']],
  ['get from outside', (notes) => notes.get(1, OUTSIDE), ['find']],
  ['find', (notes) => notes.find({ query: { $limit: 10 } }), ['find']],
  ['find of 1,000', (notes) => notes.find(), ['find']],
  ['find of no record', (notes) => notes.find({ query: { $limit: 0 } }), []],
  ['a page', (notes) => notes.find(PAGED), ['find', 'aggregate']],
  ['a page from outside', (notes) => notes.find({ ...OUTSIDE, ...PAGED }), ['find', 'aggregate']],
  ['only a total', (notes) => notes.find({ ...PAGED, query: { $limit: 0 } }), ['aggregate']],
  ['a page by a cursor', (notes) => notes.find({ ...PAGED, query: { $after: '' } }), ['find']],
  [
    'a page by a cursor with an estimate',
    (notes) => notes.find({ ...PAGED, query: { $after: '', $total: 'estimate' } }),
    ['find', 'count'],
  ],
  ['update', (notes) => notes.update(1, { n: 5 }), ['findAndModify']],
  ['patch', (notes) => notes.patch(1, { n: 5 }), ['findAndModify']],
  ['patch with a condition', (notes) => notes.patch(1, { n: 5 }, ALL), ['findAndModify']],
  ['an upsert', (notes) => notes.patch(-1, {}, { docdb: { upsert: true } }), ['findAndModify']],
  [
    'patch of 1,000',
    (notes) => notes.patch(null, { n: 5 }, ALL),
    ['find', 'update', 'find', 'commitTransaction'],
  ],
  ['patch of 1,000 without an answer', (notes) => notes.patch(null, { n: 5 }, UNREAD), ['update']],
  ['remove', (notes) => notes.remove(1), ['findAndModify']],
  ['remove of 1,000', (notes) => notes.remove(null, ALL), ['find', 'delete', 'commitTransaction']],
  ['remove of 1,000 without an answer', (notes) => notes.remove(null, UNREAD), ['delete']],
  ['get with stages', (notes) => notes.get(1, { pipeline: [{ $set: { a: 1 } }] }), ['aggregate']],
]

for (const [title, call, expected] of CALLS) {
  t.test(`${title}: ${expected.join(', ') || 'no command'}`, async (t) => {
    const Model = await empty('notes')
    await Model.insertMany(MANY.map((note) => ({ ...note })) as never)
    const notes = createAnyPaging<Note>({ Model, multi: true })
    const commands = await commandsOf(() => call(notes))
    t.strictSame(namesOf(commands), expected)
  })
}
