// Articles by slug: /articles/how-to-fly. Try the lines it prints.
// `npx tsx node_modules/remex/examples/slugs.ts`. Reads PORT (3030), HOST (127.0.0.1) and MONGODB_URL
// (an embedded database by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication, Hook } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const NewArticle = Type.Object({
  title: Type.String({ minLength: 1, maxLength: 200 }),
  text: Type.String(),
})

const StoredArticle = Type.Object({
  _id: ObjectIdSchema(),
  slug: Type.String(),
  ...NewArticle.properties,
})
type Article = Static<typeof StoredArticle>

/** What callers get. The slug is the only id. */
const Article = Type.Omit(StoredArticle, ['_id'])

type Services = { articles: MongoDBListService<Article> }

/** Returns a title for a URL: `Wie man fliegt: Übung 1` becomes `wie-man-fliegt-ubung-1`. */
function toSlug(title: string): string {
  const letters = title.normalize('NFKD').replace(/\p{Mark}/gu, '')
  return (
    letters
      .toLowerCase()
      .match(/[a-z0-9]+/g)
      ?.join('-') ?? 'untitled'
  )
}

/** Makes the slug from the title. If it is taken, a random suffix is added. */
const addSlug: Hook<Services['articles'], 'create'> = async (context) => {
  const { title } = context.data as Article
  const slug = toSlug(title)
  const taken = await context.service.find({ query: { slug, $limit: 1 } })
  const end = taken.length === 0 ? '' : `-${randomBytes(3).toString('hex')}`
  context.data = { ...context.data, slug: slug + end }
}

/** Returns the application. */
export function createArticles(db: Db): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  const articles = new MongoDBService({
    Model: db.collection<Article>('articles'),
    id: 'slug',
    // A hook sets the id. Clients cannot, since no schema has the field.
    allowClientId: true,
    indexes: [{ key: { slug: 1 }, unique: true }],
  })
  app.use('articles', articles, {
    methods: ['find', 'get', 'create', 'patch'],
    schemas: { entity: Article, create: NewArticle },
  })
  app.service('articles').hooks({ before: { create: [addSlug] } })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = createArticles(client.db('remex_slugs'))
  await app.listen({ port: Number(PORT), host: HOST })
  const url = `http://${HOST}:${PORT}/articles`
  console.log(`Try

  curl ${url} -H 'content-type: application/json' -d '{"title":"How To Fly","text":"Flap."}'
  curl ${url}/how-to-fly

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
