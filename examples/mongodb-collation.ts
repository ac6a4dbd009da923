// Compares names without case. Reads MONGODB_URL (an embedded database by default), and writes only to
// `remex_collation`.
// `npx tsx node_modules/remex/examples/mongodb-collation.ts`. Ends by itself.
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { Application } from 'remex/core'
import { createApp } from 'remex/core'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService, MongoDBParams } from 'remex/mongodb'
import { MongoDBService } from 'remex/mongodb'

interface Person {
  _id: number
  name: string
}

type People = Application<{ people: MongoDBListService<Person> }>

const collation = { locale: 'en', strength: 2 }

const ignoreCase = ({ params }: { params: MongoDBParams }) => {
  params.collation ??= collation
}

/** Registers the service `people`. `app.setup()` creates its index. */
export function addPeople(app: People, db: Db): void {
  app.use(
    'people',
    new MongoDBService({
      Model: db.collection<Person>('people'),
      multi: true,
      indexes: [{ key: { name: 1 }, unique: true, collation }],
    }),
  )
  app.service('people').hooks({ before: { all: [ignoreCase] } })
}

async function main(): Promise<void> {
  const { MONGODB_URL } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const client = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
  const db = client.db('remex_collation')
  await db.dropDatabase()
  const app: People = createApp()
  addPeople(app, db)
  await app.setup()
  const people = app.service('people')
  await people.create(['bob', 'Ann', 'Émile', 'Zoe', 'eve'].map((name, _id) => ({ _id, name })))

  const found = await people.find({ query: { name: 'ANN' } })
  const sorted = await people.find({ query: { $sort: { name: 1 } } })
  const exact = await people.find({ query: { name: 'ANN' }, collation: { locale: 'simple' } })

  console.log('found:', JSON.stringify(found))
  console.log('sorted:', JSON.stringify(sorted))
  console.log('exact:', JSON.stringify(exact))
  console.log('again:', await people.create({ _id: 9, name: 'BOB' }).catch(String))
  await app.teardown()
  await db.dropDatabase()
  await client.close()
  await embedded?.close()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
