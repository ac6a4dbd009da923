import t from 'tap'
import { measureFilter } from '../../../src/adapter/realtime/filter-cost.ts'

const FILTERS: Readonly<
  Record<string, { filter: object; conditions: number; weights: Readonly<Record<string, number>> }>
> = {
  'one condition on each field': {
    filter: { a: 1, 'b.c': { $gt: 1, $lt: 2 } },
    conditions: 3,
    weights: { a: 1, b: 2 },
  },
  'a list, however long': { filter: { a: { $in: [1, 2, 3] } }, conditions: 1, weights: { a: 1 } },
  'patterns by their length': {
    filter: { a: { $in: [/abc/, 'x'] }, b: /0123456789/, c: { $regex: 'x'.repeat(17) } },
    conditions: 4,
    weights: { a: 2, b: 2, c: 3 },
  },
  'conditions on items': {
    filter: {
      a: { $elemMatch: { b: 1, $or: [{ c: 2 }, { d: 3 }] } },
      e: { $elemMatch: { $gt: 1 } },
    },
    conditions: 4,
    weights: { a: 3, e: 1 },
  },
  'all of some values': { filter: { a: { $all: [1, /b/] } }, conditions: 2, weights: { a: 2 } },
  negations: {
    filter: { $nor: [{ a: 1 }, { a: { $not: { $gt: 1, $lt: 2 } } }] },
    conditions: 3,
    weights: { a: 3 },
  },
  'an index twice, since a list and its documents are searched': {
    filter: { 'a.0.b.1': 1 },
    conditions: 1,
    weights: { a: 4 },
  },
  nothing: { filter: {}, conditions: 0, weights: {} },
}

for (const [what, { filter, conditions, weights }] of Object.entries(FILTERS)) {
  t.test(`counts ${what}`, (t) => {
    const cost = measureFilter(filter)
    t.equal(cost.conditions, conditions)
    t.strictSame(Object.fromEntries(cost.weights), weights)
    t.end()
  })
}
