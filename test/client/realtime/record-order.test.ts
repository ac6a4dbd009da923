import t from 'tap'
import { compareBy } from '../../../src/client/realtime/record-order.ts'

/** Values in the order of the server: those of one line are equal. */
const ORDER = [
  [undefined, null],
  [-1],
  [0],
  [1.5],
  [10],
  [''],
  ['10'],
  ['9'],
  ['B'],
  ['a'],
  ['ä'],
  [{ a: 1 }, { b: 2 }, [], [3]],
  [false],
  [true],
]

t.test('values are compared as the server does', async (t) => {
  const compare = compareBy({ value: 1 })
  for (const [index, values] of ORDER.entries()) {
    for (const [other, others] of ORDER.entries()) {
      for (const value of values) {
        for (const against of others) {
          const order = Math.sign(compare({ value }, { value: against }))
          t.equal(order, Math.sign(index - other), `${JSON.stringify([value, against])}`)
        }
      }
    }
  }
})

t.test('times of one format are in their order', async (t) => {
  const times = ['2026-01-02T00:00:00.000Z', '2025-12-31T23:59:59.999Z']
  t.strictSame([...times].sort(compareStrings), times.toReversed())
})

t.test('directions are numbers, or the strings that a query has of them', async (t) => {
  for (const direction of [-1, '-1']) {
    t.ok(compareBy({ value: direction })({ value: 2 }, { value: 1 }) < 0)
  }
  for (const direction of [1, '1']) {
    t.ok(compareBy({ value: direction })({ value: 2 }, { value: 1 }) > 0)
  }
})

t.test('further fields decide where the first are equal, paths lead into objects', async (t) => {
  const compare = compareBy({ a: 1, 'b.c': -1 })
  t.ok(compare({ a: 1, b: { c: 9 } }, { a: 2, b: { c: 10 } }) < 0)
  t.ok(compare({ a: 1, b: { c: 9 } }, { a: 1, b: { c: 10 } }) > 0)
  t.ok(compare({ a: 1, b: 'c' }, { a: 1, b: { c: 10 } }) > 0)
  t.equal(compareBy({ constructor: 1 })({}, { a: 1 }), 0)
})

t.test('without $sort, records stay as they are', async (t) => {
  for (const sort of [undefined, null, {}, 'a']) t.equal(compareBy(sort)({ a: 1 }, { a: 2 }), 0)
})

function compareStrings(one: string, other: string): number {
  return compareBy({ at: 1 })({ at: one }, { at: other })
}
