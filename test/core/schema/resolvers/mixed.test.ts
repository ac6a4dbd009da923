import { feathers } from '@feathersjs/feathers'
import * as official from '@feathersjs/schema'
import t from 'tap'
import { protect } from '../../../../src/auth/index.ts'
import type { AroundHook, Hook } from '../../../../src/core/index.ts'
import { createApp, toExternalForm } from '../../../../src/core/index.ts'
import * as remex from '../../../../src/core/schema/index.ts'
import type { Resolving } from './suite/room.ts'

type Fields = Readonly<Record<string, unknown>>

const OWNERS = { Remex: remex, Feathers: official as unknown as Resolving } as const
const PAIRS = Object.keys(OWNERS).flatMap((outer) =>
  Object.keys(OWNERS).map((inner) => [outer, inner] as [keyof typeof OWNERS, keyof typeof OWNERS]),
)
const around = (...hooks: unknown[]) => ({ around: { all: hooks as AroundHook[] } })
const SHOWN = { id: 1, name: 'Ann' }
const SHOWN_PARTS = { id: 1, age: 7 }
/** A call inside gets it, and the hooks of Feathers make a copy that nobody protects. */
const LEAKED = { ...SHOWN_PARTS, password: 'HASH' }
const createUser = (): Fields => ({ id: 1, name: 'Ann', password: 'HASH' })
const hidePassword = ({ resolve, resolveExternal }: Resolving) =>
  resolveExternal(resolve<Fields, unknown>({ password: async () => undefined }))

for (const [outer, inner] of PAIRS) {
  for (const start of [createApp, feathers as unknown as typeof createApp]) {
    const title = `of ${inner} in records of ${outer}, in ${start === createApp ? 'Remex' : 'Feathers'}`

    t.test(`nested records keep their external form: ${title}`, async (t) => {
      const app = start()
      app.use('users', {
        get: async () => createUser(),
        find: async () => ({ total: 1, limit: 1, skip: 0, data: [createUser()] }),
      })
      app.use('posts', { get: async () => ({ id: 7, secret: 1 }) })
      app.service('users').hooks(around(hidePassword(OWNERS[inner])))
      const { resolve, resolveExternal, resolveResult, virtual } = OWNERS[outer]
      const users = app.service('users')
      const populate = resolve<Fields, unknown>({
        author: virtual(async () => users.get(1)),
        readers: virtual(async () => users.find()),
        listed: virtual(async () => [await users.get(1)]),
      })
      let dispatch: unknown
      const watch: AroundHook = async (context, next) => {
        await next()
        dispatch = context.dispatch
      }
      const hide = resolve<Fields, unknown>({ secret: async () => undefined })
      app.service('posts').hooks(around(watch, resolveExternal(hide), resolveResult(populate)))
      const post = (await app.service('posts').get(1)) as Fields
      t.match(post, { secret: 1, author: { password: 'HASH' } })
      const page = { total: 1, limit: 1, skip: 0, data: [SHOWN] }
      const shown = { id: 7, author: SHOWN, readers: page, listed: [SHOWN] }
      t.strictSame(dispatch, shown)
      t.strictSame(toExternalForm(post), shown, 'also where the record itself is nested')
    })
  }

  t.test(`hooks of ${outer} around hooks of ${inner} see what is selected`, async (t) => {
    const app = createApp()
    app.use('users', { id: 'id', get: async () => createUser() } as { get(): Promise<Fields> })
    const { resolve, resolveResult, virtual } = OWNERS[inner]
    const loud = resolve<Fields, unknown>({ loud: virtual(async ({ name }) => `${name}!`) })
    let dispatch: unknown
    const watch: AroundHook = async (context, next) => {
      await next()
      dispatch = context.dispatch
    }
    app.service('users').hooks(around(watch, hidePassword(OWNERS[outer]), resolveResult(loud)))
    const params = { query: { $select: ['loud', 'password', 'id'] } }
    const get = app.service('users').get as (...args: unknown[]) => Promise<unknown>
    t.strictSame(await get(1, params), { loud: 'Ann!', password: 'HASH', id: 1 })
    t.strictSame(dispatch, { loud: 'Ann!', id: 1 })
  })
}

for (const [name, schema] of Object.entries(OWNERS)) {
  for (const provider of [undefined, 'rest']) {
    t.test(`protect beside hooks of ${name}, ${provider ?? 'inside'}`, async (t) => {
      const app = createApp()
      app.use('users', { get: async (_id: unknown, _params?: object) => createUser() })
      const hideName = schema.resolveExternal(
        schema.resolve<Fields, unknown>({ name: async () => undefined }),
      )
      const populate = schema.resolveResult(
        schema.resolve<Fields, unknown>({ age: schema.virtual(async () => 7) }),
      )
      let dispatch: unknown
      const watch: AroundHook = async (context, next) => {
        await next()
        dispatch = context.dispatch
      }
      app.service('users').hooks(around(watch, hideName, populate))
      app.service('users').hooks({ after: { all: [protect('password') as Hook] } })
      const user = await app.service('users').get(1, { provider })
      if (name === 'Remex' || provider)
        t.strictSame(toExternalForm({ user }), { user: SHOWN_PARTS })
      t.strictSame(toExternalForm(dispatch), name === 'Remex' || provider ? SHOWN_PARTS : LEAKED)
    })
  }
}

t.test('two external forms of Remex are made of each other', async (t) => {
  const { resolve, resolveExternal } = remex
  const app = createApp()
  const runs: string[] = []
  const once = (name: string) =>
    resolveExternal(
      resolve<Fields, unknown>({ [name]: () => void runs.push(name), name: (n) => `${n}!` }),
    )
  app.use('users', { get: async () => Object.freeze(createUser()) })
  app.use('people', { get: async () => app.service('users').get(1) })
  app.service('users').hooks(around(once('password')))
  app.service('people').hooks(around(once('id')))
  t.strictSame(toExternalForm(await app.service('people').get(1)), { name: 'Ann!!' })
  t.strictSame(runs, ['password', 'id'])
})

t.test('a record that is resolved again keeps what its service hides', async (t) => {
  const { resolve, resolveResult, virtual } = remex
  const app = createApp()
  app.use('users', { get: async () => createUser() })
  app.use('people', { get: async () => app.service('users').get(1) })
  app.service('users').hooks(around(hidePassword(remex)))
  const resolver = resolve<Fields, unknown>({ age: virtual(() => 7), name: () => 'Bob' })
  app.service('people').hooks(around(resolveResult(resolver)))
  const person = await app.service('people').get(1)
  t.match(person, { password: 'HASH', age: 7 })
  t.strictSame(toExternalForm(person), { id: 1, name: 'Bob', age: 7 })
})

t.test('hooks take resolvers alone', async (t) => {
  const { resolveData, resolveExternal } = remex
  for (const wrong of [undefined, null, {}, () => ({})]) {
    t.throws(() => resolveData(wrong as never), /resolveData\(\) takes resolvers, as resolve\(\)/)
  }
  t.ok(resolveExternal())
})

for (const kind of ['plain', 'frozen'] as const) {
  const keep = (record: Fields) => (kind === 'frozen' ? Object.freeze(record) : record)

  t.test(`a resolver that made the form of a ${kind} record is not run on it again`, async (t) => {
    const { resolve, resolveExternal } = remex
    let runs = 0
    const resolver = resolve<Fields, unknown>({
      name: (name) => {
        runs += 1
        return `${name}!`
      },
    })
    const app = createApp()
    app.use('users', { get: async () => keep(createUser()) })
    app.hooks(around(resolveExternal(resolver)) as object)
    app.service('users').hooks(around(resolveExternal(resolver)))
    let dispatch: unknown
    app.hooks({
      around: [
        async (context, next) => {
          await next()
          dispatch = context.dispatch
        },
      ],
    })
    const user = await app.service('users').get(1)
    t.equal(runs, 1)
    t.equal((toExternalForm(user) as Fields)['name'], 'Ann!')
    t.ok(dispatch === undefined || (dispatch as Fields)['name'] === 'Ann!')
  })
}
