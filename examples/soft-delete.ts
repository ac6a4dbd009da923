// Notes that are only marked when they are removed, can be restored, and are deleted after 30 days. Try
// the lines it prints. `npx tsx node_modules/remex/examples/soft-delete.ts`. Reads PORT (3030), HOST
// (127.0.0.1) and MONGODB_URL (an embedded database by default).
import { fileURLToPath } from 'node:url'
import type { Db, ObjectId } from 'mongodb'
import type { FastifyApplication, Params } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBListService, ObjectIdSchema, softDelete } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const Id = ObjectIdSchema()
const NewNote = Type.Object({ text: Type.String() })
const Note = Type.Object({ _id: Id, ...NewNote.properties })
type Note = Static<typeof Note> & { readonly deletedAt?: Date }

class NoteService extends MongoDBListService<Note> {
  /** Restores a note. */
  async restore({ _id }: { _id: ObjectId }, { user }: Params): Promise<Note> {
    const data = { $unset: { deletedAt: '' } }
    const query = { deletedAt: { $ne: null } }
    return this.patch(_id, data, { user, query, withDeleted: true })
  }
}

type Services = { notes: NoteService }

/** Returns the application. */
export function createNotes(db: Db): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest({ methodPaths: true }))
  const days = 24 * 60 * 60
  const notes = new NoteService({
    Model: db.collection<Note>('notes'),
    // A record without this date is kept.
    indexes: [{ key: { deletedAt: 1 }, expireAfterSeconds: 30 * days }],
  })
  app.use('notes', notes, {
    methods: ['find', 'get', 'create', 'patch', 'remove', 'restore'],
    schemas: {
      entity: Note,
      create: NewNote,
      methods: { restore: { data: Type.Object({ _id: Id }), result: Note } },
    },
  })
  app.service('notes').hooks({ before: { all: [softDelete()] } })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = createNotes(client.db('remex_soft_delete'))
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}/notes`, "-H 'content-type: application/json'"]
  console.log(`Try

  curl ${url} ${json} -d '{"text":"Hello"}'
  ID=... # the _id from that response
  curl -X DELETE ${url}/$ID
  curl ${url}/$ID # 404
  curl ${url}/restore ${json} -d "{\\"_id\\":\\"$ID\\"}"

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
