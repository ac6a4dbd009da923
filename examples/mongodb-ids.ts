// Posts with author ids and dates: ObjectIds and Dates in the database, strings over HTTP. Try the lines it prints. `npx tsx node_modules/remex/examples/mongodb-ids.ts`, after
// `npm install @feathersjs/schema`. Reads PORT (3030), HOST (127.0.0.1) and MONGODB_URL (an
// embedded database by default).
import { fileURLToPath } from 'node:url'
import type { HookContext } from '@feathersjs/feathers'
import type { Resolver } from '@feathersjs/schema'
import {
  Ajv,
  addFormats,
  getDataValidator,
  getValidator,
  querySyntax,
  resolve,
  resolveData,
  resolveQuery,
  validateData,
  validateQuery,
} from '@feathersjs/schema'
import type { Db } from 'mongodb'
import { MongoClient, ObjectId } from 'mongodb'
import type { Application, Query } from 'remex'
import { BadRequest, createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import {
  keywordObjectId,
  MongoDBService,
  ObjectIdSchema,
  resolveObjectId,
  resolveQueryObjectId,
} from 'remex/mongodb'

interface Post {
  title: string
  authorId: ObjectId
  publishedAt: Date
}

interface Comment {
  text: string
  postId: ObjectId
}

type QueryResolver = Resolver<Query, HookContext>

// What a query string says is text, so numbers and the like are made of it there, and nowhere else.
const dataAjv = new Ajv()
const queryAjv = new Ajv({ coerceTypes: true })
for (const ajv of [dataAjv, queryAjv]) {
  ajv.addKeyword(keywordObjectId)
  addFormats(ajv, ['date-time'])
}

const POST = {
  $id: 'Post',
  type: 'object',
  additionalProperties: false,
  required: ['title', 'authorId', 'publishedAt'],
  properties: {
    title: { type: 'string' },
    authorId: ObjectIdSchema(),
    publishedAt: { type: 'string', format: 'date-time' },
  },
} as const
const POST_QUERY = {
  $id: 'PostQuery',
  type: 'object',
  additionalProperties: false,
  properties: querySyntax(POST.properties),
} as const

const checkPost = getDataValidator(POST, dataAjv)
const checkPostQuery = getValidator(POST_QUERY, queryAjv)

// Where there is no schema, resolvers make the ObjectIds.
const commentData = resolve<Comment, HookContext>({ properties: { postId: resolveObjectId } })
const commentQuery: QueryResolver = resolve<Query, HookContext>({
  properties: {
    postId: resolveQueryObjectId,
    $or: resolveEach(() => commentQuery),
    $and: resolveEach(() => commentQuery),
  },
})

/** A resolver sees the top of a query alone: this one is for the lists of `$or` and `$and`. */
function resolveEach(getResolver: () => QueryResolver) {
  return async (list: unknown, _query: Query, context: HookContext): Promise<unknown> => {
    if (list === undefined) return undefined
    if (!Array.isArray(list)) throw new BadRequest('$or and $and must be lists')
    return Promise.all(list.map((query) => getResolver().resolve(query, context)))
  }
}

function toDate(value: unknown): Date {
  const date = new Date(String(value))
  // The format allows leap seconds, which a Date has no value for.
  if (Number.isNaN(date.getTime())) throw new BadRequest('This is no date')
  return date
}

/** A date, or operators and lists with dates in them: `{ $gte: '2026-01-31T00:00:00Z' }`. */
function toDates(value: unknown): unknown {
  if (value === undefined) return undefined
  if (Array.isArray(value)) return value.map(toDates)
  if (typeof value !== 'object' || value === null) return toDate(value)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toDates(one)]))
}

const postData = resolve<Post, HookContext>({
  properties: { publishedAt: async (value) => (value === undefined ? undefined : toDate(value)) },
})
const postQuery: QueryResolver = resolve<Query, HookContext>({
  properties: {
    publishedAt: async (value) => toDates(value),
    $or: resolveEach(() => postQuery),
    $and: resolveEach(() => postQuery),
  },
})

const postHooks = {
  all: [validateQuery(checkPostQuery), resolveQuery(postQuery)],
  create: [validateData(checkPost), resolveData(postData)],
  update: [validateData(checkPost), resolveData(postData)],
  patch: [validateData(checkPost), resolveData(postData)],
}

/** Registers the services `posts` and `comments`. */
export function addPosts(app: Application, db: Db): void {
  app.use('posts', new MongoDBService({ Model: db.collection('posts') }))
  app.service('posts').hooks({ before: postHooks })
  app.use('comments', new MongoDBService({ Model: db.collection('comments') }))
  app.service('comments').hooks({
    before: { all: [resolveQuery(commentQuery), resolveData(commentData)] },
  })
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
  const app = fastifyApp(createApp())
  app.configure(rest())
  addPosts(app, mongo.db('remex_posts'))
  await app.listen({ port: Number(PORT), host: HOST })
  const url = `http://${HOST}:${PORT}/posts`
  const authorId = new ObjectId().toHexString()
  console.log(`Posts at ${url}

  curl ${url} -H 'content-type: application/json' \\
    -d '{"title":"Hello","authorId":"${authorId}","publishedAt":"2026-01-31T12:00:00Z"}'
  curl -g '${url}?authorId=${authorId}&publishedAt[$gte]=2026-01-01T00:00:00Z'
  curl '${url}?authorId=zz'

Ctrl-C ends it.`)

  async function stop(): Promise<void> {
    await app.close()
    await mongo.close()
    await embedded?.close()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
