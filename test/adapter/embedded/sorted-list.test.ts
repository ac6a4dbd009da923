import fc from 'fast-check'
import t from 'tap'
import { SortedList } from '../../../src/adapter/embedded/sorted-list.ts'

/** Returns the numbers of a run the plain way. */
function filterRun(items: ReadonlySet<number>, low: number, high: number): number[] {
  return [...items].filter((item) => item >= low && item < high).toSorted((a, b) => a - b)
}

t.test('a sorted list of many blocks has what was added and not removed, in order', async (t) => {
  const bound = fc.integer({ min: -10, max: 3_010 })
  const change = fc.record({
    start: fc.integer({ min: 0, max: 3_000 }),
    step: fc.constantFrom(1, -1, 7, 1_009),
    count: fc.integer({ min: 1, max: 1_500 }),
    adds: fc.oneof(fc.constant(true), fc.boolean()),
  })
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 6 }),
      fc.array(fc.tuple(bound, bound), { minLength: 5, maxLength: 5 }),
      fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 2_000, size: 'max' }),
      (changes, runs, first) => {
        const list = new SortedList<number>((a, b) => a - b, first)
        const items = new Set(first)
        for (const { start, step, count, adds } of changes) {
          for (let number = 0; number < count; number += 1) {
            const item = (((start + number * step) % 3_001) + 3_001) % 3_001
            if (adds) list.add(item)
            else list.remove(item)
            if (adds) items.add(item)
            else items.delete(item)
          }
        }
        for (const [low, high] of [...runs, [-1, 4_000] as const]) {
          const side = (item: number): number => (item < low ? -1 : item < high ? 0 : 1)
          const expected = filterRun(items, low, Math.max(low, high))
          const found = [[...list.run(side)], [...list.run(side, true)].reverse()]
          const isRight = found.every((one) => one.join() === expected.join())
          if (!isRight || list.count(side) !== expected.length) {
            throw new Error(`found ${found[0]}, and not ${expected}`)
          }
        }
      },
    ),
    { numRuns: 200 },
  )
  t.pass()
})
