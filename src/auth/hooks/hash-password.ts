import { markHookFactory } from '../../core/hook-factory.ts'
import type { Application } from '../../core/index.ts'
import { BadRequest } from '../../core/index.ts'
import type { OptionRules } from '../../core/option-check.ts'
import { checkOptions, OPTION } from '../../core/option-check.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { AuthenticationStrategy } from '../authentication.ts'
import { findAuthentication } from '../default-authentication.ts'
import type { HookCall } from './hook-call.ts'
import { markPassing } from './open-methods.ts'

/** Which strategy hashes. */
export interface HashPasswordOptions {
  /** The path of the authentication service. Default: the default one. */
  readonly authentication?: string
  /** The name of the strategy. Default: `'local'`. */
  readonly strategy?: string
}

const HASH_RULES: OptionRules = { authentication: OPTION.string, strategy: OPTION.string }

/** A hook for before or around: what `hashPassword` returns. */
export type HashPasswordHook = (context: HookCall, next?: () => Promise<void>) => Promise<void>

/** A strategy that hashes passwords, as {@link LocalStrategy} does. */
interface HashingStrategy extends AuthenticationStrategy {
  hashPassword(password: unknown, params: unknown): Promise<string>
}

type Hash = (password: unknown) => Promise<string>

/** Update operators that write a value as it is. They add nothing to the path of a field inside. */
const WRITE_OPERATORS: ReadonlySet<string> = new Set([
  ...['$set', '$setOnInsert', '$push', '$addToSet', '$each'],
])

/**
 * Positions in arrays, as the keys of an update have them: `profiles.0.password`, `profiles.$[]`.
 */
const ARRAY_POSITIONS = /\.(?:\d+|\$[^.]*)(?=\.|$)/g

/**
 * Returns a before or around hook that replaces a password in the data by its hash: wherever it
 * stands at its path, in each item of arrays on the way, and below operators that write it. The
 * field may be a dotted path; the data of the caller is not changed.
 * @throws {BadRequest} in calls: the password is no string, or there is no strategy to hash it
 */
export function hashPassword(field: string, options: HashPasswordOptions = {}): HashPasswordHook {
  if (!isNonEmptyString(field)) {
    throw new TypeError(
      "The hashPassword hook requires a field name option: hashPassword('password')",
    )
  }
  checkOptions('hashPassword()', options, HASH_RULES)
  return markPassing(async (context, next) => {
    if (context.type !== 'around' && context.type !== 'before') {
      throw new TypeError('The hashPassword hook must be used as a before or an around hook')
    }
    if (context.data !== undefined && context.data !== null) {
      context.data = await hashField(context.data, field, createHash(context, options))
    }
    if (context.type === 'around') await next?.()
  })
}

/**
 * Returns a property resolver that hashes:
 * `resolve({ properties: { password: passwordHash({ strategy: 'local' }) } })`. A missing password
 * stays missing.
 */
export function passwordHash(
  options: { readonly service?: string; readonly strategy?: string } = {},
): (value: unknown, record: unknown, context: HookCall) => Promise<string | undefined> {
  checkOptions('passwordHash()', options, { service: OPTION.string, strategy: OPTION.string })
  const { service, strategy } = options
  return async (value, _record, context) => {
    if (value === undefined) return undefined
    const names = { ...(service && { authentication: service }), ...(strategy && { strategy }) }
    return createHash(context, names)(value)
  }
}

function createHash(
  context: HookCall,
  { authentication, strategy = 'local' }: HashPasswordOptions,
): Hash {
  const service = findAuthentication(context.app as Application, authentication)
  if (service === null) {
    throw new BadRequest('Could not find an authentication service to hash password')
  }
  const hashing = service.getStrategy(strategy) as Partial<HashingStrategy> | undefined
  if (typeof hashing?.hashPassword !== 'function') {
    throw new BadRequest(`Could not find '${strategy}' strategy to hash password`)
  }
  return async (password) => (hashing as HashingStrategy).hashPassword(password, context.params)
}

/** Hashes one after the other: many at once would keep logins waiting. */
async function hashEach(items: readonly unknown[], path: string, hash: Hash): Promise<unknown[]> {
  const hashed: unknown[] = []
  for (const item of items) hashed.push(await hashField(item, path, hash))
  return hashed
}

/** A key may hold several parts of the path: in an update, `'a.b'` stands for `{ a: { b } }`. */
async function hashField(value: unknown, path: string, hash: Hash): Promise<unknown> {
  if (Array.isArray(value)) return hashEach(value, path, hash)
  // The driver of MongoDB stores a map as an object.
  if (value instanceof Map) return hashField(Object.fromEntries(value), path, hash)
  if (typeof value !== 'object' || value === null) return value
  const changed: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    const part = key.replace(ARRAY_POSITIONS, '')
    if (WRITE_OPERATORS.has(key)) changed[key] = await hashField(inner, path, hash)
    else if (part === path) changed[key] = await hashValue(inner, hash)
    else if (path.startsWith(`${part}.`)) {
      changed[key] = await hashField(inner, path.slice(part.length + 1), hash)
    }
  }
  if (Object.keys(changed).length === 0) return value
  const prototype: unknown = Object.getPrototypeOf(value)
  return Object.setPrototypeOf({ ...value, ...changed }, prototype as object | null)
}

/** `null` is stored as it is: it removes a password, and nobody can log in with it. */
async function hashValue(password: unknown, hash: Hash): Promise<unknown> {
  return password === undefined || password === null ? password : hash(password)
}

markHookFactory(hashPassword, "hashPassword('password')")
