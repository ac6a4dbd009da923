import t from 'tap'
import { CASES } from './suite/cases.ts'
import { DIFFERENCES } from './suite/differences.ts'
import { makeCall, ROOMS } from './suite/room.ts'

for (const room of ROOMS) {
  t.test(`resolvers: ${room.name}`, async (t) => {
    for (const [title, { call, expected }] of Object.entries(CASES)) {
      const difference = room.owner === 'Feathers' ? DIFFERENCES[title] : undefined
      await t.test(
        difference === undefined ? title : `${title}: ${difference.reason}`,
        async (t) => {
          const outcome = await makeCall(room, call(room.schema))
          t.strictSame(outcome, difference?.instead ?? expected)
        },
      )
    }
  })
}

t.test('every difference is one of a case, and differs', async (t) => {
  for (const [title, { instead }] of Object.entries(DIFFERENCES)) {
    t.ok(title in CASES, title)
    t.notSame(instead, CASES[title]?.expected, title)
  }
})
