import { EJSON } from 'bson'
import type { ClientSession, Db, Document, MongoClient } from 'mongodb'
import { MongoServerError, Timestamp } from 'mongodb'
import type { Operation } from './operations.ts'
import { COLLECTION } from './operations.ts'

/** One of the two that are compared: a database, and how a command is run on it. */
export interface Side {
  readonly database: Db
  /** Resolves to the reply to a command, or to one that does the same. */
  readonly run: (command: Document) => Promise<Document>
}

/** What an operation has led to: its answer as text and, of a write, the documents that are there now. */
export interface Outcome {
  readonly answer: string
  readonly documents: readonly Document[]
}

/** The answer that the embedded server gives where it refuses something by name. */
export const REFUSED = 'refused'

/** Returns the side that runs commands as they are. */
export function createSide(database: Db): Side {
  return { database, run: (command) => database.command(command) }
}

/** Resolves to what an operation leads to on one side. */
export async function runOn(side: Side, { command, isWrite }: Operation): Promise<Outcome> {
  const answer = await answerOf(side.run(command))
  return { answer, documents: isWrite ? await documentsOf(side) : [] }
}

/** Resolves to all documents of a side. */
export function documentsOf({ database }: Side): Promise<Document[]> {
  return database.collection(COLLECTION).find().sort({ _id: 1 }).toArray()
}

/** Makes the collection anew, with these documents and indexes. */
export async function reset(
  { database }: Side,
  documents: readonly Document[],
  indexes: readonly Document[],
): Promise<void> {
  await database.dropDatabase()
  if (documents.length > 0) await database.collection(COLLECTION).insertMany([...documents])
  if (indexes.length > 0) await database.command({ createIndexes: COLLECTION, indexes })
}

async function answerOf(reply: Promise<Document>): Promise<string> {
  try {
    return toAnswer(await reply)
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error
    return toFailure(error.code, error.message)
  }
}

function toFailure(code: unknown, message: string): string {
  return message.includes('not supported by the embedded server') ? REFUSED : `error ${code}`
}

function toAnswer(reply: Document): string {
  const [error] = reply['writeErrors'] ?? []
  if (error !== undefined) return toFailure(error.code, error.errmsg)
  if (reply['cursor'] !== undefined) return reply['cursor'].firstBatch.map(print).join('\n')
  if (reply['values'] !== undefined) return reply['values'].map(print).toSorted().join('\n')
  const { n, nModified, upserted, value, lastErrorObject } = reply
  return print({ n: n ?? lastErrorObject?.n, nModified, upserted, value })
}

/** Returns a value as text, with its types and the order of its fields. */
export function print(value: unknown): string {
  return EJSON.stringify(replaceTimes(value), { relaxed: true })
}

/** A time that the server has set is another one on each side; zero has one sign only. */
function replaceTimes(value: unknown): unknown {
  const recent = Date.now() - 3_600_000
  if (value instanceof Date) return value.getTime() > recent ? 'now' : value
  if (value instanceof Timestamp) return value.t * 1000 > recent ? 'now' : value
  if (value === 0) return 0
  if (Array.isArray(value)) return value.map(replaceTimes)
  if (typeof value !== 'object' || value === null || '_bsontype' in value) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, replaceTimes(child)]),
  )
}

/** Returns the side that runs each command in another form, which has to lead to the same. */
export function createOtherSide(client: MongoClient, database: Db): Side {
  const forms: Readonly<Record<string, (command: Document) => Promise<Document>>> = {
    find: async ({ filter, sort, skip = 0, limit = 0, projection = {} }) => {
      const pipeline = [
        { $match: filter },
        { $sort: sort },
        { $skip: skip },
        ...(limit > 0 ? [{ $limit: limit }] : []),
        ...(Object.keys(projection).length > 0 ? [{ $project: projection }] : []),
      ]
      return database.command({ aggregate: COLLECTION, pipeline, cursor: { batchSize: 1000 } })
    },
    count: async ({ query }) => {
      const found = await database
        .collection(COLLECTION)
        .aggregate([{ $match: query }])
        .toArray()
      return { n: found.length }
    },
    aggregate: async ({ pipeline, ...command }) => {
      const inner = [
        { $facet: { results: pipeline } },
        { $unwind: '$results' },
        { $replaceWith: '$results' },
      ]
      const isNested = pipeline.some((stage: Document) => '$facet' in stage)
      return database.command({ ...command, pipeline: isNested ? pipeline : inner })
    },
    update: async (command) => {
      const [statement] = command['updates']
      return statement.multi === true && statement.upsert !== true
        ? updateEach(database, statement)
        : inTransaction(client, database, command)
    },
  }
  return {
    database,
    run: (command) => {
      const [name = ''] = Object.keys(command)
      return forms[name]?.(command) ?? inTransaction(client, database, command)
    },
  }
}

/** Runs an update of all documents on one after the other. */
async function updateEach(
  database: Db,
  { multi: _multi, ...statement }: Document,
): Promise<Document> {
  const documents = await database.collection(COLLECTION).find(statement['q']).toArray()
  const sum = { n: 0, nModified: 0 }
  // Without a document the update itself may still be one that is refused.
  const filters = documents.length === 0 ? [statement['q']] : documents.map(({ _id }) => ({ _id }))
  for (const filter of filters) {
    const q = { $and: [statement['q'], filter].filter((one) => Object.keys(one).length > 0) }
    const one = { ...statement, q: q.$and.length === 0 ? {} : q }
    const reply = await database.command({ update: COLLECTION, updates: [one] })
    if (reply['writeErrors'] !== undefined) return reply
    sum.n += reply['n']
    sum.nModified += reply['nModified']
  }
  return sum
}

async function inTransaction(
  client: MongoClient,
  database: Db,
  command: Document,
): Promise<Document> {
  const session: ClientSession = client.startSession()
  try {
    session.startTransaction()
    const reply = await database.command(command, { session })
    await session.commitTransaction()
    return reply
  } catch (error) {
    if (session.inTransaction()) await session.abortTransaction()
    throw error
  } finally {
    await session.endSession()
  }
}
