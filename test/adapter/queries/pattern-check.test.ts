import t from 'tap'

import type { MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { BadRequest } from '../../../src/core/errors/index.ts'
import { openDatabase } from '../../support/database.ts'

const { empty, commandsOf } = await openDatabase(t)
const Model = await empty('notes')
const operators = ['$regex', '$not', '$elemMatch']
const notes = new MongoDBService({ Model, operators, multi: true })
const outside = (query: object): MongoDBParams => ({ provider: 'rest', query }) as MongoDBParams

const REFUSED: readonly [string, unknown, RegExp][] = [
  ['129 characters', { $regex: 'a'.repeat(129) }, /is too long/],
  ['a zero byte', { $regex: 'a\0' }, /zero byte/],
  ['what does not compile', { $regex: '(' }, /is not valid/],
  ['a class without an end', { $regex: '[a' }, /is not valid/],
  ['an unknown flag', { $regex: 'a', $options: 'x' }, /\$options other than/],
  ['a flag twice', { $regex: 'a', $options: 'ii' }, /is not valid/],
  ['flags that are no string', { $regex: 'a', $options: { a: 1 } }, /\$options must be a string/],
  ['flags alone', { $options: 'i' }, /\$options/],
  ['an object', { $regex: { a: 1 } }, /must be a string/],
  ['a list', { $regex: ['a'] }, /must be a string/],
  ['a number', { $regex: 5 }, /must be a string/],
  ['null', { $regex: null }, /must be a string/],
  ['a RegExp of a hook with other flags', { $regex: /a/, $options: 'x' }, /\$options other than/],
  ['a repeat in a repeat', { $regex: '(a+)+$' }, /repeats a group/],
  ['one inside $not', { $not: { $regex: '(a+)+$' } }, /repeats a group/],
  ['one inside $elemMatch', { $elemMatch: { text: { $regex: '(' } } }, /for text is not valid/],
  ['a quotation of the database', { $regex: '\\Q[\\E(a+)+]' }, /escape that is not allowed/],
  ['such a quotation behind a backslash', { $regex: '\\\\\\Qa' }, /escape that is not allowed/],
  ['a group by its name', { $regex: '(?<a>b)\\k<a>' }, /escape that is not allowed/],
]

for (const [title, name, message] of REFUSED) {
  t.test(`refuses as a pattern ${title}, and sends no command (INJ-15)`, async (t) => {
    const calls = [
      (params: MongoDBParams) => notes.find(params),
      (params: MongoDBParams) => notes.get('a', params),
      (params: MongoDBParams) => notes.patch(null, { a: 1 }, params),
      (params: MongoDBParams) => notes.remove('a', params),
    ]
    const commands = await commandsOf(async () => {
      for (const call of calls) {
        for (const query of [{ name }, { $or: [{ a: 1 }, { name }] }]) {
          const error = await call(outside(query)).catch((thrown: unknown) => thrown)
          t.ok(error instanceof BadRequest)
          t.match(error, { message })
          t.match(error, { message: /name|text|\$options/ }, 'names the field')
        }
      }
    })
    t.strictSame(commands, [])
  })
}

const REPEATED = [
  ...['(a*)*', '(a+)*b', '(a|a)+', '(a|ab)*', '(a?){9}', '(a{1,2})+', '((a+)b)+', '(?:a+)+'],
  ...['(a+){2}', '(a+){2,}', '(a*?)+?', '([a-z]+)*', '(\\w+\\s?)*', '(?<n>a+)+', '(?=a+)*a'],
  ...[
    '(((a)|b))*',
    '(x(a+)y)+',
    '(a{2,})*',
    '[(](a+)+[)]',
    '\\((a+)+',
    '(a+){0,9}',
    '(a,{1,2})+',
    '(a+){,9}',
    '(a{,2})+',
    '(a+){ 2 }',
  ],
]

for (const $regex of REPEATED) {
  t.test(`refuses to repeat what varies: ${$regex}`, async (t) => {
    await t.rejects(notes.find(outside({ name: { $regex } })), /for name repeats a group/)
  })
}

const MULTIPLIED = [
  ...['a?'.repeat(9), '(a|a)'.repeat(9), 'a*'.repeat(4), 'a*b+c*d{2,}', 'a|b|c|d|e|f|g|h|i|j'],
]

for (const $regex of MULTIPLIED) {
  t.test(`refuses what varies in too many places: ${$regex} (INJ-15)`, async (t) => {
    const message = /for name has more than 3 repetitions or 8 choices/
    await t.rejects(notes.find(outside({ name: { $regex } })), message)
  })
}

const ALLOWED = [
  ...['ann', '^ann$', 'a.*b', '(ab)+', '(a+)', '(a+)?', '(a|b)', '(a+|b)?c', 'a{2,3}', '(a{2})+'],
  ...['[(a+)+]', '\\(a+\\)+', '(?:a\\+)+', '[\\]+](b)*', '(a+)b+', '(a+){1}', '\\d+-\\w+', 'a{,2}'],
  ...['a'.repeat(128), '', '\\\\Q', '(ab){2,}c*', '(?:x)*y*', '[a-z]+@[a-z]+'],
]

for (const $regex of ALLOWED) {
  t.test(`takes ${$regex.slice(0, 30)}, with each flag`, async () => {
    await notes.find(outside({ name: { $regex } }))
    await notes.find(outside({ name: { $regex, $options: '' } }))
    await notes.find(outside({ $or: [{ name: { $options: 'ims', $regex } }] }))
  })
}

t.test('finds by a pattern and its flags', async (t) => {
  await Model.insertOne({ name: 'Ann' })
  t.match(await notes.find(outside({ name: { $regex: '^aN+$', $options: 'i' } })), { length: 1 })
  t.match(await notes.find(outside({ name: { $regex: '^aN+$' } })), { length: 0 })
})

t.test('takes any pattern inside the process', async (t) => {
  for (const $regex of ['(a+)+$', 'a'.repeat(200), /^A/]) {
    await notes.find({ query: { name: { $regex } } })
  }
  t.match(await notes.find({ query: { name: /^A/ } }), { length: 1 })
})

t.test('takes the limit of the service, and leaves what a filter has made alone', async (t) => {
  const made = { $starts: () => ({ $regex: '(a+)+' }), $like: true as const }
  const other = new MongoDBService({
    ...{ Model, operators, filters: made, limits: { patternLength: 3 } },
  })
  await t.rejects(other.find(outside({ name: { $regex: 'abcd' } })), /is too long/)
  await t.rejects(other.find(outside({ $like: { $regex: '(' } })), /for \$like is not valid/)
  const refusal = { message: 'The database rejects a value of the query or the data' }
  await t.rejects(other.find(outside({ $starts: 'a' })), refusal, 'a name of no operator')
})

t.test('$options stays refused where $regex is', async (t) => {
  const plain = new MongoDBService({ Model })
  await t.rejects(plain.find(outside({ name: { $regex: 'a', $options: 'i' } })), /\$regex/)
  await t.rejects(plain.find(outside({ name: { $options: 'i' } })), /\$options/)
  const odd = new MongoDBService({ Model, operators: ['$options'] })
  await t.rejects(
    odd.find(outside({ name: { $options: 'i' } })),
    /\$options needs a \$regex for name/,
  )
})

t.test('a RegExp, which only server code can set, needs no option in external calls', async (t) => {
  const plain = new MongoDBService({ Model, multi: true })
  await Model.deleteMany({})
  await Model.insertOne({ name: 'Ann' })
  for (const name of [/^aN/i, { $regex: /^aN/i }, { $regex: /^aN/i, $ne: 'Ben' }]) {
    t.match(await plain.find(outside({ name })), { length: 1 })
    t.match(await plain.find(outside({ $or: [{ name }] })), { length: 1 })
  }
  const bent = { name: { $regex: /^a/, $options: 'i' } }
  await t.rejects(plain.find(outside(bent)), /Invalid query parameter \$options/)
  t.match(await notes.find(outside(bent)), { length: 1 })
})

t.test('an empty $and is no condition, and an empty $or or $nor a 400', async (t) => {
  const nor = new MongoDBService({ Model, operators: ['$nor'], multi: true })
  await Model.deleteMany({})
  await Model.insertMany([{ name: 'Ann' }, { name: 'Ben' }])
  for (const toParams of [outside, (query: object) => ({ query }) as MongoDBParams]) {
    t.match(await nor.find(toParams({ $and: [] })), { length: 2 })
    t.match(await nor.find(toParams({ $and: [{ $and: [] }], name: 'Ann' })), { length: 1 })
    t.match(await nor.find(toParams({ $or: [{ $and: [], name: 'Ann' }] })), { length: 1 })
    for (const name of ['$or', '$nor']) {
      for (const query of [{ [name]: [] }, { $and: [{ [name]: [] }] }]) {
        const error = {
          name: 'BadRequest',
          message: `${name} must be a non-empty list of conditions`,
        }
        await t.rejects(nor.find(toParams(query)), error)
      }
    }
  }
  await t.rejects(nor.remove(null, outside({ $and: [] })), { name: 'BadRequest' })
  await t.rejects(nor.patch(null, { a: 1 }, outside({ $and: [{ $and: [] }] })), { code: 400 })
  t.equal(await Model.countDocuments(), 2)
})
