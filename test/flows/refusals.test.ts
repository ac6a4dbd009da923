import t from 'tap'

import { MongoDBService } from '../../src/adapter/index.ts'
import { authenticate } from '../../src/auth/index.ts'
import { Conflict, errorFromJSON } from '../../src/core/index.ts'
import { DateSchema, querySyntax, Type } from '../../src/core/schema/index.ts'
import { addAccounts } from '../support/accounts.ts'
import { openDatabase } from '../support/database.ts'
import { startServer } from '../support/http.ts'
import { REFUSALS } from './refusal-rows.ts'

const Task = Type.Object({
  _id: Type.String(),
  title: Type.String({ minLength: 1 }),
  size: Type.Optional(Type.Integer({ minimum: 0 })),
  due: Type.Optional(DateSchema()),
  tags: Type.Optional(Type.Array(Type.String())),
})
const TaskData = Type.Omit(Task, ['_id'])

const { empty } = await openDatabase(t)
const notes = await empty('refused_notes')
const tasks = await empty('refused_tasks')
await notes.createIndex({ slug: 1 }, { unique: true })
await notes.insertOne({ slug: 'taken', secret: 's' })

const server = await startServer(t, 'standalone', {
  services(app) {
    app.use(
      'notes',
      new MongoDBService({ Model: notes, paginate: { default: 2, max: 3 }, hidden: ['secret'] }),
    )
    app.use('tasks', new MongoDBService({ Model: tasks, paginate: { default: 2, max: 3 } }), {
      schemas: {
        entity: Task,
        create: TaskData,
        update: TaskData,
        patch: Type.Partial(TaskData),
        query: querySyntax(Task),
      },
    })
    app.use('half', { get: async (id: unknown) => ({ id }) }, { methods: ['get'] })
    app.use(
      'odd',
      {
        find: async () => {
          throw new TypeError('of the process alone')
        },
        get: async (id: unknown) => {
          throw new Error(`Plain error of ${id}`)
        },
        create: async () => {
          throw new Conflict('Taken', { errors: { name: 'taken' }, at: 3 })
        },
        shout: async () => ({ loud: true }),
      },
      { methods: ['find', 'get', 'create', 'shout'] },
    )
    addAccounts(app)
    app.use('own', { find: async () => ({}), create: async () => ({}) })
    app.service('own').hooks({ around: { all: [authenticate('jwt')] } })
  },
})

for (const [method, path, sent, name, message, { allow = null, ...details }] of REFUSALS) {
  t.test(`${method} ${path} ${JSON.stringify(sent)} is refused as ever`, async (t) => {
    const { status, headers, body } = await server.request(path, { method, ...sent })
    const { code, className } = errorFromJSON({ name, message })
    t.strictSame(body, { name, message, code, className, ...details })
    t.strictSame([status, headers.allow ?? null], [code, allow])
  })
}
