import t from 'tap'
import type { HookContext } from '../../../src/core/index.ts'
import { resolve, resolveExternal } from '../../../src/core/schema/index.ts'
import { injectServer, MODES } from '../../support/http.ts'

const BARE = "Can not find service 'tsks'"

for (const mode of MODES) {
  t.test(`${mode}: external callers learn no path from a mistyped one`, async (t) => {
    const server = await injectServer(
      t,
      {
        services: (app) => {
          const list = async () => []
          app.use('tasks', { find: list }).use('notes', { find: list, get: async () => ({ a: 1 }) })
          const mistake = ({ app }: HookContext) => app.service('tsks').find()
          app.service('notes').hooks({
            before: { find: [mistake] },
            around: {
              get: [
                resolveExternal(resolve({ a: async (_v, _r, c) => mistake(c as HookContext) })),
              ],
            },
          } as never)
        },
      },
      mode,
    )
    const { body, text } = await server.request('/notes')
    t.match(body, { name: 'NotFound', message: BARE, code: 404 })
    const page = await server.request('/notes', { headers: { accept: 'text/html' } })
    const stream = await server.request('/notes', { headers: { accept: 'text/event-stream' } })
    const resolved = await server.request('/notes/1')
    t.match(resolved, { status: 400, body: { data: { a: { message: BARE } } } })
    for (const shown of [text, page.text, stream.text, resolved.text]) {
      t.match(shown, /tsks/)
      t.notMatch(shown, /tasks|did you mean/)
    }
    t.match(
      server.logged.filter(({ message }) => message?.includes('did you mean')),
      [{ message: `${BARE}: app.service('tsks'); did you mean 'tasks'?` }],
    )
  })
}
