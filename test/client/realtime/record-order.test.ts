import t from 'tap'
import { compareBy } from '../../../src/client/realtime/live-list.ts'

/** Values in the order of the server. */
const ORDER = [
  ...[null, -1, 0, 1.5, 10, '', '10', '2025-12-31T23:59:59.999Z', '2026-01-02T00:00:00.000Z'],
  ...['9', 'B', 'a', 'ä', false, true],
]

t.test('values are compared as the server does', async (t) => {
  const compare = compareBy({ value: 1 })
  for (const [index, value] of ORDER.entries()) {
    for (const [other, against] of ORDER.entries()) {
      // A date, or a string of this form, and a string that comes after it: see below.
      if ([value, against].some(isDate) && [value, against].some(isLaterText)) continue
      const order = Math.sign(compare({ value }, { value: against }))
      t.equal(order, Math.sign(index - other), `${JSON.stringify([value, against])}`)
    }
  }
})

const UNKNOWN = [
  [undefined, undefined],
  [undefined, null],
  [undefined, 1],
  [{ a: 1 }, { a: 1 }],
  [[1], 2],
  // The one may be a date, which comes after all strings.
  ['2026-01-02T00:00:00.000Z', 'a'],
  ['2026-01-02T00:00:00.000Z', '3'],
  // Dates are in another order than their texts there.
  ['2026-01-02T00:00:00.000Z', '+010000-01-01T00:00:00.000Z'],
  ['-000001-01-01T00:00:00.000Z', '-000002-01-01T00:00:00.000Z'],
  ['2026-01-02T00:00:00.000Z', '2026-77-99T00:00:00.000Z'],
]

t.test('of what records do not show, and what may be a date, the order is unknown', async (t) => {
  const compare = compareBy({ value: 1 })
  const backwards = compareBy({ value: -1 })
  for (const [value, against] of UNKNOWN) {
    t.ok(Number.isNaN(compare({ value }, { value: against })), JSON.stringify([value, against]))
    t.ok(Number.isNaN(backwards({ value: against }, { value })))
  }
  const later = ['+010000-01-01T00:00:00.000Z', '+020000-01-01T00:00:00.000Z']
  t.ok(compare({ value: later[0] }, { value: later[1] }) < 0)
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
  t.ok(Number.isNaN(compare({ a: 1, b: 'c' }, { a: 1, b: { c: 10 } })))
  t.ok(Number.isNaN(compareBy({ constructor: 1 })({}, { a: 1 })))
})

t.test('without $sort, records stay as they are', async (t) => {
  for (const sort of [undefined, null, {}, 'a']) t.equal(compareBy(sort)({ a: 1 }, { a: 2 }), 0)
})

function isDate(value: unknown): boolean {
  return /^\d{4}-/.test(String(value))
}

function isLaterText(value: unknown): boolean {
  return typeof value === 'string' && value > '3'
}
