import { createHash } from 'node:crypto'
import type { AnyApplication } from '../../core/app.ts'
import type { AroundHook, HookContext } from '../../core/application-defaults.ts'
import {
  IdempotencyConflict,
  IdempotencyKeyReused,
  InvalidIdempotencyKey,
  LoginRequired,
} from '../../core/errors/coded-errors.ts'
import type { Conflict } from '../../core/errors/index.ts'
import { HookError, OptionError } from '../../core/errors/setup-errors.ts'
import { describeFunction, nameFunction } from '../../core/function-metadata.ts'
import { runRest } from '../../core/hooks/around-hooks.ts'
import { toMethodSpec } from '../../core/method-table.ts'
import type { OptionRule, OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import type { Params } from '../../core/params.ts'
import { readUserId } from '../../core/user-id.ts'
import { HooklessService } from '../hookless-service.ts'
import { transaction } from '../transactions/transaction.ts'
import { findTransaction } from '../transactions/transaction-attempt.ts'
import type { RecordService } from './record-hook.ts'
import { requireService, requireStore } from './record-hook.ts'
import type { AnswerStore } from './stored-answer.ts'
import { insertKey, readAnswer, setAnswer, writeAnswer } from './stored-answer.ts'

/** Options of {@link idempotent}. */
export interface IdempotentOptions {
  /** The path of the service that stores the results. */
  readonly service: string
  /** How long a result can be repeated, in seconds, up to a year. Default: 86,400, a day. */
  readonly expireAfterSeconds?: number
  /** Whether external callers must send a key. Default: `false`. */
  readonly required?: boolean
  /**
   * Bytes of the largest result that is stored, up to 16,000,000. For a larger one only the key is stored: the request
   * does not run again, and its repeat throws `Conflict`. Default: 65,536.
   */
  readonly maxAnswerBytes?: number
  /**
   * How many keys of one caller are stored before only results of up to 1,000 bytes are stored with their keys.
   * Default: 1,000.
   */
  readonly maxAnswers?: number
  /**
   * Returns a value that identifies the caller, or a promise of it: its JSON must be unique to the caller.
   * Default: the `_id` or `id` of `params.user`, else the claim `sub`, and the API key. `null` or
   * `undefined`: the hook rejects keys.
   */
  readonly by?: (params: Params) => unknown
}

const RULES: OptionRules = {
  service: OPTION.string,
  expireAfterSeconds: countUpTo(366 * 86_400, 'seconds'),
  required: OPTION.boolean,
  // MongoDB limits a record to 16 MiB.
  maxAnswerBytes: countUpTo(16_000_000, 'bytes'),
  maxAnswers: OPTION.positiveInteger,
  by: OPTION.function,
}

function countUpTo(max: number, unit: string): OptionRule {
  return {
    expected: `a whole number of ${unit} from 1 to ${max}`,
    isValid: (value) => OPTION.positiveInteger.isValid(value) && Number(value) <= max,
  }
}

/** A structured string of visible characters, with or without quotes. @see RFC 8941 §3.3.3 */
const KEY = /^("?)([!#-+\--[\]-~]{1,255})\1$/

const KEY_DESCRIPTION = 'Names the request: one that is repeated with the same key runs once.'

/** The index that lets the database remove expired results. */
const TTL_INDEX = '{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }'

/**
 * Returns an around hook that runs external writes once for each `Idempotency-Key`: the result is stored in
 * the transaction of the write, and a repeated request gets it without running again.
 *
 * The hook throws `BadRequest` for a key that is malformed, or required and missing, and `NotAuthenticated`
 * for a key without a known caller. It throws `Conflict` with `data.retryAfter` while the first request runs,
 * and with `data.isDone` if it succeeded but its result was too large to be stored. It throws `Unprocessable`
 * if the first request had other data or another query.
 * @throws {TypeError} in calls: there is no such service, external callers can reach it, it has no TTL index,
 *   or the hook runs inside a transaction of the same call
 */
export function idempotent(options: IdempotentOptions): AroundHook {
  checkOptions('idempotent()', options, RULES)
  if (options.service === undefined)
    throw new OptionError("idempotent() needs the option 'service'")
  const { service: path, required = false, expireAfterSeconds = 86_400, by = readCaller } = options
  const { maxAnswerBytes = 65_536, maxAnswers = 1_000 } = options
  const limits = { maxAnswerBytes, maxAnswers }
  const hook: AroundHook = async (context, next) => {
    const { app, method, params, service } = context
    // Internal calls are parts of other work, and are repeated with it.
    if (params.provider === undefined || toMethodSpec(method).verb === 'GET') return next()
    const collection: AnswerStore = await findStore(app, path, service).getModel()
    const { client } = collection.db
    await checkClient(service, client, path)
    const outer = findTransaction(client)
    if (outer?.call === context) {
      throw new HookError(
        'idempotent() must be registered once, and before transaction() and audit()',
      )
    }
    const key = outer === undefined ? readKey(params, required) : null
    if (key === null) return next()
    const caller = (await by(params)) ?? null
    if (caller === null) {
      throw new LoginRequired('An Idempotency-Key needs a caller who is known')
    }
    const route = Object.entries(params.route ?? {})
    const request = {
      _id: `${hashOf(caller)}.${hashOf([key, context.path, route, method, context.id])}`,
      fingerprint: hashOf([context.data, params.query, params.version]),
    }
    const taken = createTakenError()
    try {
      await transaction({ client })(context, async (...reasons) => {
        await insertKey(collection, request, expireAfterSeconds, taken)
        await runRest(next, reasons)
        await writeAnswer(collection, request, limits, context as HookContext)
      })
      return
    } catch (error) {
      if (error !== taken) throw error
    }
    const stored = await readAnswer(collection, request)
    if (stored === null) throw taken
    if (stored.fingerprint !== request.fingerprint) {
      throw new IdempotencyKeyReused('The Idempotency-Key was used for another request')
    }
    setAnswer(context as HookContext, stored)
  }
  return describeFunction(nameFunction('idempotent', hook), {
    hookArguments: [options],
    terms: {
      header: { name: 'Idempotency-Key', description: KEY_DESCRIPTION, required },
      errors: [409, 422],
      onlyWrites: true,
    },
    checkPlace: ({ app, service, label }) => {
      if (service === undefined) throw new HookError(`idempotent() in ${label} needs a service`)
      findStore(app as AnyApplication, path, service)
    },
  })
}

describeFunction(idempotent, { hookFactory: "idempotent({ service: 'repeats' })" })

/**
 * Returns the service that stores the results.
 * @throws {TypeError} there is none, it is the called service, external callers can reach it, or its results
 *   never expire
 */
function findStore(app: AnyApplication, path: string, service: object): RecordService {
  const entry = requireStore('idempotent()', app, path, service)
  const store = requireService(`idempotent(): '${path}'`, entry.service)
  if ([...entry.methods.values()].some(({ external }) => external)) {
    throw new HookError(
      `idempotent(): '${path}' has answers of all callers, and must offer no method: app.use('${path}', service, { methods: [] })`,
    )
  }
  const isRemoved = store.options.indexes.some(({ key, expireAfterSeconds }) => {
    const [[field] = []] = key instanceof Map ? key : Object.entries(key)
    return expireAfterSeconds === 0 && field === 'expiresAt'
  })
  if (isRemoved) return store
  throw new HookError(
    `idempotent(): '${path}' needs the index ${TTL_INDEX} in its option 'indexes'`,
  )
}

/** @throws {TypeError} the writes of the service would not be part of the transaction */
async function checkClient(service: object, client: object, path: string): Promise<void> {
  if (!(service instanceof HooklessService)) return
  if ((await service.getModel()).db.client === client) return
  throw new HookError(`idempotent(): '${path}' must be of the same client as the service`)
}

/**
 * Returns the key of a request, `null` if it has none.
 * @throws {BadRequest} it is malformed, or required and missing
 */
function readKey({ headers }: Params, required: boolean): string | null {
  const header = headers?.['idempotency-key']
  if (header === undefined && !required) return null
  if (header === undefined)
    throw new InvalidIdempotencyKey('The header Idempotency-Key is required')
  const [, , key] = KEY.exec(String(header)) ?? []
  if (key !== undefined) return key
  throw new InvalidIdempotencyKey(
    'Idempotency-Key must be one string of 1 to 255 visible characters, without commas, quotation marks and backslashes',
  )
}

/** Returns the user and the API key of a caller, `undefined` for an unknown one. */
function readCaller(params: Params): unknown {
  const { payload } = params.authentication ?? {}
  const known = [readUserId(params) ?? payload?.sub, payload?.['keyId']]
  return known.some((one) => one != null) ? known : undefined
}

function createTakenError(): Conflict {
  const message = 'The first request with this Idempotency-Key is still running'
  return new IdempotencyConflict(message, { retryAfter: 1 })
}

/** Returns the hash of the JSON of a value; hooks may have put a `bigint` into data. */
function hashOf(value: unknown): string {
  const json = JSON.stringify(value, (_name, one) => (typeof one === 'bigint' ? String(one) : one))
  return createHash('sha256').update(json).digest('base64url')
}
