import type { AroundHook, HookContext } from '../../core/index.ts'
import { BadRequest, Conflict, Forbidden, MethodNotAllowed } from '../../core/index.ts'
import { isKeyString, isPlainObject } from '../../core/value-kind.ts'
import type { Authentication } from '../authentication.ts'
import type { OwnerClaims } from '../guarded-service.ts'
import { proveOwner, restrictToOwn, showOnly } from '../guarded-service.ts'
import { hashString } from '../tokens/opaque-token.ts'
import type { ApiKeyService, StoredApiKey } from './api-key.ts'
import { createSecret, formatApiKey } from './api-key.ts'
import type { ApiKeyConfiguration } from './api-key-options.ts'
import { CHOSEN, KEY_METHODS, MAX_NAME_LENGTH, toOwnApiKey } from './own-api-key.ts'

/** The parts of the strategy that the guard reads. Its settings may change while the application runs. */
interface KeyKeeper {
  readonly authentication: Authentication
  readonly configuration: ApiKeyConfiguration
  readonly keys: ApiKeyService
}

/** Date and time with a time zone. */
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

/**
 * Returns a hook of the service that stores the keys. It creates keys, also for internal calls; other internal calls
 * pass. External callers see and remove only their own keys.
 */
export function createKeyGuard(readKeeper: () => KeyKeeper): AroundHook {
  return async (context, next) => {
    const keeper = readKeeper()
    const { method, params } = context
    if (params.provider === undefined) {
      return method === 'create' ? createKey(keeper, context, next, null) : next()
    }
    if (!KEY_METHODS.includes(method)) {
      throw new MethodNotAllowed(`Cannot change API keys by '${method}'`)
    }
    // A key cannot create keys: a copy would outlive the key that created it.
    const owner = await proveOwner(keeper.authentication, context, 'API keys')
    if (method === 'create') return createKey(keeper, context, next, owner)
    restrictToOwn(context, owner.sub, 'API keys')
    await next()
    showOnly(context, toOwnApiKey)
  }
}

/**
 * Stores a new key. Only the result of this call contains the key itself.
 * @param owner the claims of the caller; `null` for internal calls, whose data names the user
 * @throws {Conflict} the user has reached the maximum number of keys
 */
async function createKey(
  keeper: KeyKeeper,
  context: HookContext,
  next: () => Promise<void>,
  owner: OwnerClaims | null,
): Promise<void> {
  const { prefix, maxPerUser } = keeper.configuration
  const secret = createSecret()
  const record = readNewKey(keeper, context, owner)
  const { userId } = record
  context.data = { ...record, prefix, secretHash: hashString(secret), usedAt: null }
  // Suppressed, as listeners of `created` would receive the key.
  context.event = null
  await next()
  const stored = context.result as StoredApiKey
  // Counted afterwards, so that concurrent calls cannot exceed the limit together.
  if (userId !== null && (await hasMore(keeper.keys, userId, maxPerUser))) {
    await keeper.keys._remove(String(stored._id))
    throw new Conflict(`A user may have ${maxPerUser} API keys: remove one that is not used`)
  }
  context.result = { ...toOwnApiKey(stored), key: formatApiKey(stored, secret) }
  context.dispatch = context.result
}

/** Resolves to whether a user has more than the given number of keys. */
async function hasMore(keys: ApiKeyService, userId: string, count: number): Promise<boolean> {
  const query = { userId, $limit: count + 1, $select: ['_id'] }
  const found = await keys.find({ query, paginate: false })
  return (found as readonly unknown[]).length > count
}

/**
 * @throws {BadRequest} a field of the new key is invalid; the message names it
 * @throws {Forbidden} the caller's token lacks some of its scopes
 */
function readNewKey(
  { configuration, authentication }: KeyKeeper,
  { data, params }: HookContext,
  owner: OwnerClaims | null,
): Omit<StoredApiKey, '_id' | 'prefix' | 'secretHash' | 'usedAt'> {
  if (Object.keys(params.query ?? {}).length > 0) {
    throw new BadRequest('An API key is made without a query')
  }
  if (!isPlainObject(data)) throw new BadRequest('An API key is made of an object')
  const allowed: readonly string[] = owner === null ? ['userId', ...CHOSEN] : CHOSEN
  const other = Object.keys(data).find((name) => !allowed.includes(name))
  if (other !== undefined) {
    throw new BadRequest(`An API key is made of ${allowed.join(', ')}, and has no '${other}'`)
  }
  const { userId, name, scopes = [], expiresAt = null } = data
  if (!isKeyString(name) || name.length > MAX_NAME_LENGTH) {
    throw new BadRequest(`'name' must be a string of 1 to ${MAX_NAME_LENGTH} characters`)
  }
  const isKnown = (scope: unknown): boolean => configuration.scopes.includes(scope as string)
  if (!Array.isArray(scopes) || !scopes.every(isKnown)) {
    throw new BadRequest(`'scopes' must be a list of: ${configuration.scopes.join(', ') || 'none'}`)
  }
  const held = owner?.['scopes']
  if (held !== undefined && !scopes.every((scope) => Array.isArray(held) && held.includes(scope))) {
    throw new Forbidden('A token with scopes can only create keys with these scopes')
  }
  const user = owner?.sub ?? (userId == null ? null : String(userId))
  const isNobody = user === null && authentication.configuration.entity == null
  if (!isNobody && (!isKeyString(user) || user.startsWith('[object'))) {
    throw new BadRequest("'userId' must be the id of a user")
  }
  const createdAt = new Date()
  const end = readTime(expiresAt)
  if (end !== null && !(end > createdAt)) {
    throw new BadRequest("'expiresAt' must be a time to come: '2030-01-31T12:00:00Z', or null")
  }
  return { userId: user, name, scopes: [...new Set(scopes)], createdAt, expiresAt: end }
}

/** Returns `null` for `null`, and an invalid date for anything that is not a time. */
function readTime(value: unknown): Date | null {
  if (value === null || value instanceof Date) return value
  return new Date(typeof value === 'string' && ISO_TIME.test(value) ? value : Number.NaN)
}
