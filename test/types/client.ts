import axios from 'axios'
import type { Collection, ObjectId } from 'mongodb'
import superagent from 'superagent'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { Received, ReceivedResult, Sendable } from '../../src/client/index.ts'
import { createClient, FetchClient, rest } from '../../src/client/index.ts'
import type { Hook, Id, IdObject, NullableId, Page, Params } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import { expectType } from './expect-type.ts'

interface Post {
  _id: ObjectId
  title: string
  likes: number
  at: Date
  authorId: ObjectId
  tags: string[]
  draft?: boolean
  deletedAt: Date | null
}

interface SentPost {
  _id: string
  title: string
  likes: number
  at: string
  authorId: string
  tags: string[]
  draft?: boolean
  deletedAt: string | null
}

declare const Model: Collection<Post>
declare const id: ObjectId
const paged = new MongoDBService({ Model, paginate: { default: 10 }, multi: true })
const listed = new MongoDBService({ Model })

class PostService extends MongoDBService<Post> {
  async release(data: { at: Date; in?: { days?: number } }, _params?: Params): Promise<Post> {
    return this.get(String(data.at))
  }
  async touch(): Promise<void> {
    await this.find()
  }
}

interface Todo {
  id: number
  text: string
  at?: Date
  done: boolean | undefined
  size(): number
}

class TodoService {
  async find(_params?: Params<{ done?: boolean; since?: Date | null }>): Promise<Todo[]> {
    return []
  }
  async get(_id: Id): Promise<Todo | undefined> {
    return undefined
  }
  async patch(_id: NullableId, _data: Partial<Todo>, _params?: Params): Promise<Todo> {
    throw new Error('none')
  }
}

interface Services {
  paged: typeof paged
  listed: typeof listed
  posts: PostService
  todos: TodoService
  plain: { get(id: Id, params?: Params): Promise<{ id: number; name: string }> }
  'posts/:postId/comments/:commentId': typeof paged
}

const methods = { posts: ['release', 'touch'] } as const
const client = createClient<Services, typeof methods>({ baseURL: 'http://localhost', methods })

// What travels
expectType<string>()(null as unknown as Received<Date>)
expectType<SentPost>()(null as unknown as Received<Post>)
expectType<{ id: number; text: string; at?: string; done?: boolean }>()(
  null as unknown as Received<Todo>,
)
// biome-ignore lint/suspicious/noExplicitAny: what the test is about
expectType<{ a: any; b?: unknown; c?: string; d?: any; readonly e: string }>()(
  null as unknown as Received<{
    // biome-ignore lint/suspicious/noExplicitAny: what the test is about
    a: any
    b: unknown
    c: Date | undefined
    // biome-ignore lint/suspicious/noExplicitAny: what the test is about
    d?: any
    readonly e: Date
    f: () => void
    g?: (() => void) | undefined
    [Symbol.iterator]: string
  }>,
)
expectType<{ a: { b?: string }[]; c: { d?: string } | null }>()(
  null as unknown as Received<{ a: { b: Date | undefined }[]; c: { d?: Date } | null }>,
)
expectType<{ [name: string]: string }>()(null as unknown as Received<Record<string, Date>>)
expectType<[string, null]>()(null as unknown as Received<[Date, undefined]>)
expectType<unknown>()(null as unknown as Received<unknown>)
expectType<null>()(null as unknown as ReceivedResult<void>)
expectType<{ at: string | Date; n?: number | undefined }>()(
  null as unknown as Sendable<{ at: Date; n?: number }>,
)

// Pages where the service has them, and selected fields
expectType<Promise<Page<SentPost>>>()(client.service('paged').find())
expectType<Promise<SentPost[]>>()(client.service('listed').find({ query: { title: 'a' } }))
expectType<AsyncGenerator<SentPost, void, undefined>>()(client.service('paged').each())
expectType<AsyncGenerator<SentPost, void, undefined>>()(
  client.service('paged').each({ query: { likes: { $gt: 1 }, $sort: { likes: -1 }, $limit: 50 } }),
)
// @ts-expect-error: the query is typed as that of find
client.service('paged').each({ query: { likes: 'many' } })
// @ts-expect-error: the query stands in the params
client.service('paged').each({ likes: 1 })
expectType<Promise<Page<SentPost>>>()(client.service('posts').find())
expectType<Promise<Page<Pick<SentPost, 'title' | '_id'>>>>()(
  client.service('paged').find({ query: { likes: { $gt: 1 }, $select: ['title'] } }),
)
expectType<Promise<Pick<SentPost, 'at' | '_id'>>>()(
  client.service('listed').get('1', { query: { $select: ['at'] } }),
)
expectType<Promise<SentPost>>()(client.service('listed').get(id))
expectType<Promise<{ id: number; text: string; at?: string; done?: boolean } | null>>()(
  client.service('todos').get(1),
)
const post = await client.service('listed').get('1')
// @ts-expect-error a date is a string
post.at.getTime()

// Params of which nothing is known
// biome-ignore lint/suspicious/noExplicitAny: what the test is about
declare const any: any
expectType<Promise<Page<SentPost>>>()(client.service('paged').find(any))
expectType<Promise<SentPost>>()(client.service('paged').get('1', any))
expectType<Promise<SentPost[]>>()(client.service('paged').patch(null, any, any))

// Streams of records
type Records<T> = AsyncIterableIterator<T, void, undefined>
expectType<Records<SentPost>>()(client.service('paged').stream({ query: { title: 'a' } }))
expectType<Records<SentPost>>()(client.service('listed').stream())
// @ts-expect-error no such field
client.service('listed').stream({ query: { titel: 'a' } })
// @ts-expect-error the values of the placeholders are missing
client.service('posts/:postId/comments/:commentId').stream()

// Nobody knows whether a service whose queries have no type selects fields
expectType<Promise<{ id: number; name: string }>>()(
  client.service('plain').get(1, { query: { $select: ['name'] } }),
)

// Writes
const data = { title: 'a', likes: 1, at: new Date(), authorId: id, tags: [], deletedAt: null }
expectType<Promise<SentPost>>()(client.service('paged').create(data))
expectType<Promise<SentPost>>()(
  client.service('paged').create({ ...data, at: '2026-01-01', authorId: '6565' }),
)
expectType<Promise<SentPost[]>>()(client.service('paged').create([data]))
expectType<Promise<SentPost>>()(client.service('paged').patch('1', { likes: 2 }))
expectType<Promise<SentPost[]>>()(client.service('paged').patch(null, { $inc: { likes: 2 } }))
expectType<Promise<SentPost[]>>()(client.service('paged').remove(null, { query: { likes: 1 } }))
expectType<Promise<SentPost>>()(client.service('paged').update(id, data))
client.service('todos').patch(null, { text: 'a', at: '2026' })
// JSON leaves `undefined` out.
client.service('paged').create({ ...data, draft: undefined, _id: undefined })
client.service('paged').create([{ ...data, draft: undefined }])
client.service('paged').patch('1', { title: 'a', draft: undefined, at: undefined })
client.service('todos').patch(null, { text: undefined })
client.service('posts').release({ at: new Date(), in: { days: undefined } })
// @ts-expect-error a title is required
client.service('paged').create({ ...data, title: undefined })
// @ts-expect-error a list keeps its places
client.service('paged').patch('1', { tags: [undefined] })
// @ts-expect-error a field is missing
client.service('paged').create({ title: 'a' })
// @ts-expect-error no such field
client.service('paged').patch('1', { titel: 'a' })
// @ts-expect-error one record is replaced
client.service('paged').update(null, data)

// Queries
client.service('paged').find({
  query: {
    _id: { $in: ['1', '2'] },
    authorId: id,
    at: { $lt: new Date(), $gt: '2026-01-01' },
    tags: 'news',
    draft: { $ne: true },
    $or: [{ title: 'a' }, { likes: 3 }],
    $sort: { title: 1 },
    $limit: 3,
  },
  headers: { authorization: 'Bearer x' },
  connection: { signal: new AbortController().signal, timeoutMs: 100 },
})
client.service('todos').find({ query: { done: true, since: '2026-01-01' } })
// What chooses no records may be `undefined`: the client leaves it out.
client.service('paged').find({ query: { title: 'a', $limit: undefined, $sort: undefined } })
client.service('paged').each({ query: { $after: undefined, $skip: undefined, $total: undefined } })
expectType<Promise<SentPost>>()(client.service('paged').get('1', { query: { $select: undefined } }))
// @ts-expect-error it would find more records
client.service('paged').find({ query: { title: undefined } })
// @ts-expect-error it would find more records
client.service('paged').find({ query: { $or: undefined } })
// @ts-expect-error no such field
client.service('paged').find({ query: { titel: 'a' } })
// @ts-expect-error no such field in one of several
client.service('paged').find({ query: { $or: [{ titel: 'a' }] } })
// @ts-expect-error a title is a string
client.service('paged').find({ query: { title: 1 } })
client.service('paged').find({ query: { deletedAt: '', likes: { $ne: '' } } })
// @ts-expect-error null does not travel
client.service('paged').find({ query: { deletedAt: null } })
// @ts-expect-error null does not travel
client.service('todos').find({ query: { since: null } })
// @ts-expect-error no such name
client.service('todos').find({ query: { doen: true } })

// Params
// @ts-expect-error set by the server
client.service('paged').find({ provider: 'rest' })
// @ts-expect-error set by the server
client.service('paged').find({ user: {} })
// @ts-expect-error set by the server
client.service('paged').get('1', { authentication: {} })
// @ts-expect-error an option of the adapter
client.service('paged').find({ paginate: false })
declare const serverParams: Params
// @ts-expect-error params of a call on a server
client.service('paged').find(serverParams)
// @ts-expect-error the path has no placeholder
client.service('paged').find({ route: { postId: '1' } })

// Placeholders
const comments = client.service('posts/:postId/comments/:commentId')
comments.each({ route: { postId: '1', commentId: '2' } })
// @ts-expect-error: the path has placeholders
comments.each()
expectType<Promise<Page<SentPost>>>()(comments.find({ route: { postId: '1', commentId: '2' } }))
comments.get('1', { route: { postId: '1', commentId: '2' }, query: { $select: ['title'] } })
comments.patch(null, {}, { route: { postId: '1', commentId: '2' } })
// @ts-expect-error params are missing
comments.find()
// @ts-expect-error one is missing
comments.find({ route: { postId: '1' } })
// @ts-expect-error params are missing
comments.remove('1')

// Services and their methods
// @ts-expect-error no such service
client.service('nothing')
// @ts-expect-error no such method
client.service('todos').remove(1)
// @ts-expect-error a method for hooks alone
client.service('paged')._find()
// @ts-expect-error no method for callers
client.service('paged').getModel({})
expectType<Promise<SentPost>>()(client.service('posts').release({ at: new Date() }))
expectType<Promise<null>>()(client.service('posts').touch())
// @ts-expect-error the data is missing
client.service('posts').release()
// @ts-expect-error not listed
createClient<Services>().service('posts').release({ at: new Date() })
// @ts-expect-error no such method
createClient<Services, { posts: ['relase'] }>()
// @ts-expect-error the type of the list is missing
createClient<Services>({ methods: { posts: ['release'] } })

// Hooks and events
const anyHook: Hook = (context) => {
  context.params.headers = { ...context.params.headers, 'x-a': 'b' }
}
client.hooks({ before: { all: [anyHook], create: [anyHook] } })
client.service('paged').hooks({
  before: { all: [anyHook], find: [anyHook], get: anyHook, create: [anyHook], patch: anyHook },
  after: { find: [(context) => expectType<Page<SentPost> | undefined>()(context.result)] },
})
client.service('posts').hooks({ before: { release: [anyHook] } })
// @ts-expect-error no such method
client.service('todos').hooks({ before: { remove: [anyHook] } })
client.service('paged').on('created', (post) => expectType<SentPost>()(post))

// Connections
class OwnClient extends FetchClient {
  override getQuery(query: Params['query'] & object): string {
    return `?q=${JSON.stringify(query)}`
  }
}
const untyped = createApp().configure(rest('/').fetch(fetch, {}, OwnClient))
untyped.service('anything').find({ query: { anything: null } })
createClient().service('anything').remove('1')
const other = rest<Services>('http://localhost').ofetch({ headers: { a: 'b' } })
client.use('paged', other.service('paged'))
client.configure(other)
// @ts-expect-error another service
client.use('todos', other.service('paged'))
// @ts-expect-error no such service
other.service('nothing')
rest('/').axios(axios.create())
rest('/').superagent(superagent, { headers: {} })
// @ts-expect-error no such option
rest('/').fetch(fetch, { header: {} })
// @ts-expect-error another library
rest('/').axios(fetch)

// @ts-expect-error a client sets nothing up
createClient().setup()
// @ts-expect-error a client tears nothing down
createClient().teardown()

// A record in the place of its id
declare const sentPost: SentPost
createClient({ version: 'v' })
client
  .service('listed')
  .patch(sentPost, { title: 'a' }, { version: 3 })
  .then(expectType<SentPost>())
client.service('listed').remove({ id: '1' }, { version: [3, 4] })
client.service('listed').get(sentPost)
client.service('listed').hooks({
  before: { patch: [({ id }) => expectType<NullableId | IdObject>()(id)] },
})
// @ts-expect-error it has no id
client.service('listed').patch({ title: 'a' }, { title: 'b' })
// @ts-expect-error no version
client.service('listed').patch('1', { title: 'b' }, { version: '3' })
// @ts-expect-error no name of a field
createClient({ version: 3 })
