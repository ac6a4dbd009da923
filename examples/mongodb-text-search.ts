// Searches notes by their words. Reads MONGODB_URL (an embedded database by default), and writes only to
// `remex_text_search`.
// `npx tsx node_modules/remex/examples/mongodb-text-search.ts`. Ends by itself.
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { Application, HookContext } from 'remex/core'
import { createApp } from 'remex/core'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService, MongoDBParams } from 'remex/mongodb'
import { MongoDBService } from 'remex/mongodb'

interface Note {
  _id: number
  title: string
  body: string
  draft?: string
  score?: number
}

type Notes = Application<{ notes: MongoDBListService<Note> }>

/** Registers the service `notes`. `app.setup()` creates its index. */
export function addNotes(app: Notes, db: Db): void {
  app.use(
    'notes',
    new MongoDBService({
      Model: db.collection<Note>('notes'),
      multi: ['create'],
      hidden: ['draft'],
      filters: { $search: true },
      indexes: [
        {
          key: { title: 'text', body: 'text' },
          weights: { title: 5 },
          default_language: 'none',
        },
      ],
    }),
  )
  app.service('notes').hooks({ before: { find: [byRelevance] } })
}

/** Sorts a search by relevance, unless the caller asks for another order. */
function byRelevance(context: HookContext): void {
  const params: MongoDBParams = context.params
  const { $search, $sort } = params.query ?? {}
  if ($search === undefined || $sort !== undefined) return
  params.docdb ??= { sort: { score: { $meta: 'textScore' }, _id: 1 } }
}

/** Resolves to the three notes that match best, each with its score. */
export async function findBest(app: Notes, words: string): Promise<Note[]> {
  return app.service('notes').find({
    query: { $search: words, $limit: 3 },
    paginate: false,
    docdb: {
      projection: { score: { $meta: 'textScore' } },
      sort: { score: { $meta: 'textScore' } },
    },
  })
}

async function main(): Promise<void> {
  const { MONGODB_URL } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const client = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
  const db = client.db('remex_text_search')
  await db.dropDatabase()
  const app: Notes = createApp()
  addNotes(app, db)
  await app.setup()
  const notes = app.service('notes')
  await notes.create([
    { _id: 1, title: 'Green tea', body: 'Three minutes, not hotter than 80 degrees.' },
    { _id: 2, title: 'Coffee', body: 'Stronger than tea.' },
    { _id: 3, title: 'Café con leche', body: 'With hot milk.', draft: 'tea, perhaps' },
  ])
  for (const $search of ['tea', 'cafe coffee', '"hot milk"', 'tea -coffee']) {
    console.log(`${$search}:`, JSON.stringify(await notes.find({ query: { $search } })))
  }
  console.log('best:', JSON.stringify(await findBest(app, 'tea')))
  await app.teardown()
  await db.dropDatabase()
  await client.close()
  await embedded?.close()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
