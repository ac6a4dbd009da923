import type { Collection } from 'mongodb'

const DUPLICATE = 11000

/**
 * Resolves to the key of the unique index that a list of new records broke, `{ email: 1 }`;
 * `undefined` for other errors, and where the index can not be told.
 *
 * The server sends the key, but of an error in `insertMany` the driver keeps the text alone. That
 * names the index before any value, so that no value of a caller can pass for a name.
 */
export async function findDuplicateKey(
  collection: Collection,
  thrown: unknown,
): Promise<object | undefined> {
  if (!isDuplicate(thrown)) return undefined
  const start = `E11000 duplicate key error collection: ${collection.namespace} index: `
  const ends = [' dup key: ', ' collation: ']
  try {
    const indexes = await collection.listIndexes().toArray()
    const broken = indexes.find(({ name }) =>
      ends.some((end) => thrown.message.startsWith(`${start}${name}${end}`)),
    )
    return broken?.key
  } catch {
    // The names are an addition: what the caller has to learn of is the duplicate.
    return undefined
  }
}

function isDuplicate(thrown: unknown): thrown is Error {
  return thrown instanceof Error && (thrown as { readonly code?: unknown }).code === DUPLICATE
}
