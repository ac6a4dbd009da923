// A feed with "load more", and a loop over all its records, explained in docs/guides/pages.md.
// `npx tsx node_modules/remex/examples/pages.ts`. Ends by itself. Reads MONGODB_URL (an embedded
// database by default), and writes only to `remex_pages`.
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { createClient } from 'remex/client'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { DateSchema, querySyntax, Type } from 'remex/schema'

const Post = Type.Object({
  _id: ObjectIdSchema(),
  text: Type.String(),
  at: DateSchema(),
})
type Post = Static<typeof Post>

export type Services = { posts: MongoDBService<Post> }

/** Returns the application: posts that external callers can read. */
export function createFeed(db: Db): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  const posts = new MongoDBService({
    Model: db.collection<Post>('posts'),
    paginate: {
      default: 20,
      max: 100,
      secret: 'a secret of at least 32 bytes, from a vault',
    },
    // The order of the feed. `$sort` adds `_id`, in the direction of `at`.
    indexes: [{ key: { at: -1, _id: -1 } }],
  })
  app.use('posts', posts, {
    methods: ['find', 'get'],
    schemas: { entity: Post, query: querySyntax(Post) },
  })
  return app
}

/** Resolves to the texts of all posts of a server, newest first. */
export async function listTexts(baseURL: string): Promise<string[]> {
  const client = createClient<Services>({ baseURL })
  const texts: string[] = []
  const posts = client.service('posts').each({ query: { $sort: { at: -1 } } })
  for await (const post of posts) {
    texts.push(post.text)
  }
  return texts
}

/** A page of the feed over HTTP. */
interface FeedPage {
  readonly data: readonly { readonly text: string }[]
  readonly nextCursor: string | null
}

/** A feed in a page. It shows the newest posts, and more on each click. */
export class Feed {
  readonly shown: string[] = []
  readonly #url: string
  /** The cursor of the next page: `''` for the first page, `null` after the last one. */
  #next: string | null = ''

  constructor(baseURL: string) {
    this.#url = `${baseURL}/posts`
  }

  get hasMore(): boolean {
    return this.#next !== null
  }

  async loadMore(): Promise<void> {
    if (this.#next === null) return
    const query = new URLSearchParams({
      '$sort[at]': '-1',
      $limit: '2',
      $after: this.#next,
    })
    const response = await fetch(`${this.#url}?${query}`)
    if (!response.ok) throw new Error(`GET /posts returned ${response.status}`)
    const page = (await response.json()) as FeedPage
    this.shown.push(...page.data.map(({ text }) => text))
    this.#next = page.nextCursor
  }
}

async function main(): Promise<void> {
  const { MONGODB_URL } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongo = await connectMongoDB(MONGODB_URL ?? embedded?.url ?? '')
  const db = mongo.db('remex_pages')
  await db.dropDatabase()
  const app = createFeed(db)
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const minute of [1, 2, 3, 4, 5]) {
    await app.service('posts').create({ text: `post ${minute}`, at: new Date(minute * 60_000) })
  }
  console.log('all:', await listTexts(url))
  const feed = new Feed(url)
  while (feed.hasMore) await feed.loadMore()
  console.log('feed:', feed.shown)
  await app.close()
  await mongo.close()
  await embedded?.close()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
