import t from 'tap'

import { compile } from '../support/compile.ts'

// Editors show types as errors do: by the names that they have.

const SOURCE = `import type { ObjectId } from 'mongodb'
import { createApp } from 'remex'
import { createClient } from 'remex/client'
import type { MongoDBService } from 'remex/mongodb'
import type { Served } from 'remex/schema'
import { Type } from 'remex/schema'
interface Task { _id: ObjectId; title: string; due?: Date; size: { width: number; unit: string | undefined } }
interface TaskService extends MongoDBService<Task> {}
const title = Type.String()
const options = { methods: ['get', 'create'], schemas: { create: Type.Object({ title }) } } as const
interface Services { tasks: TaskService; served: Served<TaskService, typeof options> }
const app = createApp<Services>()
const client = createClient<Services>()
`

const APP = 'Application<Services, Record<string, unknown>>'
const CLIENT = 'Client<Services, ListedMethods<Services>>'
const RECORD =
  '{ _id: string; title: string; due?: string; size: { width: number; unit?: string; }; }'

/** Expressions, and how the compiler names their types. */
const SHOWN: readonly [string, string][] = [
  ["app.service('tasks')", `ServiceAt<Services, "tasks", ${APP}>`],
  ["app.service('served')", `ServiceAt<Services, "served", ${APP}>`],
  ['client', CLIENT],
  ...['tasks', 'served'].map((path): [string, string] => [
    `client.service('${path}')`,
    `ClientService<RemoteServices<Services, ListedMethods<Services>>, "${path}", ${CLIENT}>`,
  ]),
  ["await client.service('tasks').get('1')", RECORD],
  ["(await client.service('tasks').find()).data", `${RECORD}[]`],
]

/** Services, and how the compiler names the contexts of their hooks. */
const CONTEXTS: readonly [string, string][] = [
  ["app.service('tasks')", `HookContext<TaskService, "create", ${APP}>`],
  ["app.service('served')", `HookContext<ServedAt<Services, "served">, "create", ${APP}>`],
  [
    "client.service('served')",
    `HookContext<RemoteServiceAt<Services, "served", ListedMethods<Services>>, "create", ${CLIENT}>`,
  ],
]

t.test('names services and contexts by place in the map, shows fields of records', async (t) => {
  const lines = [
    ...SHOWN.map(([code, name], index) => [`const shown${index}: never = ${code}`, name] as const),
    ...CONTEXTS.map(
      ([code, name]) =>
        [
          `${code}.hooks({ before: { create: [(context) => { const shown: never = context; return shown }] } })`,
          name,
        ] as const,
    ),
  ]
  const errors = await compile(t, {
    'app.ts': `${SOURCE}${lines.map(([line]) => line).join('\n')}\nexport { ${SHOWN.map((_, index) => `shown${index}`).join()} }`,
  })
  t.strictSame(
    errors.map(
      (error) => /: Type '(.*)' is not assignable to type 'never'/.exec(error)?.[1] ?? error,
    ),
    lines.map(([, name]) => name),
  )
})

t.test('a program can export a client, its services and methods with declarations', async (t) => {
  const methods = ['find', 'get', 'create', 'update', 'patch', 'remove']
  const all = methods.map((name) => `export const ${name}Tasks = client.service('tasks').${name}`)
  const errors = await compile(t, {
    'app.ts': `${SOURCE.replace(/const (?=app|client)/g, 'export const ').replace(/interface (?=Task|Services)/g, 'export interface ')}${all.join('\n')}
export const service = client.service('served')
export const { get, create } = service
export const read = () => client.service('tasks').get('1', { query: { $select: ['title'] } })`,
  })
  t.strictSame(errors, [])
})
