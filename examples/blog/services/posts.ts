import type { Db } from 'mongodb'
import type { Hook, RecordConditions, RecordQuery } from 'remex'
import type { MongoDBParams } from 'remex/mongodb'
import { limitTo, MongoDBService } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { DateSchema, querySyntax, Type } from 'remex/schema'
import type { Blog } from '../app.ts'
import { allowLogin, requireLogin, userOf } from '../authentication.ts'
import { Id, toText } from '../fields.ts'
import type { User } from './users.ts'
import { Author, withAuthor } from './users.ts'

/** What authors write. `addFields` adds defaults for optional fields. */
const PostData = Type.Object({
  title: toText(200),
  text: Type.String({ maxLength: 100_000 }),
  tags: Type.Optional(Type.Array(toText(30), { maxItems: 10 })),
  draft: Type.Optional(Type.Boolean()),
})
type PostData = Static<typeof PostData>

const StoredPost = Type.Object({
  _id: Id,
  ...Type.Required(PostData).properties,
  authorId: Id,
  createdAt: DateSchema(),
  views: Type.Integer(),
  image: Type.Optional(Type.String({ description: 'The name of a file below `/images/`' })),
})

/** What callers get. */
const Post = Type.Object({ ...StoredPost.properties, author: Type.Optional(Author) })
export type Post = Static<typeof Post>

export type PostParams = MongoDBParams<RecordQuery<Post>>

export class PostService extends MongoDBService<Post, PostData, PostParams> {}

export const postOptions = {
  methods: ['find', 'get', 'create', 'patch', 'remove'],
  schemas: { entity: Post, create: PostData, query: querySyntax(StoredPost) },
} as const

export function addPosts(app: Blog, db: Db): void {
  const posts = new PostService({
    Model: db.collection('posts'),
    paginate: { default: 10, max: 50 },
    indexes: [
      // The order of lists, and the fields that callers filter by.
      { key: { createdAt: -1 } },
      { key: { tags: 1 } },
      { key: { authorId: 1 } },
    ],
  })
  app.use('posts', posts, postOptions)
  app.service('posts').hooks({
    around: {
      find: [allowLogin],
      get: [allowLogin],
      create: [requireLogin],
      patch: [requireLogin],
      remove: [requireLogin],
    },
    before: {
      all: [withAuthor],
      find: [onlyVisible],
      get: [onlyVisible],
      create: [addFields],
      patch: [onlyOwn],
      remove: [onlyOwn],
    },
    after: { get: [countView] },
  })
}

/** Returns the condition for the posts that a user may read. */
export function visibleTo(user: User | undefined): RecordConditions<Post> {
  if (user === undefined) return { draft: false }
  return { $or: [{ draft: false }, { authorId: user._id }] }
}

const onlyVisible = limitTo<Post>(({ user }) => visibleTo(user))

/** Limits writes to own posts, in the same database command. */
const onlyOwn = limitTo<Post>((params) => ({ authorId: userOf(params)._id }))

const addFields: Hook<PostService, 'create'> = (context) => {
  context.data = Object.assign({ tags: [], draft: true }, context.data, {
    authorId: userOf(context.params)._id,
    createdAt: new Date(),
    views: 0,
  })
}

const countView: Hook<PostService, 'get'> = async ({ id, params, service }) => {
  if (params.provider !== undefined) await service._patch(id, { $inc: { views: 1 } })
}
