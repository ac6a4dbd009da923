import type { Collection, ObjectId } from 'mongodb'
import { MongoDBService } from '../../src/adapter/index.ts'
import { createClient, rest } from '../../src/client/index.ts'
import type { LiveList } from '../../src/client/realtime/index.ts'
import { live, realtime, subscribe } from '../../src/client/realtime/index.ts'
import type { Page, Params } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import { expectType } from './expect-type.ts'

interface Task {
  _id: ObjectId
  text: string
  due: Date
  done?: boolean
}

interface SentTask {
  _id: string
  text: string
  due: string
  done?: boolean
}

declare const Model: Collection<Task>
const paged = new MongoDBService({ Model, paginate: { default: 10 } })
const listed = new MongoDBService({ Model })

class NewsService {
  async find(_params?: Params<{ topic?: string }>): Promise<{ id: number }[]> {
    return []
  }
  async subscribe(data: { email: string }): Promise<{ email: string }> {
    return data
  }
}

interface Services {
  paged: typeof paged
  listed: typeof listed
  news: NewsService
  'teams/:teamId/tasks': typeof listed
}

const methods = { news: ['subscribe'] } as const
const client = createClient<Services, typeof methods>({ methods }).configure(realtime())

// Events, by the type of find
for await (const event of client.service('paged').subscribe({ query: { text: 'a' } })) {
  if (event.type === 'snapshot') expectType<Page<SentTask>>()(event.data)
  else if (event.type === 'removed' || event.type === 'left') {
    expectType<Partial<SentTask>>()(event.data)
  } else if (event.type === 'resync') expectType<object>()(event.data)
  else expectType<SentTask>()(event.data)
  // @ts-expect-error no such event
  if (event.type === 'reminded') break
}
for await (const event of client.service('listed').subscribe<'reminded'>()) {
  if (event.type === 'reminded') expectType<unknown>()(event.data)
  if (event.type === 'snapshot') expectType<SentTask[]>()(event.data)
}

// Lists
const tasks = await client.service('paged').live({ query: { $sort: { due: 1 }, $limit: 5 } })
expectType<readonly SentTask[]>()(tasks.data)
expectType<number | undefined>()(tasks.total)
expectType<() => void>()(tasks.on('change', (list) => expectType<typeof tasks>()(list)))
expectType<LiveList<SentTask[]>>()(await client.service('listed').live())
// @ts-expect-error a date is a string
tasks.data[0]?.due.getTime()
// @ts-expect-error no such event
tasks.on('created', () => undefined)
// @ts-expect-error it is the list's own
tasks.data.push({})

// Params
const { signal } = new AbortController()
client.service('paged').subscribe({ query: { due: { $gt: new Date() } }, signal })
client.service('paged').live({ connection: { signal }, headers: { 'x-a': 'b' } })
client.service('teams/:teamId/tasks').live({ route: { teamId: '1' } })
// @ts-expect-error no such field
client.service('paged').subscribe({ query: { txt: 'a' } })
// @ts-expect-error no such param
client.service('paged').live({ paginate: false })
// @ts-expect-error params are missing
client.service('teams/:teamId/tasks').live()

// A method of this name that the service has
expectType<Promise<{ email: string }>>()(client.service('news').subscribe({ email: 'a' }))
for await (const event of subscribe(client.service('news'), { query: { topic: 'a' } })) {
  if (event.type === 'created') expectType<{ id: number }>()(event.data)
}

// Without types, and without createClient
for await (const { type, data } of createClient().service('tasks').subscribe<'reminded'>()) {
  expectType<unknown>()(data)
  if (type === 'reminded') break
}
expectType<readonly unknown[]>()((await createClient().service('tasks').live()).data)
const untyped = createApp().configure(rest('/').fetch(fetch)).configure(realtime())
expectType<LiveList>()(await live(untyped.service('tasks'), { query: { a: 1 } }))
// @ts-expect-error the functions are for such an application
for await (const event of untyped.service('tasks').subscribe()) expectType<unknown>()(event)

realtime({ silenceMs: 1, reconnectMs: 1, maxReconnectMs: 1, maxWaiting: 1 })
// @ts-expect-error no such option
realtime({ silence: 1 })
