// The types of a MongoDB service, explained in docs/reference/mongodb-types.md.
// `npx tsx node_modules/remex/examples/mongodb-types.ts`. Ends by itself. Reads MONGODB_URL (an
// embedded database by default), and writes only to `remex_types`.
import type { ObjectId } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { Hook, RecordQuery } from 'remex/core'
import { createApp } from 'remex/core'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBParams } from 'remex/mongodb'
import { MongoDBListService, MongoDBService } from 'remex/mongodb'

const { MONGODB_URL } = process.env
const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
const client = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
const db = client.db('remex_types')
await db.dropDatabase()

interface Post {
  _id: ObjectId
  title: string
  tags: string[]
  author: string
}

const posts = new MongoDBService({
  Model: db.collection<Post>('posts'),
  paginate: { default: 10 },
})
await posts.create({ title: 'Of tea', tags: ['cups'], author: 'Ann' })

const page = await posts.find({
  query: { tags: { $in: ['cups', 'pots'] }, $sort: { title: 1 } },
})
console.log('found:', page.total, page.data[0]?.author)

const titles = await posts.find({
  query: { $select: ['title'] },
  paginate: false,
})
console.log('titles:', titles.map(({ title }) => title).join())

/** What callers send. */
type DraftData = Pick<Post, 'title' | 'tags'>

class DraftService extends MongoDBListService<
  Post,
  DraftData,
  MongoDBParams<RecordQuery<Post> & { $populate?: string }>
> {
  /** Internal calls may write every field of a record. */
  async copy(id: ObjectId): Promise<Post> {
    const { _id, ...fields } = await this.get(id)
    return this._create({ ...fields, title: `Copy of ${fields.title}` })
  }
}

/** Hooks may add fields as well. */
const addAuthor: Hook<DraftService, 'create'> = ({ data }) => {
  for (const draft of [data].flat()) Object.assign(draft, { author: 'Ben' })
}

/** Fits every method of every service. */
const trace: Hook = ({ path, method, id }) => console.log('called:', path, method, String(id ?? ''))

const app = createApp<{ posts: typeof posts; drafts: DraftService }>()
app.use('posts', posts).use('drafts', new DraftService({ Model: db.collection('drafts') }))
app.service('posts').hooks({ before: { get: [trace], patch: [trace] } })
app.service('drafts').hooks({ before: { all: [trace], create: [addAuthor] } })

const drafts = app.service('drafts')
const draft = await drafts.create({ title: 'Of pots', tags: [] })
await drafts.copy(draft._id)
console.log(
  'drafts:',
  (await drafts.find()).map(({ title, author }) => `${title}, ${author}`),
)

await client.close()
await embedded?.close()
