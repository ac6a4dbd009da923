import type { Collection, Db, Document, ObjectId } from 'mongodb'

import type {
  MongoDBOptions,
  MongoDBParams,
  NewRecord,
  PatchData,
} from '../../src/adapter/index.ts'
import { MongoDBListService, MongoDBService } from '../../src/adapter/index.ts'
import type { AroundHook, Hook, Page } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import { fastifyApp } from '../../src/transport/index.ts'
import type { AnyPaging } from '../support/any-paging.ts'
import { expectType } from './expect-type.ts'

interface Post {
  _id: ObjectId
  title: string
  tags: string[]
  likes: number
  authorId: ObjectId
  author?: { name: string }
  links?: string[]
  at?: Date
  draft?: boolean
}

interface Tag {
  _id: ObjectId
  name: string
}

interface Shout {
  shout(data: { text: string }): Promise<number>
}

interface PostData {
  title: string
}

declare const db: Db
declare const Model: Collection<Post>
declare const id: ObjectId

// Paging, from the options
const paged = new MongoDBService({ Model, paginate: { default: 10, max: 50 } })
const listed = new MongoDBService({ Model, multi: true })
const bounded = new MongoDBService({ Model: async () => Model, paginate: { max: 50 } })
const unpaged = new MongoDBService({ Model: Promise.resolve(Model), paginate: false })
expectType<Promise<Page<Post>>>()(paged.find())
expectType<Promise<Page<Post>>>()(paged.find({ query: { title: 'a' } }))
expectType<Promise<Page<Post>>>()(paged._find({ query: { title: 'a' } }))
expectType<Promise<Post[]>>()(paged.find({ paginate: false }))
expectType<Promise<Post[]>>()(listed.find({ query: { title: 'a' } }))
expectType<Promise<Post[]>>()(listed._find())
expectType<Promise<Page<Post>>>()(listed.find({ paginate: { default: 3 } }))
expectType<Promise<Post[]>>()(bounded.find())
expectType<Promise<Post[]>>()(unpaged.find())

// Paging, stated or not
type Params = MongoDBParams
type Patch = PatchData<PostData> | PatchData<NewRecord<Post>>
const stated = new MongoDBService<Post, PostData, Params>({
  Model: db.collection('posts'),
  paginate: { default: 10 },
})
expectType<Promise<Page<Post>>>()(stated.find())
const statedList = new MongoDBListService<Post, PostData, Params>({ Model, paginate: { max: 3 } })
expectType<Promise<Post[]>>()(statedList.find())
// @ts-expect-error there are no pages without a default
new MongoDBService<Post, PostData, Params>({ Model, paginate: { max: 3 } })
// @ts-expect-error there are no pages
new MongoDBService<Post, PostData, Params>({ Model })
// @ts-expect-error there are pages
new MongoDBListService<Post, PostData, Params>({ Model, paginate: { default: 3 } })
// @ts-expect-error no such option
new MongoDBService({ Model, pagination: { default: 3 } })
// @ts-expect-error no such option
new MongoDBService({ Model, paginate: { defualt: 3 } })
const open = new MongoDBService<Post>({ Model: db.collection('posts'), paginate: { default: 10 } })
expectType<Promise<Page<Post>>>()(open.find())
expectType<Promise<Post[]>>()(open.find({ paginate: false }))
const untyped = new MongoDBService({ Model: db.collection('posts') })
untyped.find({ query: { anything: { $gt: 1 }, $limit: 3 } })
expectType<Promise<Document[]>>()(untyped.find())
const untypedPages = new MongoDBService({ Model: db.collection('a'), paginate: { default: 3 } })
expectType<Promise<Page<Document>>>()(untypedPages.find({ query: { anything: 1 } }))
expectType<Promise<Document[]>>()(untypedPages.find({ paginate: false }))
expectType<Promise<Document[]>>()(
  new MongoDBService({ Model: async () => db.collection('a'), paginate: { max: 3 } }).find(),
)
declare const options: MongoDBOptions
const unknownPaging = new MongoDBService(options)
expectType<Promise<Page<Document> | Document[]>>()(unknownPaging.find())

// What is inferred fits where less is stated, and nothing else
const anyPaging: AnyPaging<Post>[] = [paged, listed, open]
// @ts-expect-error a list is no pages
const paging: MongoDBService<Post>[] = [listed]
// @ts-expect-error there are no pages without a size
new MongoDBService<Post>({ Model })
// @ts-expect-error pages are no list
const lists: (typeof listed)[] = [paged]
const returned: MongoDBListService<Post> = new MongoDBService({ Model: db.collection('posts') })

// Queries
listed.find({
  query: {
    _id: String(id),
    authorId: { $in: [id, String(id)] },
    tags: 'news',
    likes: { $gte: 1, $ne: 3 },
    title: { $regex: '^a', $options: 'i' },
    author: null,
    links: { $in: ['a', null] },
    at: { $lt: new Date() },
    draft: { $ne: true },
    'author.name': 'Ann',
    $or: [{ title: 'a' }, { $and: [{ tags: ['a', 'b'] }, { likes: { $le: 1 } }] }],
    $sort: { title: 1, likes: '-1', 'author.name': -1 },
    $limit: 10,
    $skip: '20',
  },
})
listed.get(id, { query: { authorId: id } })
listed.remove(null, { query: { tags: { $all: ['a'] } } })
// @ts-expect-error no such field
listed.find({ query: { titel: 'a' } })
// @ts-expect-error no such field
listed.find({ query: { $or: [{ titel: 'a' }] } })
// @ts-expect-error no such field
listed.find({ query: { $sort: { titel: 1 } } })
// @ts-expect-error no such field
listed.find({ query: { $select: ['titel'] } })
// @ts-expect-error a title is a string
listed.find({ query: { title: 1 } })
// @ts-expect-error a title is a string
listed.find({ query: { title: { $in: [1] } } })
// @ts-expect-error undefined is no value
listed.find({ query: { links: undefined } })
// @ts-expect-error undefined is no value
listed.find({ query: { at: { $gt: undefined } } })
// @ts-expect-error no such operator
listed.find({ query: { title: { $gte: 'a', $like: 'b' } } })
// @ts-expect-error no such name
listed.find({ query: { $order: 1 } })
// @ts-expect-error a direction is 1 or -1
listed.find({ query: { $sort: { title: 'asc' } } })

// Selected fields
type Titled = Pick<Post, 'title' | '_id'>
expectType<Promise<Titled[]>>()(listed.find({ query: { likes: 3, $select: ['title'] } }))
expectType<Promise<Page<Titled>>>()(paged.find({ query: { $select: ['title'] as const } }))
expectType<Promise<Titled[]>>()(paged.find({ query: { $select: ['title'] }, paginate: false }))
expectType<Promise<Titled>>()(listed.get(id, { query: { $select: ['title'] } }))
expectType<Promise<Post>>()(listed.get(id, { query: { $select: ['title', 'author.name'] } }))

// Selected fields of what was written
const post = { title: 'a', tags: [], likes: 0, authorId: id }
const select = { query: { $select: ['title'] } } as const
expectType<Promise<Titled>>()(listed.create(post, select))
expectType<Promise<Titled[]>>()(listed.create([post], { query: { $select: ['title'] } }))
expectType<Promise<Titled>>()(listed.update(id, post, select))
expectType<Promise<Post>>()(listed.update(id, post, { query: { title: 'a' } }))
expectType<Promise<Titled>>()(listed.patch(id, { likes: 1 }, { query: { $select: ['title'] } }))
expectType<Promise<Titled[]>>()(listed.patch(null, { likes: 1 }, select))
expectType<Promise<Titled>>()(listed.remove(id, select))
expectType<Promise<Titled[]>>()(listed.remove(null, select))
// @ts-expect-error no such field
listed.create(post, { query: { $select: ['titel'] } })
// @ts-expect-error the field was not selected
listed.patch(id, { likes: 1 }, select).then(({ likes }) => likes)

// Data
const fields = { tags: [], likes: 0, authorId: id }
expectType<Promise<Post>>()(listed.create({ title: 'a', ...fields }))
expectType<Promise<Post[]>>()(listed.create([{ title: 'a', ...fields, _id: id }]))
expectType<Promise<Post>>()(stated.create({ title: 'a' }))
stated._create({ title: 'a', ...fields })
stated._create({ title: 'a' })
listed.patch(id, { likes: 3 })
listed.patch(id, { $inc: { likes: 3 } })
listed.patch(id, { title: 'b', 'author.name': 'Ben', $push: { tags: 'new' } })
// @ts-expect-error no such field
listed.patch(id, { 'author.name': 'Ben', titel: 'b' })
// @ts-expect-error a field is missing
listed.create({ title: 'a' })
// @ts-expect-error no data for callers
stated.create({ title: 'a', authorId: id })
// @ts-expect-error data replaces a record as a whole
stated.update(id, { title: 'a', likes: 3 })
// A patch sets fields of new data, and those that only the server sets.
stated.patch(id, { title: 'a' })
stated.patch(id, { likes: 3 })
stated.patch(null, { title: 'a', likes: 3, 'author.name': 'Ben', $push: { tags: 'new' } })
stated._patch(id, { likes: 3 })
// @ts-expect-error likes are a number
stated.patch(id, { likes: '3' })
// @ts-expect-error likes are a number
stated.patch(id, { title: 'a', likes: '3' })
// @ts-expect-error no such field
stated.patch(id, { title: 'a', like: 3 })
// @ts-expect-error no such field
stated._patch(id, { like: 3 })

// Subclasses
class PostService extends MongoDBService<Post, PostData, Params> {
  override async create(data: PostData, params?: Params): Promise<Post>
  override async create(data: PostData[], params?: Params): Promise<Post[]>
  override async create(data: PostData | PostData[], params?: Params): Promise<Post | Post[]> {
    if (Array.isArray(data)) return super.create(data, params)
    const record = { ...data, authorId: id }
    expectType<Promise<Post>>()(super.create(record, params))
    return this._create({ ...data, ...fields }, params)
  }
  override async get(_id: ObjectId, params?: Params): Promise<Post> {
    return super.get(_id, params)
  }
  async feed(params: Params): Promise<Post[]> {
    return (await this.find({ ...params, query: { ...params.query, likes: 1 } })).data
  }
}
// @ts-expect-error there are no pages
new PostService({ Model })
const posts = new PostService({ Model, paginate: { default: 10 } })
class Comments extends MongoDBService<Post> {}
class Anything extends MongoDBService {}
class Tags extends MongoDBListService<Tag> {}
expectType<Promise<Tag[]>>()(new Tags({ Model: db.collection('tags') }).find())
// @ts-expect-error there are pages
new Tags({ Model: db.collection('tags'), paginate: { default: 10 } })
expectType<Promise<Page<Post>>>()(new Comments({ Model, paginate: { default: 10 } }).find())
// @ts-expect-error there are no pages without a size
new Comments({ Model })
new Anything({ Model }).find({ query: { anything: 1 } })

// Of records whose type is still a parameter
class Base<T extends Document> extends MongoDBService<T> {
  constructor(Model: Collection<T>) {
    super({ Model, paginate: { default: 10 } })
  }
}
class Unpaged<T extends Document> extends MongoDBService<T> {
  constructor(Model: Collection<T>) {
    // @ts-expect-error there are no pages without a size
    super({ Model })
  }
}
class DataBase<T extends Document, D> extends MongoDBService<T, D> {
  constructor(Model: Collection<T>) {
    super({ Model, paginate: { default: 10 } })
  }
}
class PostBase extends Base<Post> {}
expectType<Promise<Page<Post>>>()(new Base(Model).find())
expectType<Promise<Page<Post>>>()(new PostBase(Model).find({ query: { title: 'a' } }))
const toService = <T extends Document>(Model: Collection<T>) =>
  new MongoDBService<T>({ Model, paginate: { default: 10, max: 50 } })
expectType<Promise<Page<Post>>>()(toService(Model).find())
expectType<Promise<Post>>()(new DataBase<Post, PostData>(Model).create({ title: 'a' }))
expectType<Promise<Post>>()(new Unpaged(Model).get(id))

// Hooks
const app = createApp<{ posts: PostService; listed: typeof listed; open: MongoDBService<Post> }>()
app.use('posts', posts).use('listed', listed).use('open', open)
const load: Hook<{ get(id: string): Promise<unknown> }> = ({ service, id }) =>
  service.get(String(id))
const hook: Hook = (context) => {
  context.params.query = { ...context.params.query, authorId: String(context.id) }
}
const around: AroundHook = async (_context, next) => next()
for (const service of [app.service('listed'), app.service('open')]) {
  service.hooks({
    before: {
      all: [hook, load],
      find: hook,
      get: [hook, load],
      create: [hook],
      update: hook,
      patch: [hook],
    },
    after: { find: [hook], get: hook, patch: [hook], remove: [hook] },
    error: { all: [hook], get: hook },
    around: { all: [around], get: [around], patch: around, remove: [around] },
  })
}
app.service('posts').hooks({
  before: {
    get: [hook],
    create: [(context) => expectType<PostData | PostData[]>()(context.data)],
    find: [(context) => expectType<Params>()(context.params)],
    patch: [hook, (context) => expectType<Patch>()(context.data)],
    remove: [hook],
    feed: [hook],
  },
  after: { get: [(context) => expectType<Post | undefined>()(context.result)] },
})
app.service('listed').hooks({
  before: {
    patch: (context) => {
      expectType<PatchData<NewRecord<Post>>>()(context.data)
      // @ts-expect-error likes are a number
      context.data = { likes: 'x' }
      // @ts-expect-error likes are a number
      context.data = { ...context.data, likes: 'x' }
      // More fields than callers may send
      context.data = { likes: 3, changedAt: new Date() }
      context.data = { changedAt: new Date() }
      context.data = { ...context.data, changedAt: new Date() }
      context.data = { title: 'b', 'author.name': 'Ben', $inc: { likes: 1 }, changedAt: new Date() }
      context.data = { $inc: { likes: 1 } }
    },
    find: (context) => {
      context.params.query = { ...context.params.query, authorId: id, likes: { $gt: 0 } }
      // @ts-expect-error no such field
      context.params.query.owner = id
    },
  },
  after: { create: [(context) => expectType<Post | Post[] | undefined>()(context.result)] },
})
app.service('listed').on('created', (post) => expectType<Post>()(post))

// On an application with a server
const served = fastifyApp(createApp<{ posts: PostService; tags: MongoDBService<Tag>; x: Shout }>())
const handle = (): void => undefined
const tags = new MongoDBService({ Model: db.collection<Tag>('tags'), paginate: { default: 10 } })
served.use('posts', posts).use('posts', handle, posts, [handle], { methods: ['find', 'feed'] })
served
  .use('posts', posts, { events: ['read'] })
  .use('tags', handle, tags)
  .use('tags', tags)
served.use('x', { shout: async () => 1 }, handle).use('x', { shout: async () => 1 }, {})
served.use('api', app).use(handle).use('/api', handle, [handle]).use('api', handle, app)
// @ts-expect-error not the service for this path
served.use('tags', posts)
// @ts-expect-error not the service for this path
served.use('tags', handle, posts)
// @ts-expect-error not the service for this path
served.use('x', tags, { methods: ['shout'] })
// @ts-expect-error no service
served.use('posts', {})
// @ts-expect-error no service
served.use('posts', { events: ['read'] })
// @ts-expect-error options stand last
served.use('posts', { events: ['read'] }, posts)
// @ts-expect-error no such method
served.use('posts', handle, posts, { methods: ['feeds'] })
// @ts-expect-error no such option
served.use('posts', handle, posts, { method: ['feed'] })
const openServer = fastifyApp(createApp())
openServer.use('x', { find: async () => [] }, { methods: ['find'] }).use('y', handle, tags, handle)
openServer.use('y', new MongoDBService({ Model: db.collection('a') }), { events: ['read'] })
declare const something: unknown
export const fits = [anyPaging, paging, lists, returned]
if (something instanceof MongoDBService) expectType<string>()(something.id)
