import t from 'tap'
import { getFirst, isPage, listFound, replaceRecords } from '../../src/core/results.ts'

const records = [{ n: 1 }, { n: 2 }]
const page = { total: 2, limit: 5, skip: 0, data: records }

/** Results of `find`, whether they are pages, and the records in them. */
const FOUND: readonly (readonly [title: string, found: unknown, isPage: boolean, list: unknown])[] =
  [
    ['a page', page, true, records],
    ['a page with cursors', { limit: 5, data: records, nextCursor: null }, true, records],
    ['a page without counts', { data: records, next: '/more' }, true, records],
    ['a page of a class', Object.assign(new (class Found {})(), page), true, records],
    ['a list', records, false, records],
    ['a record', { n: 1 }, false, null],
    ['a record with data', { data: { n: 1 } }, false, null],
    ['nothing', null, false, null],
    ['text', 'text', false, null],
  ]

for (const [title, found, isOne, list] of FOUND) {
  t.test(`knows what find has returned: ${title}`, (t) => {
    t.equal(isPage('find', found), isOne)
    t.equal(listFound(found), list)
    t.equal(getFirst(found), list === null ? found : records[0])
    t.end()
  })
}

t.test('takes `data` for the records of a page only in results of find', (t) => {
  t.notOk(['get', 'create', 'patch', 'report'].some((method) => isPage(method, page)))
  const replaced = replaceRecords('get', page, (record) => [record])
  t.strictSame(replaced, [page])
  t.end()
})

t.test('replaces the records of a page, a list and a record, and keeps the rest', (t) => {
  const first = (found: unknown): unknown => (Array.isArray(found) ? found.slice(0, 1) : 'one')
  t.strictSame(replaceRecords('find', page, first), { ...page, data: [{ n: 1 }] })
  t.strictSame(replaceRecords('find', records, first), [{ n: 1 }])
  t.strictSame(replaceRecords('get', { n: 1 }, first), 'one')
  t.equal(page.data.length, 2)
  t.end()
})
