import type { Application } from '../core/index.ts'
import { BadRequest } from '../core/index.ts'
import { findAuthentication } from './default-authentication.ts'
import { getField, withField } from './field-path.ts'
import type { HookCall } from './hook-call.ts'
import { isPlainObject } from './settings-merge.ts'
import type { AuthenticationStrategy } from './strategy.ts'

/** Which strategy hashes. */
export interface HashPasswordOptions {
  /** The path of the authentication service. Default: the default one. */
  readonly authentication?: string
  /** The name of the strategy. Default: `'local'`. */
  readonly strategy?: string
}

/** A hook for before or around: what `hashPassword` returns. */
export type HashPasswordHook = (context: HookCall, next?: () => Promise<void>) => Promise<void>

/** A strategy that hashes passwords, as {@link LocalStrategy} does. */
interface HashingStrategy extends AuthenticationStrategy {
  hashPassword(password: unknown, params: unknown): Promise<string>
}

type Hash = (password: unknown) => Promise<string>
type Data = Record<string, unknown>

/** Update operators that write a value as it is. */
const SET_OPERATORS = ['$set', '$setOnInsert']

/**
 * Returns a before or around hook that replaces a password in the data, or in each item of an array,
 * by its hash. The field may be a dotted path; the data of the caller is not changed.
 * @throws {BadRequest} in calls: the password is no text, or no strategy is there to hash it
 */
export function hashPassword(field: string, options: HashPasswordOptions = {}): HashPasswordHook {
  if (!field) throw new TypeError('The hashPassword hook requires a field name option')
  return async (context, next) => {
    if (context.type !== 'around' && context.type !== 'before') {
      throw new TypeError('The hashPassword hook must be used as a before or an around hook')
    }
    if (context.data !== undefined && context.data !== null) {
      const hash = createHash(context, options)
      context.data = Array.isArray(context.data)
        ? await hashEach(context.data, field, hash)
        : await hashField(context.data, field, hash)
    }
    if (context.type === 'around') await next?.()
  }
}

/**
 * Returns a property resolver that hashes: `resolve({ properties: { password: passwordHash({ strategy:
 * 'local' }) } })`. A missing password stays missing.
 */
export function passwordHash(
  options: { readonly service?: string; readonly strategy?: string } = {},
): (value: unknown, record: unknown, context: HookCall) => Promise<string | undefined> {
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

/** One after the other: many at once would take the places of those who want to log in. */
async function hashEach(items: readonly unknown[], field: string, hash: Hash): Promise<unknown[]> {
  const hashed: unknown[] = []
  for (const item of items) hashed.push(await hashField(item, field, hash))
  return hashed
}

/** The password may stand at its path, under the path as a key, and below operators that set it. */
async function hashField(item: unknown, field: string, hash: Hash): Promise<unknown> {
  if (!isPlainObject(item)) return item
  let data: Data = item
  for (const operator of SET_OPERATORS) {
    const values = data[operator]
    if (isPlainObject(values)) data = { ...data, [operator]: await hashIn(values, field, hash) }
  }
  return hashIn(data, field, hash)
}

async function hashIn(data: Data, field: string, hash: Hash): Promise<Data> {
  const isKey = Object.hasOwn(data, field)
  const password = isKey ? data[field] : getField(data, field)
  // `null` takes a password away: nobody can log in with it.
  if (password === undefined || password === null) return data
  const hashed = await hash(password)
  return isKey ? { ...data, [field]: hashed } : withField(data, field, hashed)
}
