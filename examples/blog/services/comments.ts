import type { Db } from 'mongodb'
import type { Hook, RecordQuery } from 'remex'
import { NotFound } from 'remex'
import type { MongoDBParams } from 'remex/mongodb'
import { MongoDBService } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { DateSchema, querySyntax, Type } from 'remex/schema'
import type { Blog } from '../app.ts'
import { allowLogin, requireLogin, userOf } from '../authentication.ts'
import { Id, toText } from '../fields.ts'
import type { Post, PostService } from './posts.ts'
import { visibleTo } from './posts.ts'
import { Author, withAuthor } from './users.ts'

/** What callers get. */
const Comment = Type.Object({
  _id: Id,
  text: toText(5_000),
  postId: Id,
  authorId: Id,
  createdAt: DateSchema(),
  author: Type.Optional(Author),
})
export type Comment = Static<typeof Comment>

// The post comes from the path, the author from the login.
const CommentData = Type.Pick(Comment, ['text'])
type CommentData = Static<typeof CommentData>

const CommentQuery = querySyntax(Type.Omit(Comment, ['postId', 'author']), {
  $select: Type.Array(Type.KeyOf(Type.Omit(Comment, ['author']))),
})

type CommentParams = MongoDBParams<RecordQuery<Comment>>

export class CommentService extends MongoDBService<Comment, CommentData, CommentParams> {}

export const commentOptions = {
  methods: ['find', 'create', 'remove'],
  schemas: { entity: Comment, create: CommentData, query: CommentQuery },
} as const

export function addComments(app: Blog, db: Db): void {
  const comments = new CommentService({
    Model: db.collection('comments'),
    paginate: { default: 20, max: 100 },
    indexes: [{ key: { postId: 1, createdAt: 1 } }],
  })
  app.use('posts/:postId/comments', comments, commentOptions)

  /** Resolves to the post in the path. Callers who may not read it get 404. */
  async function getPost(params: CommentParams): Promise<Post> {
    const id = params.route?.['postId'] ?? ''
    const query = { _id: id, $and: [visibleTo(params.user)] }
    const [post] = await app.service('posts').find({ query, paginate: false })
    if (post === undefined) throw new NotFound(`No record found for id '${id}'`)
    return post
  }

  async function onlyOfPost({ params }: { params: CommentParams }): Promise<void> {
    if (params.provider === undefined) return
    const post = await getPost(params)
    params.query = { ...params.query, postId: post._id }
  }

  /** The author of the comment and the author of the post may remove it. */
  async function onlyOwn({ params }: { params: CommentParams }): Promise<void> {
    if (params.provider === undefined) return
    const { _id: userId } = userOf(params)
    const post = await getPost(params)
    params.query = { ...params.query, postId: post._id }
    if (!post.authorId.equals(userId)) params.query.authorId = userId
  }

  const addFields: Hook<CommentService, 'create'> = async (context) => {
    context.data = Object.assign({}, context.data, {
      postId: (await getPost(context.params))._id,
      authorId: userOf(context.params)._id,
      createdAt: new Date(),
    })
  }

  const removeComments: Hook<PostService, 'remove'> = async ({ result }) => {
    const query = { postId: { $in: [result ?? []].flat().map(({ _id }) => _id) } }
    // Only this call may remove many. It is one command, because the result is not used.
    const options = { adapter: { multi: true }, docdb: { returning: false } } as const
    await comments._remove(null, { query, ...options })
  }

  app.service('posts/:postId/comments').hooks({
    around: { find: [allowLogin], create: [requireLogin], remove: [requireLogin] },
    before: {
      all: [withAuthor],
      find: [onlyOfPost],
      create: [addFields],
      remove: [onlyOwn],
    },
  })
  app.service('posts').hooks({ after: { remove: [removeComments] } })
}
