import type { Collection, ObjectId } from 'mongodb'
import type { MongoDBOptions, NewRecord } from '../../src/adapter/index.ts'
import { MongoDBListService, MongoDBService } from '../../src/adapter/index.ts'
import { createClient } from '../../src/client/index.ts'
import type { Id, Page, Params } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import { expectType } from './expect-type.ts'

// What hooks find follows from the options `multi` and `paginate`.

interface Post {
  _id: ObjectId
  title: string
}

declare const Model: Collection<Post>
declare const options: MongoDBOptions
declare const isMulti: boolean
type Data = NewRecord<Post>

const single = new MongoDBService({ Model })
const changing = new MongoDBService({ Model, multi: ['patch', 'remove'] })
const never = new MongoDBService({ Model, multi: false, paginate: { default: 3 } })
const multi = new MongoDBService({ Model, multi: true })
const creating = new MongoDBService({ Model, multi: ['create'], paginate: { default: 3 } })
const either = new MongoDBService({ Model, multi: isMulti })
const open = new MongoDBService(options)
class Stated extends MongoDBService<Post, { title: string }> {}
class List extends MongoDBListService<Post> {}

const plain = {
  find: async (_params?: Params): Promise<Post[]> => [],
  create: async (data: { title: string } | { title: string }[]): Promise<unknown> => data,
  get: async (_id: Id): Promise<Post | undefined> => undefined,
}

interface Services {
  single: typeof single
  changing: typeof changing
  never: typeof never
  multi: typeof multi
  creating: typeof creating
  either: typeof either
  open: typeof open
  stated: Stated
  list: List
  plain: typeof plain
}
const app = createApp<Services>()

app.service('single').hooks({
  before: {
    create: (context) => {
      expectType<Data>()(context.data)
      context.data = { ...context.data, title: context.data.title.trim() }
      // @ts-expect-error the service takes no lists
      context.data = [context.data]
    },
  },
  after: {
    create: (context) => expectType<Post | undefined>()(context.result),
    find: (context) => expectType<Post[] | undefined>()(context.result),
    get: (context) => expectType<Post | undefined>()(context.result),
    patch: (context) => expectType<Post | Post[] | undefined>()(context.result),
  },
})
app.service('single').on('created', (post) => expectType<Post>()(post))
app.service('changing').hooks({ before: { create: ({ data }) => expectType<Data>()(data) } })
app.service('never').hooks({
  before: { create: ({ data }) => expectType<Data>()(data) },
  after: { find: ({ result }) => expectType<Page<Post> | undefined>()(result) },
})
app.service('multi').hooks({
  before: { create: ({ data }) => expectType<Data | Data[]>()(data) },
  after: {
    create: ({ result }) => expectType<Post | Post[] | undefined>()(result),
    find: ({ result }) => expectType<Post[] | undefined>()(result),
  },
})
app
  .service('creating')
  .hooks({ before: { create: ({ data }) => expectType<Data | Data[]>()(data) } })
app.service('either').hooks({ before: { create: ({ data }) => expectType<Data | Data[]>()(data) } })
app.service('open').hooks({
  // @ts-expect-error it may be a list
  before: { create: ({ data }) => data['title'].trim() },
  after: { find: ({ result }) => [result].flat() },
})

// The options of a stated class are not in its type, but for its pages.
app.service('stated').hooks({
  before: { create: ({ data }) => expectType<{ title: string } | { title: string }[]>()(data) },
  after: {
    find: ({ result }) => {
      expectType<Page<Post> | undefined>()(result)
      // A call within the process may still turn pages off.
      return Array.isArray(result) ? result.length : result?.data
    },
  },
})
app
  .service('list')
  .hooks({ after: { find: ({ result }) => expectType<Post[] | undefined>()(result) } })
app.service('plain').hooks({
  before: { create: ({ data }) => expectType<{ title: string } | { title: string }[]>()(data) },
  after: {
    create: ({ result }) => expectType<unknown>()(result),
    find: ({ result }) => expectType<Post[] | undefined>()(result),
  },
})

// Calls of the process may allow lists for themselves.
expectType<Promise<Post[]>>()(single.create([{ title: 'a' }], { adapter: { multi: true } }))

// A client can not send lists where the options say so.
const client = createClient<Services>()
client.service('multi').create([{ title: 'a' }])
client.service('single').create({ title: 'a' })
// @ts-expect-error the service takes no lists
client.service('single').create([{ title: 'a' }])

// What is inferred fits where less is stated
const stated: MongoDBListService<Post>[] = [single, multi, either]
export const used = [stated]
