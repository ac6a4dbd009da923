import type { Binary, ClientSession, Collection } from 'mongodb'
import { BSON } from 'mongodb'
import type { HookContext } from '../../core/application-defaults.ts'
import { IdempotencyConflict } from '../../core/errors/coded-errors.ts'
import type { Conflict } from '../../core/errors/index.ts'
import { toExternalForm } from '../../core/external-form.ts'
import type { HttpAnswer } from '../../core/hooks/hook-context.ts'
import { hasMethod, isObject, isSingleValue } from '../../core/value-kind.ts'
import { FEATURES } from '../adapter-features.ts'
import { callDatabase, isAnswer, toDatabaseError } from '../driver-error.ts'
import { omitFields } from '../queries/select.ts'
import type { TransactionAttempt } from '../transactions/transaction-attempt.ts'
import { findTransaction } from '../transactions/transaction-attempt.ts'
import { listSecrets } from './record-hook.ts'

/** What `idempotent()` stores for a request. */
export interface StoredAnswer {
  /** A hash of the caller, a dot, and a hash of the key and the path, method and id of the call. */
  readonly _id: string
  /** Hash of the data and the query. */
  readonly fingerprint: string
  /** When the key expires, by the clock of the database. A TTL index removes the record afterwards. */
  readonly expiresAt: Date
  /**
   * BSON of the result and of what hooks have set for the HTTP response: `{ result, http }`. Missing if it was larger
   * than the options of the hook allow.
   */
  readonly answer?: Binary | Uint8Array
}

// biome-ignore lint/suspicious/noExplicitAny: the collection of a service of whatever type
export type AnswerStore = Collection<any>

/** The fields that identify a request. */
type RequestHashes = Pick<StoredAnswer, '_id' | 'fingerprint'>

/** Limits of what is stored for one caller. */
export interface AnswerLimits {
  /** Bytes of one answer. */
  readonly maxAnswerBytes: number
  /** With more keys than these, a caller has only answers of up to {@link SMALL_BYTES} stored. */
  readonly maxAnswers: number
}

/** The size in bytes up to which answers are always stored: they are hardly larger than the key. */
const SMALL_BYTES = 1_000

/** Server codes: another transaction, running or committed, has written the record. */
const TAKEN: ReadonlySet<unknown> = new Set([112, 11000])

/** Whether a stored key has not expired, by the database's clock, since the clocks of processes differ. */
const IS_CURRENT = { $gt: ['$expiresAt', '$$NOW'] }

/**
 * Stores a request, as the first command of the running transaction. It replaces one that has expired. It
 * does not wait if the same request is running: the error has no label that would repeat the transaction.
 * @throws the given error if the request is stored already, or running
 */
export function insertKey(
  collection: AnswerStore,
  { _id, fingerprint }: RequestHashes,
  expireAfterSeconds: number,
  taken: Conflict,
): Promise<void> {
  const expiresAt = { $add: ['$$NOW', expireAfterSeconds * 1_000] }
  const isNew = [
    { $replaceWith: { $cond: [IS_CURRENT, '$$ROOT', { _id, fingerprint, expiresAt }] } },
  ]
  return runHere(collection, async (session) => {
    try {
      const written = await collection.updateOne({ _id }, isNew, { session, upsert: true })
      if (written.upsertedCount + written.modifiedCount === 0) throw taken
    } catch (error) {
      throw isAnswer(error) && TAKEN.has(error.code) ? taken : error
    }
  })
}

/**
 * Stores the response to a request, as the last command of the transaction. It holds only what external
 * callers may see, since after hooks that remove fields do not run again for it. A response beyond the limits
 * is not stored, but the request is, so that it does not run again.
 * @throws {TypeError} the result is a stream or bytes
 */
export function writeAnswer(
  collection: AnswerStore,
  { _id }: RequestHashes,
  { maxAnswerBytes, maxAnswers }: AnswerLimits,
  context: HookContext,
): Promise<void> {
  const answer = serialize(context, maxAnswerBytes)
  return runHere(collection, async (session) => {
    if (answer === null) return
    if (answer.length > SMALL_BYTES) {
      // A range of `_id`, where `/` comes right after `.`. Requests that run at the same time are not counted.
      const [caller] = _id.split('.')
      const ofCaller = { _id: { $gt: `${caller}.`, $lt: `${caller}/` } }
      const count = await collection.countDocuments(ofCaller, { session, limit: maxAnswers + 1 })
      if (count > maxAnswers) return
    }
    await collection.updateOne({ _id }, { $set: { answer } }, { session })
  })
}

/** Resolves to a stored request that has not expired, with its answer; `null` for none. */
export function readAnswer(
  collection: AnswerStore,
  { _id }: RequestHashes,
): Promise<StoredAnswer | null> {
  return callDatabase(() =>
    collection.findOne(
      { _id, $expr: IS_CURRENT },
      // A result that a new primary could lose does not count.
      { readPreference: 'primary', readConcern: { level: 'majority' }, promoteBuffers: true },
    ),
  )
}

/**
 * Sets the result of a call to a stored answer. No event is emitted.
 * @throws {Conflict} the request is stored without its answer
 */
export function setAnswer(context: HookContext, { answer }: StoredAnswer): void {
  if (answer === undefined) {
    throw new IdempotencyConflict(
      'The first request with this Idempotency-Key succeeded, but its response was too large to be stored. Read the records that it has written',
      { isDone: true },
    )
  }
  const { result, http } = BSON.deserialize(answer as Uint8Array) as {
    readonly result?: unknown
    readonly http: HttpAnswer
  }
  context.result = result
  context.event = null
  const headers = { ...context.http?.headers, ...http.headers }
  context.http = { ...context.http, ...http, headers }
}

/** Runs a command in the current transaction, after the calls before it. */
function runHere(
  collection: AnswerStore,
  command: (session: ClientSession) => Promise<void>,
): Promise<void> {
  const attempt = findTransaction(collection.db.client) as TransactionAttempt
  return attempt.runNext(() => command(attempt.session))
}

/** Returns an answer as BSON, `null` if it has more than `maxBytes`. */
function serialize(
  { dispatch, http, method, result, service }: HookContext,
  maxBytes: number,
): Uint8Array | null {
  const shown = dispatch === undefined ? result : dispatch
  if (isObject(shown) && isStream(shown)) {
    throw new TypeError('idempotent(): a result of bytes or a stream cannot be stored')
  }
  const secrets = listSecrets(service)
  const { headers = {}, ...others } = http ?? {}
  const answer = {
    result: omitSecrets(toStored(toExternalForm(shown)), secrets),
    http: {
      ...Object.assign({}, ...FEATURES.map((one) => one.describeAnswer?.(service, method, result))),
      ...others,
      headers: omitFields(headers, Object.keys(headers).filter(isCookie)),
    },
  }
  try {
    // Measured first: larger answers do not fit into the buffer of the driver.
    return BSON.calculateObjectSize(answer) > maxBytes ? null : BSON.serialize(answer)
  } catch (error) {
    throw toDatabaseError(error)
  }
}

/** Cookies are secrets, and the hooks of each request set them again. */
function isCookie(name: string): boolean {
  return name.toLowerCase() === 'set-cookie'
}

function isStream(value: object): boolean {
  const isOne = ['pipe', 'getReader', 'arrayBuffer'].some((name) => hasMethod(value, name))
  return isOne || ArrayBuffer.isView(value)
}

/** Returns a value as in its JSON, except for dates, ids and other database types. */
function toStored(value: unknown): unknown {
  if (!isObject(value) || (isSingleValue(value) && !ArrayBuffer.isView(value))) return value
  if (Array.isArray(value)) return value.map(toStored)
  if (hasMethod(value, 'toJSON')) return toStored((value as { toJSON(): unknown }).toJSON())
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toStored(one)]))
}

/**
 * Returns a record or a list without these fields, and without those of records in a list `data`: a custom method may
 * return a page.
 */
function omitSecrets(result: unknown, secrets: readonly string[]): unknown {
  if (!isObject(result) || isSingleValue(result)) return result
  const kept = omitFields(result, secrets)
  const { data } = kept as { readonly data?: unknown }
  return Array.isArray(data) ? { ...kept, data: omitFields(data, secrets) } : kept
}
