import type { Collection, ObjectId } from 'mongodb'
import type { MongoDBParams, WriteCount } from '../../src/adapter/index.ts'
import { MongoDBListService, MongoDBService } from '../../src/adapter/index.ts'
import type { Page } from '../../src/core/index.ts'
import { expectType } from './expect-type.ts'

// Values of the type `any` fit every overload: a call with one has the type of the call without it.

interface Post {
  _id: ObjectId
  title: string
}

declare const Model: Collection<Post>
// biome-ignore lint/suspicious/noExplicitAny: as ported services have it
type Any = any
declare const any: Any
declare const id: ObjectId
const paged = new MongoDBService({ Model, paginate: { default: 10 } })
const listed = new MongoDBService({ Model })

expectType<Promise<Page<Post>>>()(paged.find(any))
expectType<Promise<Page<Post>>>()(paged.find({ ...any, query: {} }))
expectType<Promise<Page<Post>>>()(paged.find({ query: { title: 'a' }, paginate: any }))
expectType<Promise<Page<Post>>>()(paged._find({ ...any, query: {} }))
expectType<Promise<Page<Post>>>()(paged.find({ query: { $select: any } }))
expectType<Promise<Post[]>>()(listed.find(any))
expectType<Promise<Post[]>>()(listed._find(any))
expectType<Promise<Post[]>>()(paged.find({ paginate: false, query: { title: any } }))
expectType<Promise<Post[]>>()(paged._find({ paginate: false, query: any }))
expectType<Promise<Post>>()(paged.get(any, any))
expectType<Promise<Post>>()(paged.create(any, any))
expectType<Promise<Post[]>>()(paged.create([any], any))
expectType<Promise<Post>>()(paged.update(any, any, any))
expectType<Promise<Post>>()(paged.patch(id, { title: 'a' }, any))
expectType<Promise<Post[]>>()(paged.patch(null, { title: 'a' }, any))
expectType<Promise<Post[]>>()(paged.patch(null, any, { docdb: any }))
expectType<Promise<Post[]>>()(paged.patch(null, any, { docdb: { returning: any } }))
expectType<Promise<Post[]>>()(paged._patch(null, any, { mongodb: any }))
expectType<Promise<Post[]>>()(paged.remove(null, any))
expectType<Promise<Post[]>>()(paged._remove(null, any))
const anything = null as unknown as MongoDBService<Any, Any, Any>
expectType<Promise<Any[]>>()(anything.find({ paginate: false }))
expectType<Promise<WriteCount>>()(anything.patch(null, {}, { docdb: { returning: false } }))
// @ts-expect-error a page has no such member
paged.find(any).then(({ length }) => length)

class Posts extends MongoDBService<Post, Post, MongoDBParams<{ title?: string }>> {
  async first(params: Any): Promise<Post | undefined> {
    const found = await this.find({ ...params, query: { ...params.query, $limit: 1 } })
    expectType<Page<Post>>()(await this._find({ ...params, paginate: params.paginate }))
    return found.data[0]
  }
}

// Records with further fields of any name
type Open = Post & { [name: string]: unknown }
declare const OpenModel: Collection<Open>
class OpenPosts extends MongoDBService<Open, Post, MongoDBParams<{ title?: string }>> {
  async total(): Promise<number> {
    return (await this.find()).total + (await this._find({ query: { title: 'a' } })).total
  }
}
class OpenList extends MongoDBListService<Open> {}
expectType<Promise<Page<Open>>>()(
  new MongoDBService<Open>({ Model, paginate: { default: 3 } }).find(),
)
expectType<Promise<Open[]>>()(new MongoDBService({ Model: OpenModel }).find())
expectType<Promise<Open>>()(new MongoDBService({ Model: OpenModel }).get('1'))
// @ts-expect-error there are no pages without a size
new OpenPosts({ Model })

export const used = [Posts, OpenPosts, OpenList]
