import type { Query } from '../../../src/core/index.ts'
import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'

interface Echo {
  readonly query: Record<string, unknown>
  readonly sent: { readonly url: string }
}

const sendableIds = Array.from({ length: 200 }, (_, index) => `id${index}`)

/** What becomes of params.query. */
export function testQueries(t: Cases, { service, expected }: Cell): void {
  const findEcho = (query: Query) => service('echo').find({ query }) as Promise<Echo>

  t.test('nested queries arrive as they were sent', async (t) => {
    const query = { some: 'thing', other: ['one', 'two'], nested: { a: { b: 'object' } } }
    sameNamed(t, await service('todos').get(0, { query }), { id: 0, query })
    const listed = { test: { $in: ['0', '1', '2'] } }
    t.strictSame(((await service('todos').get(0, { query: listed })) as Echo).query, listed)
    const odd = { a: 'ü &=+%', b: ['1', '2'], c: { d: { e: ['x y'] } }, 'f.g': '[0]', h: '' }
    t.strictSame((await findEcho(odd)).query, odd)
  })

  t.test('lists have indexes, and brackets are percent-encoded', async (t) => {
    const { sent } = await findEcho({ a: ['x', 'y'], b: { c: 'd e' } })
    t.equal(sent.url, '/echo?a%5B0%5D=x&a%5B1%5D=y&b%5Bc%5D=d%20e')
  })

  t.test('numbers, booleans and dates arrive', async (t) => {
    const { query } = await findEcho({ n: 1.5, yes: true, no: false, at: new Date(0) })
    t.strictSame(Object.values(query), expected.queryValues)
  })

  t.test('a condition that a query string can not hold does not vanish', async (t) => {
    const remove = (query: Query) => outcomeOf(() => service('echo').remove(null, { query }))
    for (const [title, value] of Object.entries({ undefined, object: {} })) {
      for (const query of [{ a: value }, { a: { $in: value } }] as Query[]) {
        sameNamed(t, await remove(query), expected.lostCondition(query), title)
      }
    }
    sameNamed(t, await remove({ a: null }), expected.nullInQuery)
  })

  t.test('an empty list arrives as one, or is refused', async (t) => {
    t.strictSame((await findEcho({ a: [], b: { $in: [] } })).query, expected.emptyLists)
    const todos = service('todos')
    await todos.create({ text: 'empty list' })
    const count = async () =>
      ((await todos.find({ query: { text: { $in: [] } } })) as unknown[]).length
    sameNamed(t, await outcomeOf(count), expected.foundInNothing)
    await todos.remove(null, { query: { text: 'empty list' } })
  })

  t.test('200 ids in $in arrive in their order', async (t) => {
    const { query } = await findEcho({ id: { $in: sendableIds } })
    t.strictSame(Object.values((query['id'] as { $in: object }).$in), sendableIds)
  })

  t.test('operators, sorting and the choice of fields have their effect', async (t) => {
    const todos = service('todos')
    await todos.create([{ text: 'b' }, { text: 'a' }, { text: 'c' }])
    const find = async (query: Query) =>
      ((await todos.find({ query })) as { text: string }[]).map(({ text }) => text)
    t.strictSame(await find({ text: { $in: ['a', 'b'] }, $sort: { text: -1 } }), ['b', 'a'])
    t.strictSame(await find({ $or: [{ text: 'a' }, { text: { $gt: 'b', $ne: 'some todo' } }] }), [
      'a',
      'c',
    ])
    t.strictSame(await find({ $sort: { text: 1 }, $limit: 1, $skip: 1 }), ['b'])
    const query = { text: 'a', $select: ['text'] }
    sameNamed(t, await todos.find({ query }), [{ text: 'a', id: Number }])
    sameNamed(t, await todos.remove(null, { query: { text: { $lt: 'd' } } }), { length: 3 })
    sameNamed(t, await todos.find(), { length: 1 })
  })

  t.test('an operator that the service does not know is an error', async (t) => {
    const error = { name: 'BadRequest', code: 400 }
    sameNamed(t, await outcomeOf(() => service('todos').find({ query: { $nope: 1 } })), { error })
  })
}
