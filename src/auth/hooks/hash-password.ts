import { HashingMisconfigured, InvalidPassword } from '../../core/errors/coded-errors.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import { describeFunction, nameFunction } from '../../core/function-metadata.ts'
import type { Application, Params } from '../../core/index.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { checkList } from '../../core/services/multi-option.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { AuthenticationStrategy } from '../authentication.ts'
import { findAuthentication } from '../default-authentication.ts'
import { checkPassword } from '../passwords/passwords.ts'
import type { HookCall } from './hook-call.ts'

/** The part of a hook context that hashing needs. A resolver that runs without a call gets only the application. */
type ResolvingCall = Pick<HookCall, 'app'> & Partial<HookCall>

/** The strategy that hashes. */
export interface HashPasswordOptions {
  /** The path of the authentication service. Default: the default one. */
  readonly authentication?: string
  /** The name of the strategy. Default: `'local'`. */
  readonly strategy?: string
}

/** A before or around hook, as returned by `hashPassword`. */
export type HashPasswordHook = (context: HookCall, next?: () => Promise<void>) => Promise<void>

/** A strategy that hashes passwords, as {@link LocalStrategy} does. */
interface HashingStrategy extends AuthenticationStrategy {
  hashPassword(password: unknown, params: unknown): Promise<string>
  /** @throws {BadRequest} the password cannot be hashed */
  checkPassword?(password: unknown): void
}

/** Update operators that write a value as it is. They add nothing to the path of a field. */
const WRITE_OPERATORS: ReadonlySet<string> = new Set([
  ...['$set', '$setOnInsert', '$push', '$addToSet', '$each'],
])

/** Array positions in the keys of an update: `profiles.0.password`, `profiles.$[]`. */
const ARRAY_POSITIONS = /\.(?:\d+|\$[^.]*)(?=\.|$)/g

/** A hash takes a third of a second, and a server computes only a few at a time for all callers. */
const MAX_HASHES = 10

/**
 * Returns a before or around hook that replaces the password of each record in the data with its hash. It finds the
 * password at its path, through arrays and below operators that write it; the field may be a dotted path. The caller's
 * data is not changed. Everything is checked before the first hash is computed, and hashing stops once `params.signal`
 * is aborted.
 * @throws {MethodNotAllowed} in calls: a list of new records that the option `multi` does not allow
 * @throws {BadRequest} in calls: a password is not a string of 1 to 1,024 bytes, a record has several, an external
 *   caller sends more than 10, or no strategy hashes them
 */
export function hashPassword(field: string, options: HashPasswordOptions = {}): HashPasswordHook {
  if (!isNonEmptyString(field)) {
    throw new HookError(
      "The hashPassword hook requires a field name option: hashPassword('password')",
    )
  }
  checkOptions('hashPassword()', options, {
    authentication: OPTION.string,
    strategy: OPTION.string,
  })
  const hook: HashPasswordHook = async (context, next) => {
    if (context.type !== 'around' && context.type !== 'before') {
      throw new HookError('The hashPassword hook must be used as a before or an around hook')
    }
    if (context.data !== undefined && context.data !== null) {
      context.data = await hashRecords(context, field, options)
    }
    if (context.type === 'around') await next?.()
  }
  return describeFunction(nameFunction('hashPassword', hook), {
    refusesNobody: true,
    secretFields: [field],
  })
}

/**
 * Returns a property resolver that hashes: `resolve({ properties: { password: passwordHash({ strategy: 'local' }) }
 * })`. A missing password stays missing. It rejects what {@link hashPassword} rejects, but counts all records of a
 * list. It needs only `app` of the context.
 */
export function passwordHash(
  options: { readonly service?: string; readonly strategy?: string } = {},
): (value: unknown, record: unknown, context: ResolvingCall) => Promise<string | undefined> {
  checkOptions('passwordHash()', options, { service: OPTION.string, strategy: OPTION.string })
  const { service, strategy } = options
  return async (value, _record, context) => {
    if (value === undefined) return undefined
    checkNewRecords(context)
    const { data, params = {} } = context
    if (Array.isArray(data)) checkCount(params, data.length)
    params.signal?.throwIfAborted()
    return findStrategy(context, service, strategy).hashPassword(value, params)
  }
}

/** @throws {BadRequest} no strategy hashes passwords */
function findStrategy(
  { app }: ResolvingCall,
  path: string | undefined,
  strategy = 'local',
): HashingStrategy {
  const service = findAuthentication(app as Application, path)
  if (service === null) {
    throw new HashingMisconfigured('Could not find an authentication service to hash password')
  }
  const found = service.getStrategy(strategy) as Partial<HashingStrategy> | undefined
  if (typeof found?.hashPassword !== 'function') {
    throw new HashingMisconfigured(`Could not find '${strategy}' strategy to hash password`)
  }
  return found as HashingStrategy
}

/** The place of a password in a copy of the data, to be replaced with its hash. */
interface Place {
  readonly holder: Record<string, unknown>
  readonly key: string
}

/** Returns a copy of the data with passwords hashed. */
async function hashRecords(
  context: HookCall,
  field: string,
  options: HashPasswordOptions,
): Promise<unknown> {
  const strategy = findStrategy(context, options.authentication, options.strategy)
  checkNewRecords(context)
  const { data, params } = context
  const places: Place[] = []
  const copyRecord = (record: unknown): unknown => {
    const own: Place[] = []
    const copy = copyPlaces(record, field, own)
    if (own.length > 1) {
      throw new InvalidPassword(
        `'${field}' stands in ${own.length} places of a record, which may have one password`,
      )
    }
    places.push(...own)
    return copy
  }
  const copy = Array.isArray(data) ? data.map(copyRecord) : copyRecord(data)
  checkCount(params, places.length)
  for (const { holder, key } of places) {
    checkPassword(holder[key])
    strategy.checkPassword?.(holder[key])
  }
  // Sequential: many hashes at once would make other callers wait.
  for (const { holder, key } of places) {
    params.signal?.throwIfAborted()
    holder[key] = await strategy.hashPassword(holder[key], params)
  }
  return copy
}

/** Rejects a list that the service would reject, before anything is hashed for it. */
function checkNewRecords({ method, data, service, params = {} }: ResolvingCall): void {
  const isNewList = method === 'create' && Array.isArray(data)
  if (isNewList && service !== undefined) checkList({ service, params })
}

/** Only external calls are limited: an internal import may be long, and only its own caller waits. */
function checkCount({ provider }: Params, count: number): void {
  if (provider === undefined || count <= MAX_HASHES) return
  throw new InvalidPassword(`A call may have at most ${MAX_HASHES} records with a password`)
}

/**
 * Copies the objects on the path of a password and records where passwords are. One key may hold several parts of the
 * path: in an update, `'a.b'` means `{ a: { b } }`.
 */
function copyPlaces(value: unknown, path: string, places: Place[]): unknown {
  if (Array.isArray(value)) return value.map((item) => copyPlaces(item, path, places))
  // The MongoDB driver stores a map as an object.
  if (value instanceof Map) return copyPlaces(Object.fromEntries(value), path, places)
  if (typeof value !== 'object' || value === null) return value
  const copy = { ...value } as Record<string, unknown>
  let isOnPath = false
  for (const [key, inner] of Object.entries(copy)) {
    const part = key.replace(ARRAY_POSITIONS, '')
    if (part === path) {
      isOnPath = true
      // `null` is stored unchanged: it removes a password, so that the user cannot log in with one.
      if (inner !== undefined && inner !== null) places.push({ holder: copy, key })
    } else if (WRITE_OPERATORS.has(key) || path.startsWith(`${part}.`)) {
      isOnPath = true
      const rest = WRITE_OPERATORS.has(key) ? path : path.slice(part.length + 1)
      copy[key] = copyPlaces(inner, rest, places)
    }
  }
  if (!isOnPath) return value
  return Object.setPrototypeOf(copy, Object.getPrototypeOf(value) as object | null)
}

describeFunction(hashPassword, { hookFactory: "hashPassword('password')" })
