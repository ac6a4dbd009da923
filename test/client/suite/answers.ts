import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'
import { RESULTS } from './services.ts'

/** What becomes of an answer. */
export function testAnswers(t: Cases, { service, expected }: Cell): void {
  const { nothing } = expected

  t.test('every JSON value is a result', async (t) => {
    for (const id of ['list', 'string', 'number', 'true', 'nested']) {
      t.strictSame(await service('results').get(id), RESULTS[id], id)
    }
  })

  t.test('so are those that are false in a condition', async (t) => {
    for (const id of ['zero', 'false', 'blank'] as const) {
      t.strictSame(await service('results').get(id), expected.falseResult(RESULTS[id], nothing), id)
    }
  })

  t.test('an answer without a body is null', async (t) => {
    const query = { noContent: true }
    t.strictSame(await service('todos').remove(0, { query }), nothing)
    t.strictSame(await service('results').get('null'), nothing)
  })

  t.test('a method without a result answers as one whose result is null', async (t) => {
    sameNamed(
      t,
      await outcomeOf(() => service('results').get('undefined')),
      expected.noResult(nothing),
    )
  })

  for (const [id, outcome] of Object.entries(expected.odd)) {
    t.test(`what no service answers is an error: ${id}`, async (t) => {
      sameNamed(t, await outcomeOf(() => service('odd').get(id)), outcome)
    })
  }
}
