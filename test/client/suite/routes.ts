import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'

/** What takes the place of `:userId` in the path of a service. */
export function testRoutes(t: Cases, { service, remote, expected }: Cell): void {
  const path = 'rooms/:userId/echo'

  t.test('placeholders are replaced, in every method', async (t) => {
    const params = { route: { userId: 'u1' } }
    const arrived = { route: { userId: 'u1' } }
    const echo = service(path)
    sameNamed(t, await echo.find(params), arrived)
    sameNamed(t, await echo.get('7', params), { id: '7', ...arrived })
    sameNamed(t, await echo.create({}, params), arrived)
    sameNamed(t, await echo.update('7', {}, params), { id: '7', ...arrived })
    sameNamed(t, await echo.patch(null, {}, params), { id: null, ...arrived })
    sameNamed(t, await echo.remove('7', params), { id: '7', ...arrived })
    const custom = remote(path).methods('shout')
    sameNamed(t, await custom.shout?.({ a: 1 }, params), { data: { a: 1 }, ...arrived })
  })

  for (const value of ['a/b c', '?a=b&c#d', '%2F', '$&', 'ü', '...', '@:$,']) {
    t.test(`the value ${JSON.stringify(value)} is one segment`, async (t) => {
      const params = { route: { userId: value } }
      const readValue = async () => {
        const { route } = (await service(path).find(params)) as typeof params
        return expected.readSegment(route.userId)
      }
      sameNamed(t, await outcomeOf(readValue), expected.routeValue(value))
    })
  }

  t.test('a placeholder whose name begins with that of another one is not it', async (t) => {
    const route = { user: 'x', userId: 'y' }
    const outcome = await outcomeOf(() => service('teams/:userId/of/:user/echo').find({ route }))
    sameNamed(t, outcome, expected.similarPlaceholders)
  })

  t.test('refuses a call without the value of a placeholder', async (t) => {
    sameNamed(t, await outcomeOf(() => service(path).find({})), expected.missingRouteValue)
  })
}
