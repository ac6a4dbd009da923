import type { Binary, ClientSession, Collection } from 'mongodb'
import { BSON } from 'mongodb'
import type { HookContext } from '../../core/application-defaults.ts'
import type { Conflict } from '../../core/errors/index.ts'
import { PayloadTooLarge } from '../../core/errors/index.ts'
import { toExternalForm } from '../../core/external-form.ts'
import type { HttpAnswer } from '../../core/hooks/hook-context.ts'
import { answersRecord, findVersionTag } from '../../core/services/record-version.ts'
import { hasMethod, isObject, isSingleValue } from '../../core/value-kind.ts'
import { callDatabase, isAnswer, toDatabaseError } from '../driver-error.ts'
import { omitFields } from '../queries/select.ts'
import type { TransactionAttempt } from '../transactions/transaction-attempt.ts'
import { findTransaction } from '../transactions/transaction-attempt.ts'
import { listSecrets } from './record-hook.ts'

/** What `idempotent()` stores of a request. */
export interface StoredAnswer {
  /** Hash of the key, the caller, and the path, method and id that were called. */
  readonly _id: string
  /** Hash of the data and the query. */
  readonly fingerprint: string
  /** When it can not be repeated any more; a TTL index removes it afterwards. */
  readonly expiresAt: Date
  /** BSON of the result and what hooks have said about the HTTP answer: `{ result, http }`. */
  readonly answer?: Binary | Uint8Array
}

// biome-ignore lint/suspicious/noExplicitAny: the collection of a service of whatever type
export type AnswerStore = Collection<any>

/** How a request is found again. */
type RequestHashes = Pick<StoredAnswer, '_id' | 'fingerprint'>

/** The largest answer in bytes: the limit of MongoDB is that of a record, 16 MiB. */
const MAX_ANSWER_BYTES = 16_000_000

/** Codes of the server: another transaction, or one that is committed, has written the record. */
const TAKEN: ReadonlySet<unknown> = new Set([112, 11000])

/**
 * Inserts a request, as the first command of the transaction that is running here. Nobody waits for another
 * request that runs: the error has no label by which the transaction would be repeated.
 * @throws the given error where the request is there, or runs
 */
export function insertKey(
  collection: AnswerStore,
  request: RequestHashes,
  expireAfterSeconds: number,
  taken: Conflict,
): Promise<void> {
  const expiresAt = new Date(Date.now() + expireAfterSeconds * 1_000)
  return runHere(collection, async (session) => {
    try {
      await collection.insertOne({ ...request, expiresAt }, { session })
    } catch (error) {
      throw isAnswer(error) && TAKEN.has(error.code) ? taken : error
    }
  })
}

/**
 * Stores the answer to a request, as the last command of the transaction: what callers outside may see of the
 * result. After hooks that keep fields from them do not run again for it.
 * @throws {PayloadTooLarge} the answer is larger than a record can be
 * @throws {TypeError} the result is a stream or bytes
 */
export function writeAnswer(
  collection: AnswerStore,
  { _id }: RequestHashes,
  context: HookContext,
): Promise<void> {
  const answer = serialize(context)
  return runHere(collection, async (session) => {
    await collection.updateOne({ _id }, { $set: { answer } }, { session })
  })
}

/** Resolves to the stored request, with its answer. */
export function readAnswer(
  collection: AnswerStore,
  { _id }: RequestHashes,
): Promise<StoredAnswer | null> {
  return callDatabase(() =>
    collection.findOne(
      { _id },
      // An answer that a new primary could lose again is none.
      { readPreference: 'primary', readConcern: { level: 'majority' }, promoteBuffers: true },
    ),
  )
}

/** Removes an answer that has expired; the database does so at times of its own. Resolves to whether it had. */
export async function removeExpired(
  collection: AnswerStore,
  { _id, expiresAt }: StoredAnswer,
): Promise<boolean> {
  if (expiresAt.getTime() > Date.now()) return false
  await callDatabase(() => collection.deleteOne({ _id, expiresAt }))
  return true
}

/** Answers a call by a stored answer; no event is emitted. */
export function setAnswer(context: HookContext, { answer }: StoredAnswer): void {
  const { result, http } = BSON.deserialize(answer as Uint8Array) as {
    readonly result?: unknown
    readonly http: HttpAnswer
  }
  context.result = result
  context.event = null
  const headers = { ...context.http?.headers, ...http.headers }
  context.http = { ...context.http, ...http, headers }
}

/** Runs a command in the transaction that is running here, after the calls before it. */
function runHere(
  collection: AnswerStore,
  command: (session: ClientSession) => Promise<void>,
): Promise<void> {
  const attempt = findTransaction(collection.db.client) as TransactionAttempt
  return attempt.runNext(() => command(attempt.session))
}

function serialize({ dispatch, http, method, result, service }: HookContext): Uint8Array {
  const shown = dispatch === undefined ? result : dispatch
  if (isObject(shown) && isStream(shown)) {
    throw new TypeError('idempotent(): a result of bytes or a stream can not be kept')
  }
  const secrets = listSecrets(service)
  const { headers = {}, ...others } = http ?? {}
  const answer = {
    result: omitSecrets(toStored(toExternalForm(shown)), secrets),
    http: {
      ...(answersRecord(method, result) && { etag: findVersionTag(service, result) }),
      ...others,
      headers: omitFields(headers, Object.keys(headers).filter(isCookie)),
    },
  }
  try {
    const bytes = BSON.serialize(answer)
    if (bytes.length <= MAX_ANSWER_BYTES) return bytes
  } catch (error) {
    throw toDatabaseError(error)
  }
  throw new PayloadTooLarge('The answer is larger than what can be kept for its Idempotency-Key')
}

/** Cookies are secrets, and set anew by the hooks of each request. */
function isCookie(name: string): boolean {
  return name.toLowerCase() === 'set-cookie'
}

function isStream(value: object): boolean {
  const isOne = ['pipe', 'getReader', 'arrayBuffer'].some((name) => hasMethod(value, name))
  return isOne || ArrayBuffer.isView(value)
}

/** Returns a value as its JSON shows it, but for dates, ids and other types of the database. */
function toStored(value: unknown): unknown {
  if (!isObject(value) || (isSingleValue(value) && !ArrayBuffer.isView(value))) return value
  if (Array.isArray(value)) return value.map(toStored)
  if (hasMethod(value, 'toJSON')) return toStored((value as { toJSON(): unknown }).toJSON())
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toStored(one)]))
}

/** Returns a record, a list or a page without these fields. */
function omitSecrets(result: unknown, secrets: readonly string[]): unknown {
  if (!isObject(result) || isSingleValue(result)) return result
  const { data } = result
  if (!Array.isArray(result) && Array.isArray(data)) {
    return { ...result, data: omitSecrets(data, secrets) }
  }
  return omitFields(result, secrets)
}
