// Tasks that are described once, for types, validation, query conversion, responses and the API page.
// Try the lines it prints. `npx tsx node_modules/remex/examples/schemas.ts`, after
// `npm install mongodb @fastify/swagger @fastify/swagger-ui yaml`. Reads PORT (3030), HOST (127.0.0.1) and
// MONGODB_URL (an embedded database by default).
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { FastifyApplication, HookContext } from 'remex'
import { createApp, fastifyApp, openapi, rest } from 'remex'
import type { Client } from 'remex/client'
import { createClient } from 'remex/client'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Served, Static } from 'remex/schema'
import { DateSchema, querySyntax, Type } from 'remex/schema'

const Id = ObjectIdSchema()
const Label = Type.Object({
  _id: Id,
  name: Type.String({ minLength: 1, maxLength: 30 }),
})
type Label = Static<typeof Label>

/** A stored task. */
const Task = Type.Object({
  _id: Id,
  text: Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'What to do',
  }),
  done: Type.Boolean(),
  priority: Type.Integer({ minimum: 1, maximum: 5 }),
  due: Type.Optional(Type.Union([DateSchema(), Type.Null()])),
  labelId: Type.Optional(Id),
  tags: Type.Array(Type.String()),
  steps: Type.Array(Type.Object({ text: Type.String(), done: Type.Boolean() })),
  createdAt: DateSchema(),
  createdBy: Type.String(),
})
type Task = Static<typeof Task>

/** A task as callers see it. */
const PublicTask = Type.Omit(Task, ['createdBy'])

/** What callers send. Other fields, such as `createdAt` and `createdBy`, are rejected. */
const NewTask = Type.Object({
  text: Task.properties.text,
  done: Type.Optional(Type.Boolean({ default: false })),
  priority: Type.Optional(Type.Integer({ minimum: 1, maximum: 5, default: 3 })),
  due: Task.properties.due,
  labelId: Task.properties.labelId,
  tags: Type.Optional(Type.Array(Type.String(), { default: [] })),
  steps: Type.Optional(Type.Array(Task.properties.steps.items, { default: [] })),
})

/** What a patch may change. `null` clears the date, `$unset` the label. */
const TaskPatch = Type.Partial(
  Type.Object({
    ...Type.Pick(Task, ['text', 'done', 'priority', 'due', 'labelId', 'tags', 'steps']).properties,
    $unset: Type.Object({ labelId: Type.Literal('') }),
  }),
)

class TaskService extends MongoDBService<Task> {
  /** Marks all tasks that were due as done, and returns how many. */
  async finish({ before }: { before: Date }): Promise<{ finished: number }> {
    const collection = await this.getModel()
    const due = { due: { $lt: before }, done: false }
    const { modifiedCount } = await collection.updateMany(due, { $set: { done: true } })
    return { finished: modifiedCount }
  }
}

const taskOptions = {
  methods: ['find', 'get', 'create', 'patch', 'remove', 'finish'],
  schemas: {
    entity: Task,
    create: NewTask,
    patch: TaskPatch,
    query: querySyntax(PublicTask, {
      text: { $regex: Type.String(), $options: Type.String() },
      due: { $exists: Type.Boolean() },
    }),
    result: PublicTask,
    methods: {
      finish: {
        data: Type.Object({ before: DateSchema() }),
        result: Type.Object({ finished: Type.Integer() }),
      },
    },
  },
} as const

export interface Services {
  labels: MongoDBListService<Label>
  tasks: Served<TaskService, typeof taskOptions>
}

/** Registers both services, and the API page. */
export function addTasks(app: FastifyApplication<Services>, db: Db): void {
  const Model = db.collection<Label>('labels')
  app.use('labels', new MongoDBService({ Model }), {
    schemas: { entity: Label, create: Type.Omit(Label, ['_id']) },
  })
  const tasks = new TaskService({
    Model: db.collection<Task>('tasks'),
    paginate: { default: 10, max: 100 },
    multi: ['create'],
    updateOperators: ['$unset'],
  })
  app.use('tasks', tasks, taskOptions)
  app.service('tasks').hooks({
    before: {
      create: [
        ({ data }: HookContext) => {
          for (const task of [data].flat()) {
            Object.assign(task as Task, { createdAt: new Date(), createdBy: 'Ann' })
          }
        },
      ],
    },
  })
  app.configure(openapi({ info: { title: 'Tasks', version: '1.0.0' } }))
}

/** Returns a client of the services, for example for a page. */
export function createTaskClient(baseURL: string): Client<Services> {
  return createClient<Services>({ baseURL, methods: { tasks: taskOptions.methods } })
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
  const app = fastifyApp(createApp<Services>())
  app.configure(rest())
  addTasks(app, mongo.db('remex_tasks'))
  await app.listen({ port: Number(PORT), host: HOST })
  const url = `http://${HOST}:${PORT}`
  const json = "-H 'content-type: application/json'"
  console.log(`Tasks at ${url}/tasks, the API at ${url}/docs

  curl ${url}/tasks ${json} -d '{"text":"Buy milk","due":"2026-12-01T12:00:00Z"}'
  curl ${url}/tasks ${json} -d '{"text":"Buy milk","createdBy":"Eve"}' # 400
  curl -g '${url}/tasks?priority[$gt]=2&done=false&due[$lt]=2027-01-01T00:00:00Z'
  curl -g '${url}/tasks?priority[$gt]=high' # 400

Ctrl-C ends it.`)

  async function stop(): Promise<void> {
    await app.close()
    await mongo.close()
    await embedded?.close()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
