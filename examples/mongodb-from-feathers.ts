// A service class of a FeathersJS 5 application, on Remex.
// docs/reference/differences-from-feathers.md lists the differences.
// `npx tsx node_modules/remex/examples/mongodb-from-feathers.ts`. Ends by itself. Reads MONGODB_URL
// (an embedded database by default), and writes only to `remex_posts`.
import type { Db } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { Application, Page } from 'remex/core'
import { createApp } from 'remex/core'
import { startEmbeddedMongo } from 'remex/embedded'
import type { AdapterId, MongoDBOptions, MongoDBParams, PageSize } from 'remex/mongodb'
import { MongoDBService } from 'remex/mongodb'

export interface Post {
  _id: AdapterId
  title: string
  likes: number
  draft: boolean
}

export type PostData = Omit<Post, '_id'>

export class PostService extends MongoDBService<Post, PostData> {
  /** Drafts are found only if the query asks for them. */
  override find(params: MongoDBParams & { paginate: false }): Promise<Post[]>
  override find(params?: MongoDBParams): Promise<Page<Post>>
  override async find(params?: MongoDBParams): Promise<Page<Post> | Post[]> {
    const query = await this.sanitizeQuery(params)
    return this._find({ ...params, query: { draft: false, ...query } })
  }

  /** A custom method, on the collection itself. */
  async mostLiked(): Promise<string[]> {
    const collection = await this.getModel()
    const posts = await collection.find().sort({ likes: -1 }).limit(3).toArray()
    return posts.map((post) => post['title'])
  }
}

export const getOptions = (db: Promise<Db>): MongoDBOptions & { paginate: PageSize } => ({
  Model: db.then((opened) => opened.collection('posts')),
  paginate: { default: 2, max: 50 },
  multi: ['create', 'patch'],
  operators: ['$regex', '$options'],
})

type Services = { posts: PostService }

/** Adds the service, with a hook that counts in a pipeline. */
export function addPosts(app: Application<Services>, db: Promise<Db>): void {
  app.use('posts', new PostService(getOptions(db)), {
    methods: ['find', 'get', 'create', 'patch', 'mostLiked'],
  })
  app.service('posts').hooks({
    before: {
      get: [
        (context) => {
          const words = { $size: { $split: ['$title', ' '] } }
          context.params.pipeline = [{ $feathers: {} }, { $addFields: { words } }]
        },
      ],
    },
  })
}

const { MONGODB_URL } = process.env
const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
const client = new MongoClient(MONGODB_URL ?? embedded?.url ?? '')
const db = client.connect().then((connected) => connected.db('remex_posts'))
await (await db).dropDatabase()

const app = createApp<Services>()
addPosts(app, db)
const posts = app.service('posts')
const titles = ['Of tea', 'Of cups and pots', 'Of nothing yet']
await posts.create(titles.map((title, likes) => ({ title, likes, draft: likes === 2 })))

const page = await posts.find({ query: { $sort: { likes: -1 } } })
console.log('found:', JSON.stringify(page))
const [first] = await posts.find({ query: { title: { $regex: 'tea' } }, paginate: false })
if (first !== undefined) {
  console.log('got:', JSON.stringify(await posts.get(first._id)))
  await posts.patch(first._id, { $inc: { likes: 5 } }, { mongodb: { maxTimeMS: 1_000 } })
}
console.log('most liked:', await posts.mostLiked())

await client.close()
await embedded?.close()
