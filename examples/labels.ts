// The first lines of docs/reference/schemas.md: one declaration of a record, and all that follows from it.
// `npx tsx node_modules/remex/examples/labels.ts`, after `npm install mongodb @fastify/swagger
// @fastify/swagger-ui yaml`. Reads PORT (3030) and MONGODB_URL.
import { createApp, fastifyApp, openapi, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const Id = ObjectIdSchema()
const Label = Type.Object({
  _id: Id,
  name: Type.String({ minLength: 1, maxLength: 30 }),
})
type Label = Static<typeof Label>

// Your MongoDB, or one inside this process that keeps no data.
const url = process.env['MONGODB_URL'] ?? (await startEmbeddedMongo()).url
const db = (await connectMongoDB(url)).db('remex_labels')

const app = fastifyApp(createApp())
app.configure(rest())
const Model = db.collection<Label>('labels')
app.use('labels', new MongoDBService({ Model }), {
  schemas: { entity: Label, create: Type.Omit(Label, ['_id']) },
})
app.configure(openapi({ info: { title: 'Labels', version: '1.0.0' } }))
await app.listen(Number(process.env['PORT'] ?? 3030))
