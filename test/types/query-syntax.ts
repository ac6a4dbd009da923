import type { Collection, ObjectId } from 'mongodb'

import type { MongoDBParams } from '../../src/adapter/index.ts'
import { MongoDBService, ObjectIdSchema } from '../../src/adapter/index.ts'
import type { Page, RecordQuery } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import type { Static } from '../../src/core/schema/index.ts'
import { queryProperties, queryProperty, querySyntax, Type } from '../../src/core/schema/index.ts'
import { expectType } from './expect-type.ts'

const postSchema = Type.Object({
  _id: ObjectIdSchema(),
  title: Type.String(),
  likes: Type.Number(),
  draft: Type.Optional(Type.Boolean()),
  rank: Type.Union([Type.Number(), Type.Null()]),
  tags: Type.Array(Type.String()),
  author: Type.Object({ name: Type.String() }),
  state: Type.Union([Type.Literal('open'), Type.Literal('closed')]),
})
type Post = Static<typeof postSchema>

const postQuerySchema = querySyntax(postSchema, {
  title: { $regex: Type.String(), $options: Type.String() },
  $search: Type.String(),
})
type PostQuery = Static<typeof postQuerySchema>

declare const id: ObjectId
declare const Model: Collection<Post>
declare function takeQuery(query: RecordQuery<Post>): void

// What asks for pages with cursors
const cursors: readonly PostQuery[] = [
  { $after: '', $total: { cap: 5 } },
  { $before: 'x', $total: 'estimate' },
]
cursors.forEach(takeQuery)
takeQuery({ $after: '', $total: 'false' })
// @ts-expect-error: no total of this kind
takeQuery({ $total: 'some' })

// What a query may have
const query: PostQuery = {
  _id: { $in: [id] },
  title: { $regex: '^a', $options: 'i', $ne: 'b' },
  likes: { $gt: 1, $le: 5 },
  draft: null,
  rank: { $ne: null },
  tags: 'a',
  'author.name': 'a',
  state: 'open',
  $search: 'a',
  $limit: 5,
  $skip: 5,
  $sort: { likes: -1, 'author.name': 1 },
  $select: ['title', 'author.name'],
  $or: [{ likes: 1 }, { $and: [{ title: { $regex: 'a' } }, { tags: { $in: ['a'] } }] }],
  $and: [{ $or: [{ draft: true }] }],
}
expectType<string | undefined>()(query.$search)
expectType<number | undefined>()(query.$limit)

// @ts-expect-error: a value of another type
query.likes = '5'
// @ts-expect-error: an operator with a value of another type
query.likes = { $gt: '5' }
// @ts-expect-error: an operator that is not named
query.likes = { $regex: '5' }
// @ts-expect-error: an operator that is not named for this property
query.state = { $exists: true }
// @ts-expect-error: a value that is none of the union
query.state = 'ajar'
// @ts-expect-error: null where records have a value
query.likes = null
// @ts-expect-error: one value for a list of them
query.title = { $in: 'a' }
// @ts-expect-error: a property that the record lacks
query.titel = 'a'
// @ts-expect-error: no direction
query.$sort = { likes: 0 }
// @ts-expect-error: no property
query.$select = ['titel']
// @ts-expect-error: an extension stands at the top alone
query.$or = [{ $search: 'a' }]
// @ts-expect-error: a wrong value inside of $or
query.$or = [{ likes: '5' }]
// @ts-expect-error: no list of conditions
query.$or = { likes: 5 }
// @ts-expect-error: $nor has to be an extension
query.$nor = [{ likes: 5 }]

// A query that was validated is one for the service
takeQuery(query)
const posts = new MongoDBService({ Model, paginate: { default: 10 } })
expectType<Promise<Page<Post>>>()(posts.find({ query }))
const app = createApp<{ posts: typeof posts }>()
app.use('posts', posts)
expectType<Promise<Page<Post>>>()(app.service('posts').find({ query }))

// A service whose callers have the operators of its schema and no others
class StrictPosts extends MongoDBService<Post, Post, MongoDBParams<PostQuery>> {}
const strict = createApp<{ posts: StrictPosts }>()
strict.use('posts', new StrictPosts({ Model, paginate: { default: 10 } }))
strict.service('posts').find({ query: { likes: { $gt: 5 }, title: { $regex: 'a' } } })
// @ts-expect-error: an operator that the schema does not name
strict.service('posts').find({ query: { likes: { $mod: [2, 0] } } })
// @ts-expect-error: a value of another type
strict.service('posts').find({ query: { likes: { $gt: '5' } } })
strict.service('posts').hooks({
  before: {
    find: [
      ({ params }) => {
        expectType<number | undefined>()(params.query?.$limit)
      },
    ],
  },
})

// Schemas of other kinds
const picked = querySyntax(Type.Pick(postSchema, ['title', 'likes']))
const titles: Static<typeof picked> = { title: 'a', likes: { $lt: 5 } }
// @ts-expect-error: it was not picked
titles.state = 'open'
const joined = querySyntax(
  Type.Intersect([Type.Pick(postSchema, ['title']), Type.Object({ size: Type.Number() })]),
)
const sizes: Static<typeof joined> = { title: 'a', size: { $lt: 5 } }
// @ts-expect-error: a value of another type
sizes.size = 'a'
const plain = querySyntax({
  type: 'object',
  properties: { title: { type: 'string' }, likes: { type: 'number' } },
  required: ['title', 'likes'],
})
const plains: Static<typeof plain> = { title: { $in: ['a'] }, likes: 5 }
// @ts-expect-error: a value of another type
plains.likes = 'a'

// Parts of a query
const likes = queryProperty(Type.Number(), { $mod: Type.Array(Type.Number()) })
let condition: Static<typeof likes> = { $mod: [2, 0] }
condition = { $gt: 5 }
// @ts-expect-error: an operator that is not named
condition = { $regex: 'a' }
expectType<typeof condition>()(condition)
const properties = queryProperties(postSchema, { title: { $regex: Type.String() } })
const conditions: Static<typeof properties> = { title: { $regex: 'a' }, likes: 5 }
// @ts-expect-error: filters are no properties
conditions.$limit = 5

// @ts-expect-error: an extension is a map of schemas
querySyntax(postSchema, { title: 'regex' })
