import { AbilityBuilder, createMongoAbility } from '@casl/ability'
import { authorize, feathersCasl } from 'feathers-casl'
import checkPermissions from 'feathers-permissions'
import t from 'tap'

import { MongoDBService } from '../../src/adapter/index.ts'
import type { AnyService, FastifyApplication, HookOptions } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import type { TestScope } from '../support/http.ts'
import { startServer } from '../support/http.ts'

const database = await openDatabase(t)

type Caller = { readonly id: number; readonly permissions: string }

/** Who calls, by the header `caller`: what `authenticate()` would find. */
const CALLERS: Readonly<Record<string, Caller>> = {
  ann: { id: 1, permissions: 'notes:find, notes:get' },
  ben: { id: 2, permissions: 'notes' },
}

/** A server whose notes belong to callers. */
async function start(t: TestScope, hooks: HookOptions<AnyService>) {
  const Model = await database.empty('notes')
  await Model.insertMany([
    { text: 'a', owner: 1, secret: 'x' },
    { text: 'b', owner: 2, secret: 'y' },
  ])
  const casl = { availableFields: ['_id', 'text', 'owner', 'secret'] }
  return startServer(t, 'standalone', {
    services: (app) => {
      const server = app as FastifyApplication
      server.configure(feathersCasl())
      const extensions = { casl } as object
      app.use('notes', new MongoDBService({ Model, operators: ['$nor'], extensions }))
      app.hooks({
        before: ({ params }) => {
          const name = String(params.headers?.['caller'] ?? '')
          if (name !== '') Object.assign(params, { user: CALLERS[name] })
        },
      })
      app.service('notes').hooks(hooks)
    },
  })
}

t.test('feathers-permissions: what a user may do follows from the list of the user', async (t) => {
  const { request } = await start(t, {
    before: [
      (checkPermissions as unknown as typeof checkPermissions.default)({ roles: ['notes'] }),
    ],
  })
  const ann = { headers: { caller: 'ann' } }
  const create = { method: 'POST', data: { text: 'c' } }
  t.match(await request('/notes', ann), { status: 200, body: { length: 2 } })
  t.match(await request('/notes', { ...ann, ...create }), { status: 403 })
  t.match(await request('/notes', { headers: { caller: 'ben' }, ...create }), { status: 201 })
  t.match(await request('/notes'), { status: 403, body: { name: 'Forbidden' } })
})

t.test('feathers-casl: abilities limit records and fields', async (t) => {
  const rules = authorize({ adapter: '@feathersjs/mongodb' })
  const { request, app } = await start(t, {
    before: {
      all: [
        (context) => {
          const { id } = (context.params as { user?: Caller }).user ?? { id: 0 }
          const { can, build } = new AbilityBuilder(createMongoAbility)
          can(['find', 'get'], 'notes', ['_id', 'text', 'owner'], { owner: id })
          can('create', 'notes', { owner: id })
          can('patch', 'notes', ['text'], { owner: id })
          Object.assign(context.params, { ability: build() })
        },
        rules,
      ],
    },
    after: { all: [rules] },
  })
  const caller = { headers: { caller: 'ann' } }
  const found = await request('/notes', caller)
  t.match(found, { status: 200, body: [{ text: 'a', owner: 1 }] })
  t.notOk('secret' in ((found.body as object[])[0] ?? {}))
  const others = (await app.service('notes').find({ query: { owner: 2 } })) as { _id: object }[]
  t.match(await request(`/notes/${others[0]?._id}`, caller), { status: 404 })
  const data = { text: 'c', owner: 2 }
  t.match(await request('/notes', { ...caller, method: 'POST', data }), { status: 403 })
  const own = { ...data, owner: 1 }
  t.match(await request('/notes', { ...caller, method: 'POST', data: own }), { status: 201 })
})
