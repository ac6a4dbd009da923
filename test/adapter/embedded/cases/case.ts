import type { Collection, Db, Document } from 'mongodb'
import { MongoServerError } from 'mongodb'

/** A collection of a case; the `_id` of a document that names none is its index. */
export type CaseCollection = Collection<Document & { _id: unknown }>

/** What MongoDB does: the answer that the source says, or the error with this code. */
export interface Case {
  readonly title: string
  readonly documents: readonly Document[]
  readonly ask: (collection: CaseCollection, database: Db) => Promise<unknown>
  readonly answer: unknown
  /** The page of MongoDB's manual, or the test of its server, that says so. */
  readonly source: string
  /** The code by which the embedded server refuses what MongoDB answers. */
  readonly refusal: number | undefined
}

/** Asks a collection what a row has for a question. */
export type Ask<Question> = (
  collection: CaseCollection,
  question: Question,
  database: Db,
) => Promise<unknown>

/** The last one is the code of the refusal, for what only MongoDB answers. */
export type Row<Question> = readonly [
  documents: readonly Document[],
  question: Question,
  answer: unknown,
  refusal?: number,
]

/** Rows by their titles. */
export type Rows<Question> = Readonly<Record<string, Row<Question>>>

/** Rows without their documents. */
export type RowsOver<Question> = Readonly<
  Record<string, readonly [question: Question, answer: unknown, refusal?: number]>
>

/** Returns rows that are all about the same documents. */
export function over<Question>(
  documents: readonly Document[],
  rows: RowsOver<Question>,
): Rows<Question> {
  return Object.fromEntries(
    Object.entries(rows).map(([title, row]) => [title, [documents, ...row] as const]),
  )
}

/** Returns the same rows by other titles. */
export function renamed<T>(rows: Readonly<Record<string, T>>, rename: (title: string) => string) {
  return Object.fromEntries(Object.entries(rows).map(([title, row]) => [rename(title), row]))
}

/** Returns the cases of rows that have one source and ask in one way. */
export function casesOf<Question>(
  source: string,
  ask: Ask<Question>,
  rows: Rows<Question>,
): Case[] {
  return Object.entries(rows).map(([title, [documents, question, answer, refusal]]) => ({
    title,
    documents,
    ask: (collection, database) => ask(collection, question, database),
    answer,
    source,
    refusal,
  }))
}

/** The answer that is an error with this code, and with these details where they are named. */
export function fails(code: number, details: Document = {}): Document {
  return { $fails: code, ...details }
}

/** Resolves to an answer, or to the error in the form of `fails()`. */
export async function answerOf(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error
    const { keyPattern, keyValue } = error
    const details = keyPattern === undefined ? {} : { keyPattern, keyValue }
    return fails(Number(error.code), details)
  }
}

/** Asks for the `_id`s of the documents that a filter finds. */
export const found: Ask<Document> = async (collection, filter) => {
  const documents = await collection.find(filter).toArray()
  return documents.map(({ _id }) => _id)
}

/** Asks for the documents that a pipeline results in. */
export const results: Ask<Document[]> = (collection, pipeline) =>
  collection.aggregate(pipeline).toArray()

/** Asks for the value that an expression has over the only document; none is `undefined`. */
export const value: Ask<unknown> = async (collection, expression) => {
  // Beside another field the value may be missing, and a document is no sub-projection.
  const [computed] = await collection.aggregate([{ $replaceWith: { value: expression } }]).toArray()
  return computed?.['value']
}

/** Asks in a way of its own. */
export const calling: Ask<(collection: CaseCollection, database: Db) => Promise<unknown>> = (
  collection,
  ask,
  database,
) => ask(collection, database)

/** Asks for the reply to a command on the collection, without what every reply has. */
export const commanding: Ask<Document> = async (collection, { ...command }, database) => {
  const [name = ''] = Object.keys(command)
  const reply = await database.command({ ...command, [name]: collection.collectionName })
  const [error] = reply['writeErrors'] ?? []
  if (error !== undefined) return fails(error.code)
  const { ok: _ok, $clusterTime: _clusterTime, operationTime: _time, ...rest } = reply
  return rest
}

/** MongoDB's manual. */
export const MANUAL = 'https://www.mongodb.com/docs/v7.0'
/** The tests and the code of MongoDB's server. */
export const SERVER = 'https://github.com/mongodb/mongo/blob'
