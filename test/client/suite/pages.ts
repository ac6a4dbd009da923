import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'

/** What a service with pages answers. */
export function testPages(t: Cases, { service }: Cell): void {
  const find = (query?: object) => service('pages').find(query && { query })

  t.test('a page says how many records there are', async (t) => {
    const data = [
      { text: 'a', even: true, id: 0 },
      { text: 'b', even: false, id: 1 },
    ]
    t.strictSame(await find(), { total: 7, limit: 2, skip: 0, data })
  })

  t.test('$limit and $skip choose the page, up to the largest one', async (t) => {
    sameNamed(t, await find({ $limit: 3, $skip: 5 }), {
      ...{ total: 7, limit: 3, skip: 5, data: [{ text: 'f' }, { text: 'g' }] },
    })
    sameNamed(t, await find({ $limit: 100 }), { total: 7, limit: 4, data: { length: 4 } })
    t.strictSame(await find({ $limit: 0 }), { total: 7, limit: 0, skip: 0, data: [] })
  })

  t.test('the total is of those that match', async (t) => {
    const query = { text: { $gt: 'b' }, $sort: { text: -1 } }
    sameNamed(t, await find(query), { total: 5, data: [{ text: 'g' }, { text: 'f' }] })
  })
}
