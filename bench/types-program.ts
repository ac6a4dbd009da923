// The texts of a server and of a client with many services, for the time that their types take.

/** Fields of a record, with the types that queries, hooks and clients have to follow. */
const FIELDS = `
  _id: ObjectId
  title: string
  price: number
  sold: boolean
  tags: string[]
  size: { width: number; height: number }
  ownerId: ObjectId
  createdAt: Date
  note?: string
  rank: number | null`

/** Returns the files of a server with as many services, by their names. */
export function createServer(count: number): Readonly<Record<string, string>> {
  const names = Array.from({ length: count }, (_, index) => `items${index}`)
  const services = names.map((name) => [`${name}.ts`, createService(name)] as const)
  return Object.fromEntries([...services, ['app.ts', createApp(names)]])
}

/** Returns the files of a client of a server with as many services, by their names. */
export function createClientProgram(count: number): Readonly<Record<string, string>> {
  const names = Array.from({ length: count }, (_, index) => `items${index}`)
  const uses = names.map((name) => [`${name}.ts`, createUse(name)] as const)
  const services = names.map((name) => `  ${name}: ${name}.Service`).join('\n')
  return Object.fromEntries([
    ...uses,
    [
      'services.ts',
      `${names.map((name) => `import type * as ${name} from './${name}.ts'`).join('\n')}

export interface Services {
${services}
}
`,
    ],
  ])
}

/** Calls of one service, as pages and other servers make them. */
function createUse(name: string): string {
  const type = `Record_${name}`
  return `import type { ObjectId } from 'mongodb'
import type { Client } from 'remex/client'
import type { MongoDBService } from 'remex/mongodb'
import type { Services } from './services.ts'

export interface ${type} {${FIELDS}
}

export type Service = MongoDBService<${type}, Pick<${type}, 'title' | 'price'>>

export async function use(client: Client<Services>): Promise<string> {
  const items = client.service('${name}')
  const page = await items.find({ query: { price: { $gt: 1 }, tags: { $in: ['a'] }, $sort: { rank: -1 } } })
  const one = await items.get('1', { query: { $select: ['title', 'price'] } })
  const created = await items.create({ title: 'a', price: 1 })
  await items.patch(one._id, { price: one.price + 1 })
  return created.createdAt.slice(0, 4) + (page.data[0]?.title ?? one.title)
}
`
}

/** A service as a team writes it: a record, data of its own, hooks with and without a type. */
function createService(name: string): string {
  const type = `Record_${name}`
  return `import type { Db, ObjectId } from 'mongodb'
import type { Application, Hook } from 'remex'
import { authenticate, protect } from 'remex/auth'
import { MongoDBService } from 'remex/mongodb'
import type { Services } from './app.ts'

export interface ${type} {${FIELDS}
}

export type Service = MongoDBService<${type}, Pick<${type}, 'title' | 'price'>>

const setOwner: Hook<Service, 'create'> = ({ data }) => {
  for (const record of [data].flat()) record.title.trim()
}

export function add(app: Application<Services>, db: Db): void {
  app.use('${name}', new MongoDBService({ Model: db.collection<${type}>('${name}'), paginate: { max: 10, default: 5 } }))
  app.service('${name}').hooks({
    around: { all: [authenticate('jwt')] },
    before: {
      find: [(context) => void context.params.query?.title],
      create: [setOwner],
      patch: [(context) => void context.data],
    },
    after: {
      all: [protect('note')],
      get: [(context) => context.result?.createdAt.getTime()],
      find: [async (context) => context.result],
    },
  })
  app.service('${name}').on('created', (record) => record.title)
}

export async function use(app: Application<Services>): Promise<string> {
  const items = app.service('${name}')
  const page = await items.find({ query: { price: { $gt: 1 }, tags: { $in: ['a'] }, $sort: { rank: -1 } } })
  const [first] = await items.find({ query: { $select: ['title'] }, paginate: false })
  const one = await items.get('1', { query: { $select: ['title', 'price'] } })
  await items.patch(one._id, { price: one.price + 1 })
  return first?.title ?? page.data[0]?.title ?? one.title
}
`
}

function createApp(names: readonly string[]): string {
  return `import type { Db } from 'mongodb'
import { createApp, fastifyApp, rest } from 'remex'
${names.map((name) => `import * as ${name} from './${name}.ts'`).join('\n')}

export interface Services {
${names.map((name) => `  ${name}: ${name}.Service`).join('\n')}
}

export async function start(db: Db): Promise<void> {
  const app = fastifyApp(createApp<Services>())
  app.configure(rest())
${names.map((name) => `  ${name}.add(app, db)`).join('\n')}
${names.map((name) => `  await ${name}.use(app)`).join('\n')}
}
`
}
