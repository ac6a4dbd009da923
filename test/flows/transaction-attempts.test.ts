import { MongoClient, ObjectId } from 'mongodb'
import t from 'tap'

import { MongoDBService, ObjectIdSchema, transaction } from '../../src/adapter/index.ts'
import type { HookContext } from '../../src/core/index.ts'
import { DateSchema, Type } from '../../src/core/schema/index.ts'
import { Gate } from '../support/gate.ts'
import { startOwnServer } from '../support/own-server.ts'
import { failTimes, runAll, startScriptedServer } from '../support/scripted-server.ts'

/** What happens to commands in the test that runs. */
let script = runAll

const url = await startScriptedServer(t, (name, command, run) => script(name, command, run))
const client = new MongoClient(url, { replicaSet: 'rs0' })
t.teardown(() => client.close())
const notes = client.db('attempts').collection('notes')

const OWNER = new ObjectId()
const CONFLICT = {
  ...{ code: 112, errmsg: 'WriteConflict', errorLabels: ['TransientTransactionError'] },
}

const Note = Type.Object({
  _id: ObjectIdSchema(),
  text: Type.String(),
  version: Type.Integer(),
  due: Type.Optional(DateSchema()),
  tags: Type.Optional(Type.Array(Type.Object({ name: Type.String() }))),
})

/** What the hooks of each attempt have found. */
const found: unknown[] = []

/** As recipes do it: sets what only the server may, in the query and the data. */
function addOwner(context: HookContext): void {
  const { params } = context
  found.push(structuredClone([params.query, context.data]))
  params.query = { ...params.query, ownerId: OWNER }
  Object.assign(context.data as object, { editorId: OWNER, editedAt: new Date(0) })
}

/** Changes what is deep inside of the objects of a call, and puts nothing in their place. */
function changeInPlace({ data, params }: HookContext): void {
  const { tags, due } = data as { tags?: { name: string }[]; due?: Date }
  for (const tag of tags ?? []) tag.name += '!'
  tags?.push({ name: 'new' })
  due?.setUTCDate(due.getUTCDate() + 1)
  Reflect.set(params.query as object, 'version', 1)
  Reflect.set(params, 'tenant', 'a')
}

const server = await startOwnServer(t, (app) => {
  const service = new MongoDBService({ Model: notes, paginate: { default: 10 } })
  app.use('notes', service, { schemas: { entity: Note, create: Type.Omit(Note, ['_id']) } })
  app.service('notes').hooks({
    around: { patch: [transaction()] },
    before: { patch: [addOwner, changeInPlace] },
  })
})

t.beforeEach(async () => {
  await notes.deleteMany({})
  await notes.insertOne({ _id: OWNER, ownerId: OWNER, text: 'old', version: 1 })
  script = runAll
  found.length = 0
})

t.test('of 20 patches that are tried again, none is refused by its schemas (DB-14)', async (t) => {
  const ids = Array.from({ length: 20 }, () => new ObjectId())
  await notes.insertMany(ids.map((_id) => ({ _id, ownerId: OWNER, text: 'old', version: 1 })))
  script = failTimes(20, 'findAndModify', CONFLICT)
  const data = { text: 'new' }
  const answers = await Promise.all(
    ids.map((id) => server.request(`/notes/${id}?version=1`, { method: 'PATCH', data })),
  )
  t.strictSame(
    answers.map(({ status, body }) => [status, body]),
    ids.map((id) => [200, { _id: id.toHexString(), text: 'new', version: 1 }]),
  )
  t.ok(found.length >= 40)
})

t.test('an attempt finds the query and the data of the first one, however deep', async (t) => {
  script = failTimes(2, 'findAndModify', CONFLICT)
  const due = '2026-01-31T00:00:00.000Z'
  const data = { due, tags: [{ name: 'a' }, { name: 'b' }] }
  const { status, body } = await server.request(`/notes/${OWNER}`, { method: 'PATCH', data })
  const expected = [{}, { ...data, due: new Date(due) }]
  t.strictSame(found, [expected, expected, expected])
  t.equal(status, 200)
  t.match(body, {
    due: '2026-02-01T00:00:00.000Z',
    tags: [{ name: 'a!' }, { name: 'b!' }, { name: 'new' }],
  })
})

t.test('an attempt of a call within the process begins as the first one did', async (t) => {
  const params = Object.freeze({ query: Object.freeze({ text: 'old' }), tenant: 'b' })
  const tags = [{ name: 'a' }]
  const data = { due: new Date(0), tags, again: tags, raw: Buffer.from('a') }
  const seen: unknown[] = []
  server.app.use('direct', new MongoDBService({ Model: notes }))
  server.app.service('direct').hooks({
    around: { patch: [transaction()] },
    before: {
      patch: (context) => {
        seen.push(structuredClone([{ ...context.params }, context.data]))
        const { tags, again, raw } = context.data as typeof data
        t.equal(tags, again)
        t.equal(raw, data.raw)
        context.params = { ...context.params, query: { ...context.params.query } }
        changeInPlace(context)
      },
    },
  })
  script = failTimes(2, 'findAndModify', CONFLICT)
  const expected = structuredClone([params, data])
  await notes.updateOne({}, { $set: { version: 1 } })
  t.match(await server.app.service('direct').patch(OWNER, data, params), {
    due: new Date(86_400_000),
  })
  t.strictSame(seen, [expected, expected, expected])
})

t.test('an attempt changes nothing in the objects of other calls', async (t) => {
  const shared = { text: 'new' }
  const gate = new Gate()
  server.app.use('shared', new MongoDBService({ Model: notes, multi: true }))
  server.app.service('shared').hooks({
    around: { patch: [transaction()] },
    before: {
      patch: [
        ({ data }) => void Object.assign(data as object, { editedAt: new Date(0) }),
        async ({ params }) => {
          if ('isLast' in params) await gate.pass()
        },
      ],
    },
  })
  const other = await notes.insertOne({ text: 'other' })
  const last = server.app
    .service('shared')
    .patch(other.insertedId, shared, { isLast: true } as object)
  await gate.arrivals(1)
  script = failTimes(1, 'findAndModify', CONFLICT)
  await server.app.service('shared').patch(OWNER, shared)
  gate.open()
  t.match(await last, { text: 'new', editedAt: new Date(0) })
})

t.test('an attempt finds what the transport knows, whatever hooks made of params', async (t) => {
  const seen: unknown[] = []
  server.app.use('known', new MongoDBService({ Model: notes }))
  server.app.service('known').hooks({
    around: {
      patch: [
        async (context, next) => {
          context.params = { ...context.params }
          await next()
        },
        transaction(),
      ],
    },
    before: {
      patch: [
        ({ params }) => void seen.push([params.requestMethod, params.provider, params.query]),
        (context) => {
          context.params = { query: { text: 'old' } }
        },
      ],
    },
  })
  script = failTimes(1, 'findAndModify', CONFLICT)
  const path = `/known/${OWNER}?version=1`
  const { status } = await server.request(path, { method: 'PATCH', data: { text: 'new' } })
  const expected = ['PATCH', 'rest', { version: '1' }]
  t.equal(status, 200)
  t.strictSame(seen, [expected, expected])
})
