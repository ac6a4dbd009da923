import type { Document, Filter } from 'mongodb'
import t from 'tap'
import { openDatabase } from '../open-database.ts'

type Numbered = Document & { _id: number }

/** Those of MongoDB's manual, and texts with signs in them. */
const TITLES = [
  'coffee',
  'Coffee Shopping',
  'Baking a cake',
  'baking',
  'Café Con Leche',
  'Сырники',
  'coffee and cream',
  'Cafe con Leche',
  "Don't stop-me now, ever",
  'ΣΊΣΥΦΟΣ',
  'Straße in São_Paulo (Brasil)',
]

interface Case {
  readonly search: string
  readonly finds: readonly number[]
  readonly options?: Document
}

const CASES: readonly Case[] = [
  { search: 'coffee', finds: [0, 1, 6] },
  { search: 'COFFEE', finds: [0, 1, 6] },
  { search: 'coff', finds: [] },
  { search: 'bake coffee cake', finds: [0, 1, 2, 6] },
  { search: 'a', finds: [2] },
  { search: '', finds: [] },
  { search: ' \n ', finds: [] },
  { search: '...', finds: [] },
  { search: 'cafe', finds: [4, 7] },
  { search: 'CAFÉ', finds: [4, 7] },
  { search: 'сырники', finds: [5] },
  { search: 'σίσυφος', finds: [9] },
  { search: 'straße', finds: [10] },
  { search: 'strasse', finds: [] },
  { search: 'sao_paulo', finds: [10] },
  { search: 'paulo', finds: [] },
  { search: 'brasil', finds: [10] },
  { search: '(brasil)', finds: [10] },
  { search: 'don', finds: [8] },
  { search: 't', finds: [8] },
  { search: "don't", finds: [8] },
  { search: 'stop', finds: [8] },
  { search: 'now,ever', finds: [8] },
  // Without: what `-` is before.
  { search: 'coffee -shopping', finds: [0, 6] },
  { search: 'coffee - shopping', finds: [0, 1, 6] },
  { search: 'coffee-shopping', finds: [0, 1, 6] },
  { search: 'coffee -shopping-cream', finds: [0] },
  { search: 'coffee -shopping cream', finds: [0, 6] },
  { search: '-shopping coffee', finds: [0, 6] },
  { search: '-coffee', finds: [] },
  { search: 'coffee\t-shopping', finds: [0, 1, 6] },
  { search: 'coffee --shopping', finds: [0, 6] },
  // Phrases: parts of a text as they are, beside at least one whole word.
  { search: '"coffee and cream"', finds: [6] },
  { search: '"Coffee And CREAM"', finds: [6] },
  { search: '"coffee cream"', finds: [] },
  { search: '"coffee sh"', finds: [1] },
  { search: '"offee"', finds: [] },
  { search: '"coffee" "cream"', finds: [6] },
  { search: 'baking "coffee"', finds: [0, 1, 6] },
  { search: '"baking" coffee', finds: [2, 3] },
  { search: '"cafe con"', finds: [4, 7] },
  { search: '"stop-me now, e"', finds: [8] },
  { search: '"stop me now"', finds: [] },
  { search: 'coffee -"and cream"', finds: [0, 1] },
  { search: 'coffee - "and cream"', finds: [6] },
  { search: 'coffee -"and cream"-"shop"', finds: [0] },
  { search: 'coffee -"and -cream" baking', finds: [0, 1, 2, 3, 6] },
  { search: '"coffee and', finds: [0, 1, 6] },
  { search: 'coffee ""', finds: [0, 1, 6] },
  { search: 'coffee', options: { $caseSensitive: false }, finds: [0, 1, 6] },
  { search: 'coffee', options: { $language: 'none' }, finds: [0, 1, 6] },
]

async function openTitles(t: Parameters<typeof openDatabase>[0]) {
  const database = await openDatabase(t)
  const titles = database.collection<Numbered>('titles')
  await titles.createIndex({ title: 'text' }, { default_language: 'none' })
  await titles.insertMany(TITLES.map((title, _id) => ({ _id, title, even: _id % 2 === 0 })))
  return titles
}

const idsOf = (records: readonly Numbered[]): number[] => records.map(({ _id }) => _id)

t.test('$text finds', async (t) => {
  const titles = await openTitles(t)
  for (const { search, options = {}, finds } of CASES) {
    const name = `${JSON.stringify(search)} ${JSON.stringify(options)}`
    await t.test(name, async (t) => {
      const found = await titles.find({ $text: { $search: search, ...options } }).toArray()
      t.strictSame(idsOf(found), finds)
    })
  }
})

t.test('$text goes with other conditions, in every command', async (t) => {
  const titles = await openTitles(t)
  const filter = { $text: { $search: 'coffee' }, even: true }
  t.strictSame(idsOf(await titles.find(filter).toArray()), [0, 6])
  t.strictSame(idsOf(await titles.find({ $and: [{ $and: [filter] }, { _id: 6 }] }).toArray()), [6])
  t.equal(await titles.countDocuments(filter), 2)
  t.equal(await titles.countDocuments(filter, { collation: { locale: 'simple' } }), 2)
  t.strictSame(await titles.distinct('_id', filter), [0, 6])
  t.match(await titles.updateMany(filter, { $set: { seen: true } }), { modifiedCount: 2 })
  t.match(await titles.findOneAndUpdate({ _id: 1, ...filter, even: false }, { $set: { n: 1 } }), {
    _id: 1,
  })
  t.match(await titles.deleteMany({ seen: true, ...filter }), { deletedCount: 2 })
  const stages = [{ $match: { $text: { $search: 'coffee' } } }, { $project: { title: 1 } }]
  t.strictSame(await titles.aggregate(stages).toArray(), [{ _id: 1, title: 'Coffee Shopping' }])
  const upsert = await titles.updateOne(
    { _id: 20, $text: { $search: 'nothing' } },
    { $set: { title: 'new' } },
    { upsert: true },
  )
  t.equal(upsert.upsertedId, 20)
})

t.test('the positional $ goes by the conditions beside $text', async (t) => {
  const titles = await openTitles(t)
  await titles.updateOne({ _id: 0 }, { $set: { list: [1, 2, 3] } })
  const filter = { $and: [{ $text: { $search: 'coffee' } }, { list: 2 }] }
  await titles.updateOne(filter, { $set: { 'list.$': 9 } })
  t.match(await titles.findOne({ _id: 0 }), { list: [1, 9, 3] })
})

t.test('a score counts what share of a text the words are', async (t) => {
  const titles = await openTitles(t)
  const projection = { score: { $meta: 'textScore' } }
  const score = async (search: string) => {
    const found = await titles.find({ $text: { $search: search } }, { projection }).toArray()
    return found.map(({ _id, score }) => [_id, score])
  }
  t.strictSame(await score('coffee'), [
    [0, 1.1],
    [1, 0.75],
    [6, 2 / 3],
  ])
  t.strictSame(await score('coffee shopping -cream'), [
    [0, 1.1],
    [1, 1.5],
  ])
  await titles.insertOne({ _id: 30, title: ['tea tea tea cup', 'Tea'] })
  // Three of four words: (1 + 1/2 + 1/4) × (0.5 × 3/4 + 0.5), and the whole of the other text.
  t.strictSame(await score('tea'), [[30, 1.75 * 0.875 + 1.1]])
})

t.test('a score is a field beside those of either projection, sorts the best first', async (t) => {
  const titles = await openTitles(t)
  const filter = { $text: { $search: 'coffee' } }
  const score = { $meta: 'textScore' } as const
  const find = (options: Document) => titles.find(filter, options).toArray()
  t.match(await find({ projection: { score }, limit: 1 }), [
    { _id: 0, title: 'coffee', even: true, score: 1.1 },
  ])
  t.strictSame(await find({ projection: { score, title: 1 }, limit: 1 }), [
    { _id: 0, title: 'coffee', score: 1.1 },
  ])
  t.strictSame(await find({ projection: { score, title: 0, _id: 0 }, limit: 1 }), [
    { even: true, score: 1.1 },
  ])
  await titles.updateOne({ _id: 6 }, { $set: { title: 'Coffee' } })
  const sorted = await find({ sort: { score, _id: -1 } })
  t.strictSame(idsOf(sorted), [6, 0, 1])
})

type Refusal = readonly [title: string, filter: Filter<Numbered>, code: number, options?: Document]

const text = { $text: { $search: 'coffee' } }
const meta = { $meta: 'textScore' }

const REFUSALS: readonly Refusal[] = [
  ['no object', { $text: 'coffee' } as Document, 2],
  ['no $search', { $text: {} } as Document, 4],
  ['a $search that is no string', { $text: { $search: 1 } } as Document, 14],
  ['a zero byte', { $text: { $search: 'a\0b' } }, 2],
  ['another field', { $text: { $search: 'a', $fuzzy: true } } as Document, 2],
  ['$caseSensitive', { $text: { $search: 'a', $caseSensitive: true } }, 2],
  ['$diacriticSensitive', { $text: { $search: 'a', $diacriticSensitive: true } }, 2],
  ['a language', { $text: { $search: 'a', $language: 'english' } }, 2],
  ['two of them', { ...text, $and: [text] }, 2],
  ['$nor', { $nor: [{ $and: [text] }] }, 2],
  ['$or', { $or: [text, { a: 1 }] }, 2],
  ['$elemMatch', { list: { $elemMatch: text } } as Document, 2],
  ['$elemMatch beside $text', { ...text, list: { $elemMatch: text } } as Document, 2],
  ['a field', { title: text } as Document, 2],
  ['a hint', text, 2, { hint: 'title_text' }],
  ['a collation', text, 2, { collation: { locale: 'en' } }],
  ['the order $natural', text, 2, { sort: { $natural: 1 } }],
  ['a score without $text', {}, 40218, { projection: { score: meta } }],
  ['the order of scores without $text', {}, 40218, { sort: { score: meta } }],
  ['another $meta', text, 2, { projection: { score: { $meta: 'indexKey' } } }],
]

const REFUSED = /'\$text\.\$\w+Sensitive' is not supported by the embedded server/

t.test('$text is refused with MongoDB’s code for', async (t) => {
  const titles = await openTitles(t)
  await titles.updateMany({}, { $set: { list: [{ a: 1 }] } })
  for (const [title, filter, code, options] of REFUSALS) {
    const message = title.startsWith('$') && title.endsWith('Sensitive') ? REFUSED : /./
    await t.test(title, (t) => t.rejects(titles.find(filter, options).toArray(), { code, message }))
  }
  const only = { $match: text }
  const runs: Readonly<Record<string, readonly [number, () => Promise<unknown>]>> = {
    'a later stage': [17313, () => titles.aggregate([{ $skip: 1 }, only]).toArray()],
    'a list in a later stage': [
      17313,
      () => titles.aggregate([only, { $match: { $and: [text] } }]).toArray(),
    ],
    'an inner pipeline': [17313, () => titles.aggregate([{ $facet: { a: [only] } }]).toArray()],
    'a score in a pipeline': [
      168,
      () => titles.aggregate([only, { $project: { score: meta } }]).toArray(),
    ],
    'an order in a pipeline': [2, () => titles.aggregate([only, { $sort: { a: meta } }]).toArray()],
    $pull: [2, () => titles.updateOne(text, { $pull: { list: text } } as Document)],
    'array filters': [
      2,
      () =>
        titles.updateOne(
          text,
          { $set: { 'list.$[a]': 1 } },
          { arrayFilters: [{ a: 1, ...text } as Document] },
        ),
    ],
    'a score of a change': [
      2,
      () => titles.findOneAndUpdate(text, { $set: { a: 1 } }, { projection: { score: meta } }),
    ],
  }
  for (const [title, [code, run]] of Object.entries(runs)) {
    await t.test(title, (t) => t.rejects(run(), { code }))
  }
})

t.test('$text needs a text index', async (t) => {
  const database = await openDatabase(t)
  const expected = { code: 27, codeName: 'IndexNotFound' }
  await t.rejects(database.collection('missing').findOne(text), expected)
  const things = database.collection('things')
  await things.createIndex({ title: 1 })
  await t.rejects(things.findOne(text), expected)
  await t.rejects(things.countDocuments(text), expected)
  await t.rejects(things.deleteMany(text), { code: 27 })
})
