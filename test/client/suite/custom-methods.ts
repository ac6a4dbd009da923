import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'

/** Calls of methods beyond the six. */
export function testCustomMethods(t: Cases, { createApp, service, remote, expected }: Cell): void {
  t.test('those that the client lists are called by a header of a POST', async (t) => {
    t.strictSame(await service('todos').customMethod?.({ message: 'hi' }), {
      ...{ data: { message: 'hi' }, provider: expected.provider, type: 'customMethod' },
    })
    const echo = remote('echo').methods('shout')
    sameNamed(t, await echo.shout?.({ a: 1 }, { query: { b: 'c' } }), {
      ...{ method: 'shout', data: { a: 1 }, query: { b: 'c' } },
      ...expected.request({
        sent: { verb: 'POST', url: '/echo?b=c' },
        headers: { 'x-service-method': 'shout' },
      }),
    })
  })

  t.test('one may be called without data', async (t) => {
    sameNamed(t, await remote('todos').methods('customMethod').customMethod?.(), { data: {} })
  })

  t.test('no result is a result as well', async (t) => {
    t.strictSame(await service('todos').customMethod?.({ empty: true }), expected.nothing)
  })

  t.test('one that the server does not list is refused', async (t) => {
    const echo = remote('echo').methods('internal', 'nowhere')
    for (const name of ['internal', 'nowhere'] as const) {
      const outcome = await outcomeOf(async () => echo[name]?.({}, {}))
      const error = { name: 'MethodNotAllowed', code: 405, message: new RegExp(name) }
      sameNamed(t, outcome, { error })
    }
  })

  t.test('has the hooks of the client around it', async (t) => {
    const app = createApp()
    const seen: string[] = []
    app.hooks({
      around: {
        all: async (context: { method: string; data: unknown }, next: () => Promise<void>) => {
          seen.push(`before ${context.method}`)
          context.data = { hooked: context.method }
          await next()
          seen.push(`after ${context.method}`)
        },
      },
    })
    sameNamed(t, await app.service('todos').customMethod?.({ message: 'hi' }), {
      data: { hooked: 'customMethod' },
    })
    t.strictSame(seen, ['before customMethod', 'after customMethod'])
  })
}
