// Pages with versions: nobody overwrites what somebody else has written meanwhile. Try the lines it prints.
// `npx tsx node_modules/remex/examples/versions.ts`. Reads PORT (3030), HOST (127.0.0.1) and
// MONGODB_URL (an embedded database when it is not set).
import { fileURLToPath } from 'node:url'
import type { Db, ObjectId } from 'mongodb'
import type { FastifyApplication, Hook } from 'remex'
import { Conflict, createApp, fastifyApp, NotFound, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const Id = Type.Unsafe<ObjectId>(ObjectIdSchema())

const NewPage = Type.Object({ text: Type.String({ maxLength: 10_000 }) })

/** A patch says which version it is made of. */
const PagePatch = Type.Object({ ...NewPage.properties, version: Type.Integer() })

const Page = Type.Object({ _id: Id, ...PagePatch.properties })
type Page = Static<typeof Page>

type Services = { pages: MongoDBListService<Page> }

/** Makes the version that the caller has read a condition of the write. */
const expectVersion: Hook<Services['pages'], 'patch'> = (context) => {
  const { version, ...data } = context.data as Static<typeof PagePatch>
  context.params.query = { ...context.params.query, version }
  context.data = { ...data, version: version + 1 }
}

/** A page with another version is not found: this answers 409 instead of 404. */
const tellConflict: Hook<Services['pages'], 'patch'> = async ({ error, id, service }) => {
  if (!(error instanceof NotFound) || id === null) return
  const { version } = await service.get(id)
  throw new Conflict('Somebody has changed the page', { version })
}

const addVersion: Hook<Services['pages'], 'create'> = (context) => {
  context.data = { ...context.data, version: 1 }
}

/** Returns the application. */
export function createPages(db: Db): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.use('pages', new MongoDBService({ Model: db.collection<Page>('pages') }), {
    methods: ['get', 'create', 'patch'],
    schemas: { entity: Page, create: NewPage, patch: PagePatch },
  })
  app.service('pages').hooks({
    before: { create: [addVersion], patch: [expectVersion] },
    error: { patch: [tellConflict] },
  })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = createPages(client.db('remex_versions'))
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Try

  curl ${url}/pages ${json} -d '{"text":"Hello"}'
  ID=... # the _id of that answer
  curl -X PATCH ${url}/pages/$ID ${json} -d '{"text":"Hello, you","version":1}' # twice: 409

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
