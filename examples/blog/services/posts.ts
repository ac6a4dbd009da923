import type { Db, ObjectId } from 'mongodb'
import type { Hook, RecordQuery } from 'remex'
import type { MongoDBParams, PatchData } from 'remex/mongodb'
import { MongoDBService } from 'remex/mongodb'
import { z } from 'zod'
import type { Blog } from '../app.ts'
import { allowLogin, requireLogin, userOf } from '../authentication.ts'
import { inQuery, querySchema, validateData, validateQuery } from '../validation.ts'
import type { Author, User } from './users.ts'
import { withAuthor } from './users.ts'

export interface Post {
  _id: ObjectId
  title: string
  text: string
  tags: string[]
  draft: boolean
  authorId: ObjectId
  createdAt: Date
  views: number
  /** The name of a file below `/images/`. */
  image?: string
  /** In answers only. */
  author?: Author
}

// A default would count in a patch as well, and set what nobody has sent: `addFields` has them.
const postData = z.strictObject({
  title: z.string().trim().min(1).max(200),
  text: z.string().max(100_000),
  tags: z.array(z.string().min(1).max(30)).max(10).optional(),
  draft: z.boolean().optional(),
})
const postPatch = postData.partial()
const postQuery = querySchema(
  {
    _id: inQuery.objectId,
    title: inQuery.string,
    tags: inQuery.string,
    draft: inQuery.boolean,
    authorId: inQuery.objectId,
    createdAt: inQuery.date,
    views: inQuery.number,
  },
  ['text', 'image'],
)

type PostData = z.infer<typeof postData>
export type PostParams = MongoDBParams<RecordQuery<Post>>

export class PostService extends MongoDBService<Post, PostData, PostParams, PatchData<Post>> {}

export function addPosts(app: Blog, db: Db): void {
  const posts = new PostService({
    Model: db.collection('posts'),
    paginate: { default: 10, max: 50 },
    indexes: [{ key: { createdAt: -1 } }, { key: { tags: 1 } }, { key: { authorId: 1 } }],
  })
  app.use('posts', posts, { methods: ['find', 'get', 'create', 'patch', 'remove'] })
  app.service('posts').hooks({
    before: {
      all: [allowLogin, validateQuery(postQuery), withAuthor],
      find: [onlyVisible],
      get: [onlyVisible],
      create: [requireLogin, validateData(postData), addFields],
      patch: [requireLogin, onlyOwn, validateData(postPatch)],
      remove: [requireLogin, onlyOwn],
    },
    after: { get: [countView] },
  })
}

/** The posts that somebody may read. */
export function visibleTo(user: User | undefined): RecordQuery<Post> {
  if (user === undefined) return { draft: false }
  return { $or: [{ draft: false }, { authorId: user._id }] }
}

/** Behind the conditions of the caller, whatever `$or` is among them. */
function onlyVisible({ params }: { params: PostParams }): void {
  if (params.provider === undefined) return
  const { $and = [], ...query } = params.query ?? {}
  params.query = { ...query, $and: [...$and, visibleTo(params.user)] }
}

/** Posts of others are not found: part of the one command that writes. */
function onlyOwn({ params }: { params: PostParams }): void {
  if (params.provider === undefined) return
  params.query = { ...params.query, authorId: userOf(params)._id }
}

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
