import type { Document } from 'bson'
import { CommandError } from '../errors.ts'
import { valuesAt } from '../values/field-paths.ts'
import type { Collection } from './collection.ts'
import { IndexKeys } from './index-keys.ts'
import type { Store } from './store.ts'

/** How often expired records are removed, in ms: as often as MongoDB does. */
const PERIOD_MS = 60_000

const MOST_SECONDS = 2 ** 31 - 1

/** Removes the records of a store that have expired, again and again. */
export class Expiry {
  readonly #timer: NodeJS.Timeout

  constructor(store: Store, now: () => number) {
    this.#timer = setInterval(() => removeExpired(store, now()), PERIOD_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

/** @throws {CommandError} 67 records can not expire by such an index */
export function checkExpiry({ key, expireAfterSeconds }: Document): void {
  if (expireAfterSeconds === undefined) return
  const isCount = Number.isInteger(expireAfterSeconds) && expireAfterSeconds >= 0
  if (!isCount || expireAfterSeconds > MOST_SECONDS) {
    throw new CommandError(67, `expireAfterSeconds must be from 0 to ${MOST_SECONDS}`)
  }
  if (Object.keys(key).length > 1) {
    throw new CommandError(67, 'An index with expireAfterSeconds has one field')
  }
}

function removeExpired({ databases }: Store, now: number): void {
  for (const collections of databases.values()) {
    for (const collection of collections.values()) {
      for (const spec of collection.indexes.values()) {
        if (spec.expireAfterSeconds !== undefined) removeByIndex(collection, spec, now)
      }
    }
  }
}

function removeByIndex(collection: Collection, spec: Document, now: number): void {
  const index = new IndexKeys(spec)
  const [path = ''] = Object.keys(spec.key)
  const latest = now - spec.expireAfterSeconds * 1_000
  for (const [key, document] of collection.records) {
    // Of several dates in a list the earliest counts; what is no date never expires.
    const values = valuesAt(document, path.split('.')).flat()
    const hasExpired = values.some((value) => value instanceof Date && value.getTime() <= latest)
    // What a transaction has written waits for the next time.
    const isFree = collection.ownerOf(key) === undefined
    if (hasExpired && isFree && index.covers(document)) collection.remove(key)
  }
}
