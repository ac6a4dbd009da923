import type { BulkWriteResult, Document, InsertManyResult } from 'mongodb'
import { ServiceError } from '../../core/errors/index.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { takeStep } from '../adapter-call.ts'
import type { Outcome } from '../driver-error.ts'
import { readOutcome, toDatabaseError, withOutcome } from '../driver-error.ts'
import { createWriteOptions } from '../mongodb-params.ts'
import { toStoredForm } from './stored-form.ts'
import { findDuplicateKey, pickCreated } from './write.ts'
import type { WriteData } from './write-data.ts'
import { createDocument } from './write-data.ts'
import { runAfterWrite, runOnMany, runSlices, SLICE } from './write-many.ts'

/**
 * Resolves to the new records in the order of the data. Of up to 1,000, all are stored or none.
 * @param toAnswer resolves to the result for inserted records. Default: the records
 * @throws {Conflict} a duplicate, with the fields, which a second command reads
 */
export async function insertRecords(
  call: AdapterCall,
  list: readonly WriteData[],
  toAnswer?: (call: AdapterCall, created: Document[]) => Promise<Document[]>,
): Promise<Document[]> {
  if (list.length === 0) return []
  const documents = list.map((data): NewDocument => {
    const document = takeStep(call, 'toNew', createDocument(data, call.settings))
    return { document, stored: toStoredForm(call, document) }
  })
  const insert = async (isolated: AdapterCall, slice: NewDocument[]): Promise<Document[]> => {
    const created = await insertDocuments(isolated, slice)
    if (toAnswer === undefined) return created
    return runAfterWrite(isolated, () => toAnswer(isolated, created))
  }
  // A single command stores one record or none. With `ordered: false`, everything that can be stored should
  // be.
  const isAlone = documents.length === 1 && toAnswer === undefined
  const isOne = isAlone || call.driver.ordered === false
  // Stages may combine all records into one result.
  const size = toAnswer === undefined ? SLICE : documents.length
  try {
    return await (isOne ? insert(call, documents) : runSlices(call, documents, size, insert))
  } catch (error) {
    throw await withBrokenFields(call, error)
  }
}

/** A document to insert, and its form when the driver reads it back. */
interface NewDocument {
  readonly document: Document
  readonly stored: Document
}

async function insertDocuments(call: AdapterCall, documents: NewDocument[]): Promise<Document[]> {
  const insert = (): Promise<InsertManyResult> =>
    call.collection.insertMany(
      documents.map(({ document }) => document),
      createWriteOptions(call.driver),
    )
  const isOne = documents.length === 1
  const { insertedIds } = await (isOne ? insert() : runOnMany(call, insert, readInsertOutcome))
  return documents.map(({ stored }, index) => pickCreated(call, stored, insertedIds[index]))
}

/**
 * Names the fields of a duplicate. Runs after the transaction, since its command would keep the transaction
 * open.
 */
async function withBrokenFields({ collection }: AdapterCall, thrown: unknown): Promise<unknown> {
  const { cause } = thrown instanceof ServiceError ? thrown : { cause: thrown }
  const key = await findDuplicateKey(collection, cause)
  if (key === undefined) return thrown
  const error = toDatabaseError(cause, key)
  const outcome = readOutcome(thrown)
  return outcome === undefined ? error : withOutcome(error, outcome)
}

/** Returns what an error of the server says about the records before the one that failed. */
function readInsertOutcome(thrown: unknown): Outcome | undefined {
  const { result } = thrown as { readonly result?: BulkWriteResult }
  const isTold = result?.ok === 1 && result.getWriteErrorCount() > 0
  if (!isTold) return 'unknown'
  return result.insertedCount > 0 ? 'partial' : undefined
}
