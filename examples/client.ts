// A typed client and its server, explained in docs/reference/client.md.
// `npx tsx node_modules/remex/examples/client.ts`. Ends by itself. Reads MONGODB_URL (an embedded
// database by default), and writes only to `remex_client`.
import type { AddressInfo } from 'node:net'
import type { ObjectId } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { Params } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { createClient, FetchClient, rest as restClient } from 'remex/client'
import { startEmbeddedMongo } from 'remex/embedded'
import { NotFound, ServiceError } from 'remex/errors'
import { MongoDBService } from 'remex/mongodb'
import type { Served } from 'remex/schema'
import { convertQuery, toDate } from './query-values.ts'

const { MONGODB_URL } = process.env
const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
const db = mongo.db('remex_client')
await db.dropDatabase()

interface Post {
  _id: ObjectId
  title: string
  author: string
  at: Date
}

const posts = new MongoDBService({
  Model: db.collection<Post>('posts'),
  paginate: { default: 10 },
})

const comments = {
  find: async ({ route }: Params) => [{ text: 'Indeed', postId: route?.['postId'] }],
}

const letters = {
  send: async (data: { to: string }) => ({ to: data.to, sentAt: new Date() }),
}

const letterOptions = { methods: ['send'] } as const

interface Services {
  posts: typeof posts
  'posts/:postId/comments': typeof comments
  letters: Served<typeof letters, typeof letterOptions>
}

const app = fastifyApp(createApp<Services>())
app.configure(rest())
app.use('posts', posts)
app.use('posts/:postId/comments', comments)
app.use('letters', letters, letterOptions)
app.service('posts').hooks({
  before: {
    find: [convertQuery({ at: toDate })],
    // JSON has no dates: they arrive as strings.
    create: ({ data }) => {
      for (const post of [data].flat()) post.at = new Date(post.at)
    },
  },
})
const server = await app.listen({ port: 0, host: '127.0.0.1' })
const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

// The client, which can run anywhere

const methods = { letters: letterOptions.methods }
const client = createClient<Services>({ baseURL, methods })

client.service('posts').on('created', (post) => console.log('created:', post.title))
const data = { title: 'Of tea', author: 'Ann', at: new Date() }
const post = await client.service('posts').create(data)
console.log('the date is a string:', post.at.slice(0, 4))

const page = await client.service('posts').find({ query: { author: 'Ann', $sort: { at: -1 } } })
console.log('found:', page.total, page.data[0]?.title)

const query = { $select: ['title'] as const }
const { title } = await client.service('posts').get(post._id, { query })
console.log('title:', title)

const route = { postId: post._id }
const found = await client.service('posts/:postId/comments').find({ route })
console.log('comments:', found.length)

const { sentAt } = await client.service('letters').send({ to: 'Ben' })
console.log('sent:', sentAt.slice(0, 4))

try {
  await client.service('posts').get('000000000000000000000000')
} catch (error) {
  if (!(error instanceof NotFound)) throw error
  console.log(error.code, error.message)
}

const controller = new AbortController()
const { signal } = controller
const call = client.service('posts').find({
  headers: { 'x-request-id': '7' },
  connection: { signal, timeoutMs: 5_000 },
})
controller.abort()
await call.catch((error) => console.log(error.name)) // AbortError

client.hooks({
  around: {
    all: [
      async ({ path, method }, next) => {
        console.log('calling:', path, method)
        await next()
      },
    ],
  },
})

class SearchClient extends FetchClient {
  override getQuery(query: Record<string, unknown>): string {
    return Object.keys(query).length === 0 ? '' : `?q=${encodeURIComponent(JSON.stringify(query))}`
  }
}

const other = createApp()
const headers = { 'x-program': 'example' }
other.configure(restClient(baseURL).fetch(fetch, { headers }))
const connection = restClient(baseURL).fetch(fetch, SearchClient)
other.use('search', connection.service('posts'))
console.log(await other.service('posts').get(post._id, { query: { $select: ['author'] } }))

try {
  await client.service('posts').remove(null, { query: { author: {} } })
} catch (error) {
  if (!(error instanceof ServiceError)) throw error
  console.log(error.message)
}

await client.service('posts').remove(post._id)
await app.close()
await mongo.close()
await embedded?.close()
