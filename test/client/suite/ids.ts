import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'

const ODD_IDS = ['a/b c%', 'ünïcode ☃', '?a=b&c#d', 'quote\'"', '%2F', '...', 'a@b.c', '@:$,']

/** Which record a call is about. */
export function testIds(t: Cases, { service, remote, expected }: Cell): void {
  for (const id of ODD_IDS) {
    t.test(`the id ${JSON.stringify(id)} is one segment of the path`, async (t) => {
      const echo = (await service('echo').get(id)) as { readonly id: string }
      const { id: arrived } = echo
      sameNamed(t, echo, expected.request({ sent: { url: `/echo/${encodeURIComponent(id)}` } }))
      t.equal(expected.readSegment(arrived), id)
      sameNamed(t, await service('echo').patch(id, {}), { id: arrived })
      sameNamed(t, await service('echo').remove(id), { id: arrived })
    })
  }

  t.test('0 and negative numbers are ids', async (t) => {
    sameNamed(t, await service('todos').get(0), { id: 0 })
    sameNamed(t, await outcomeOf(() => service('todos').get(-1)), {
      error: { name: 'NotFound', code: 404 },
    })
  })

  t.test('refuses a call without an id, which would be for all records', async (t) => {
    const echo = remote('echo')
    for (const id of [undefined, '']) {
      const calls = {
        get: () => echo.get(id, {}),
        update: () => echo.update(id, {}, {}),
        patch: () => echo.patch(id, {}, {}),
        remove: () => echo.remove(id, {}),
      }
      for (const [method, call] of Object.entries(calls)) {
        const error = { name: 'BadRequest', code: 400, message: `id for .${method} is required` }
        sameNamed(t, await outcomeOf(call), { error })
      }
    }
    sameNamed(t, await outcomeOf(() => echo.get(null, {})), expected.getOfNull)
  })
}
