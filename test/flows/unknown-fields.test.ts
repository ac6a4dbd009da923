import t from 'tap'
import { Type } from '../../src/core/schema/index.ts'
import type { Application, OpenApiDocument } from '../../src/transport/index.ts'
import { openapi } from '../../src/transport/index.ts'
import { MODES, startServer } from '../support/http.ts'

const Step = Type.Object({ text: Type.String(), done: Type.Optional(Type.Boolean()) })

const Task = Type.Object({
  id: Type.Integer(),
  text: Type.String({ minLength: 3 }),
  priority: Type.Integer({ minimum: 1 }),
  steps: Type.Array(Step),
})

const NewTask = Type.Object(
  {
    text: Task.properties.text,
    priority: Task.properties.priority,
    steps: Type.Array(Step, { default: [] }),
  },
  { additionalProperties: false },
)

/** What the service has been called with. */
const calls: unknown[] = []

const tasks = {
  options: { multi: ['create'] },
  find: async () => [],
  create: async (data: object) => {
    calls.push(data)
    return { id: 1, ...data }
  },
  patch: async (_id: unknown, data: object) => tasks.create(data),
  finish: async (data: object) => tasks.create(data),
}

function addTasks(app: Application, unknown?: 'drop' | 'refuse'): void {
  app.use('tasks', tasks, {
    methods: ['find', 'create', 'patch', 'finish'],
    schemas: {
      entity: Task,
      create: NewTask,
      ...(unknown === undefined ? {} : { unknown }),
      methods: { finish: { data: Type.Object({ at: Type.String() }) } },
    },
  })
  app.configure(openapi({ info: { title: 'Tasks', version: '1.0.0' } }))
}

const FINISH = { 'x-service-method': 'finish' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

for (const mode of MODES) {
  t.test(`${mode}: unknown fields of data are dropped at every depth by opt-in`, async (t) => {
    const server = await startServer(t, mode, { services: (app) => addTasks(app, 'drop') })
    const send = async (method: string, path: string, options: object): Promise<unknown> => {
      calls.length = 0
      const { status } = await server.request(path, { method, ...options })
      return status < 300 ? calls[0] : status
    }
    const data = { text: 'Pack', priority: 2, role: 'admin', steps: [{ text: 'a', _id: 1 }] }
    const stored = { text: 'Pack', priority: 2, steps: [{ text: 'a' }] }
    t.strictSame(await send('POST', '/tasks', { data }), stored)
    t.strictSame(await send('POST', '/tasks', { data: [data, data] }), [stored, stored])
    t.strictSame(await send('PATCH', '/tasks/1', { data: { $set: { a: 1 }, priority: 3 } }), {
      priority: 3,
    })
    t.strictSame(await send('POST', '/tasks', { data: { at: 'now', b: 1 }, headers: FINISH }), {
      at: 'now',
    })
    const body = 'text=Pack&priority=2&role=admin&steps[0][text]=a&steps[0][x]=1'
    t.strictSame(await send('POST', '/tasks', { body, headers: FORM }), stored)
    // What is known has to be valid as ever.
    t.equal(await send('POST', '/tasks', { data: { ...data, priority: 0 } }), 400)
  })

  t.test(`${mode}: conditions of queries are never dropped`, async (t) => {
    const server = await startServer(t, mode, { services: (app) => addTasks(app, 'drop') })
    for (const query of ['owner=1', 'text[$where]=1', '$or[0][owner]=1', '$select[]=owner']) {
      t.equal((await server.request(`/tasks?${query}`)).status, 400, query)
    }
    const { status } = await server.request('/tasks/1?owner=1', { method: 'PATCH', data: {} })
    t.equal(status, 400)
  })
}

for (const [unknown, closed] of [
  ['drop', undefined],
  ['refuse', false],
  [undefined, false],
] as const) {
  t.test(`the document says of unknown fields what happens: ${unknown}`, async (t) => {
    const server = await startServer(t, 'standalone', {
      services: (app) => addTasks(app, unknown),
    })
    const { components } = (await server.request('/docs/json')).body as OpenApiDocument
    const data = components['schemas']?.['TasksCreateData'] as Record<string, unknown>
    t.equal(data['additionalProperties'], closed)
    t.match(data, { properties: { steps: { items: { type: 'object' } } } })
    const text = JSON.stringify([data, components['schemas']?.['TasksFinishData']])
    t.equal(text.includes('"additionalProperties":false'), closed === false)
  })
}

t.test('an unknown field and all other faults are told in one answer', async (t) => {
  const server = await startServer(t, 'standalone', { services: (app) => addTasks(app) })
  const data = { text: 'a', role: 1, steps: [{ done: 'yes' }] }
  const { body } = await server.request('/tasks', { method: 'POST', data })
  t.match(body, {
    ...{ name: 'BadRequest', message: 'validation failed', code: 400, className: 'bad-request' },
    data: [
      { instancePath: '', keyword: 'required', params: { missingProperty: 'priority' } },
      { instancePath: '', params: { additionalProperty: 'role' } },
      {
        instancePath: '/text',
        keyword: 'minLength',
        message: /fewer than 3/,
        params: { limit: 3 },
      },
      { instancePath: '/steps/0', params: { missingProperty: 'text' } },
      { instancePath: '/steps/0/done', keyword: 'type', schemaPath: /type$/ },
    ],
  })
})
