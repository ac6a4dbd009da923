import t from 'tap'
import type { AroundHook, Params } from '../../../../src/core/index.ts'
import { createApp, toExternalForm } from '../../../../src/core/index.ts'
import {
  hooks,
  resolve,
  resolveExternal,
  resolveResult,
  virtual,
} from '../../../../src/core/schema/index.ts'

type Fields = Readonly<Record<string, unknown>>

const MARK = Symbol('a mark of another hook')

/** A service whose results are resolved, and what it got as params. */
function start(around: readonly AroundHook[]) {
  const app = createApp()
  const seen: Params[] = []
  app.use('users', {
    get: async (id: unknown, params: Params = {}) => {
      seen.push(params)
      return { id, first: 'Ann', last: 'Lee' }
    },
  })
  app.service('users').hooks({ around: { all: around } })
  const get = (params: object) => app.service('users').get(1, params) as Promise<Fields>
  return { app, get, seen }
}

const full = resolve<Fields, unknown>({
  full: virtual(({ first, last }) => `${first} ${last}`),
  path: virtual((_user, _context, { path }) => path.join('.')),
})

t.test('calls in the process may select properties by $resolve', async (t) => {
  const { get, seen } = start([resolveResult(full)])
  t.strictSame(await get({ query: { $resolve: ['full'], first: 'Ann' } }), {
    full: 'Ann Lee',
    id: 1,
  })
  t.strictSame(seen[0]?.query, { first: 'Ann' })
})

t.test('params of the caller stay as they are, and what hooks put there is kept', async (t) => {
  const { get, seen } = start([resolveResult(full)])
  const query = Object.freeze({ $select: Object.freeze(['full']) })
  await get(Object.freeze({ query, user: 1, [MARK]: true }))
  t.match(seen[0], { user: 1, query: {}, [MARK]: true })
})

t.test('params that are handed on select nothing of other records', async (t) => {
  const params = { resolve: { properties: ['text'], path: ['author'], stack: [] } }
  const { get } = start([resolveExternal(resolve<Fields, unknown>({ last: () => undefined }))])
  const { get: getResolved } = start([resolveResult(full)])
  t.strictSame(toExternalForm(await get(params)), { id: 1, first: 'Ann' })
  t.match(await getResolved(params), { first: 'Ann', full: 'Ann Lee', path: 'author.path' })
})

t.test('a circle of services ends where the status is handed on', async (t) => {
  const app = createApp()
  const add = (path: string, other: string) => {
    app.use(path, { get: async (_id: unknown, _params: object) => ({ path }) })
    const resolver = resolve<Fields, unknown>({
      other: virtual((_record, _context, status) =>
        app.service(other).get(1, { resolve: status } as Params),
      ),
    })
    app.service(path).hooks({ around: { all: [hooks.resolveResult(resolver)] } })
  }
  add('users', 'teams')
  add('teams', 'users')
  t.strictSame(await app.service('users').get(1, {}), {
    path: 'users',
    other: { path: 'teams', other: { path: 'users' } },
  })
})
