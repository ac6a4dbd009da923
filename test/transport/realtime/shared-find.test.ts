import t from 'tap'
import type { FindQueue } from '../../../src/transport/realtime/find-queue.ts'
import type { Found } from '../../../src/transport/realtime/shared-find.ts'
import { SharedFinds } from '../../../src/transport/realtime/shared-find.ts'
import { Turns } from '../../../src/transport/realtime/turns.ts'
import { laterTurns } from '../../support/until.ts'

const FOUND: Found = { json: '[]', keys: [], isCut: false, sequence: 0 }

/** Runs each call in the next turn. */
const QUEUE = {
  run: async <T>(work: () => Promise<T>): Promise<T> => {
    await laterTurns(1)
    return work()
  },
} as unknown as FindQueue

/** Counts the turns. */
class CountedTurns extends Turns {
  count = 0

  override async next(): Promise<void> {
    await super.next()
    this.count += 1
  }
}

t.test('20 streams get the result of one call in each turn', async (t) => {
  const turns = new CountedTurns()
  const finds = new SharedFinds(QUEUE, turns)
  let calls = 0
  const read = async (): Promise<Found> => {
    calls += 1
    return FOUND
  }
  const served = await Promise.all(
    Array.from({ length: 100 }, async () => {
      await finds.find('', read)
      return turns.count
    }),
  )
  t.equal(calls, 1)
  for (let turn = 1; turn <= 5; turn += 1) {
    t.equal(served.filter((one) => one === turn).length, 20, `turn ${turn}`)
  }
})
