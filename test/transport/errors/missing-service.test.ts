import t from 'tap'
import type { HookContext, NotFound } from '../../../src/core/index.ts'
import { BadRequest, Forbidden } from '../../../src/core/index.ts'
import { resolve, resolveExternal } from '../../../src/core/schema/index.ts'
import { injectServer, MODES } from '../../support/http.ts'

/** Ways in which code of applications sends an error on. */
const PASSED_ON: Readonly<Record<string, (error: Error) => unknown>> = {
  'as the message of another error': (error) => Promise.reject(new BadRequest(error)),
  'as the data of another error': (error) => Promise.reject(new BadRequest('No', error)),
  'in a list of errors': (error) => Promise.reject(new BadRequest('No', { errors: [error] })),
  'in the data of an error': (error) => Promise.reject(new BadRequest('No', { reason: error })),
  'with another message': (error) =>
    Promise.reject(Object.assign(error, { message: `No: ${error.message}` })),
  'in a result': async (error) => ({ error }),
  'as JSON in a result': async (error) => ({ error: (error as NotFound).toJSON() }),
}

const BARE = "Can not find service 'tsks'"

for (const mode of MODES) {
  t.test(`${mode}: external callers learn no path from a mistyped one`, async (t) => {
    const server = await injectServer(t, mode, {
      services: (app) => {
        const list = async () => []
        app.use('tasks', { find: list }).use('notes', { find: list, get: async () => ({ a: 1 }) })
        const mistake = ({ app }: HookContext) => app.service('tsks').find()
        app.service('notes').hooks({
          before: { find: [mistake] },
          around: {
            get: resolveExternal(resolve({ a: async (_v, _r, c) => mistake(c as HookContext) })),
          },
        } as never)
      },
    })
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
  t.test(`${mode}: external callers learn no path from an error that is sent on`, async (t) => {
    const server = await injectServer(t, mode, {
      services: (app) => {
        app.use('tasks', { find: async () => [] })
        const fail = () => app.service('tsks') as never
        for (const [index, passOn] of Object.values(PASSED_ON).entries()) {
          const find = () => {
            try {
              return fail()
            } catch (error) {
              return passOn(error as Error)
            }
          }
          app.use(`passed-${index}`, { find } as never)
        }
        for (const path of ['thrown', 'returned', 'bare']) {
          app.use(path, { find: async () => fail() } as never)
        }
        app.service('thrown').hooks({
          error: {
            all: (context: HookContext) => {
              throw new Forbidden((context.error as Error).message)
            },
          },
        } as never)
        app.service('returned').hooks({
          error: {
            all: (context: HookContext) => {
              context.result = { why: (context.error as Error).message }
            },
          },
        } as never)
        app.service('bare').hooks({
          around: {
            all: async (_context: HookContext, next: () => Promise<void>) => {
              await next().catch((error: Error) => {
                throw new Forbidden(error.message)
              })
            },
          },
        } as never)
      },
    })
    const ways = Object.keys(PASSED_ON).map((way, index) => [way, `/passed-${index}`] as const)
    const hooks = ['thrown', 'returned', 'bare'].map((path) => [path, `/${path}`] as const)
    for (const [way, path] of [...ways, ...hooks]) {
      const { text } = await server.request(path)
      t.notMatch(text, /tasks|did you mean/, way)
      if (!way.startsWith('as the data')) t.match(text, /tsks/, way)
    }
  })
}
