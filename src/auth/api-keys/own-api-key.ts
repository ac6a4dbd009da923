import {
  InvalidData,
  LimitReached,
  MethodNotOffered,
  ScopeRequired,
} from '../../core/errors/coded-errors.ts'
import type { AroundHook, HookContext, IdObject, Params } from '../../core/index.ts'
import { hashString } from '../../core/secrets/opaque-token.ts'
import type { Serving } from '../../core/services/service-map.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'
import { isKeyString, isPlainObject } from '../../core/value-kind.ts'
import type { Authentication } from '../authentication.ts'
import type { NoQuery, OwnerClaims, OwnFound, PagingQuery } from '../kept-records.ts'
import { describeOwn, proveOwner, serveOwn } from '../kept-records.ts'
import type { MethodDescriber } from '../method-description.ts'
import type { ApiKeyConfiguration, ApiKeyRecord, ApiKeyService, StoredApiKey } from './api-key.ts'
import { createSecret, formatApiKey, toStart } from './api-key.ts'

/** An API key as its user sees it. */
export interface ApiKey extends Omit<ApiKeyRecord, 'userId' | 'prefix'> {
  /** The beginning of the key, which is not secret. */
  readonly start: string
}

/** A new API key as its user sees it. */
export interface CreatedApiKey extends ApiKey {
  /** The key itself, which no later result contains. */
  readonly key: string
}

/** The data of a new API key. */
export interface NewApiKey {
  /** 1 to 100 characters. */
  readonly name: string
  /** Default: none. */
  readonly scopes?: readonly string[]
  /** Over HTTP, a date and time with a time zone: `'2030-01-31T12:00:00Z'`. Default: never. */
  readonly expiresAt?: Date | string | null
}

/** The service that stores API keys, as external callers use it. */
interface OutsideApiKeys<S> {
  find(params?: Params<PagingQuery<ApiKey>>): Promise<OwnFound<S, ApiKey>>
  get(id: string, params?: Params<NoQuery>): Promise<ApiKey>
  create(data: NewApiKey, params?: Params<NoQuery>): Promise<CreatedApiKey>
  remove(id: string, params?: Params<NoQuery>): Promise<ApiKey>
}

/**
 * The type of the service that stores API keys, for a map of services: `{ 'api-keys':
 * ServedApiKeys<MongoDBService<ApiKeyRecord>> }`. Internal calls see the records, clients see an {@link ApiKey}.
 * `create` creates a key.
 */
export type ServedApiKeys<S> = Omit<S, 'create'> & {
  /** Creates a key for a user, whose id is optional only with `entity: null`. Resolves to the key itself. */
  create(
    data: NewApiKey & { readonly userId?: string | IdObject | null },
    params?: Params<NoQuery>,
  ): Promise<CreatedApiKey>
} & Serving<never, OutsideApiKeys<S>, S>

/** The methods that external callers may call. */
const KEY_METHODS: readonly string[] = ['find', 'get', 'create', 'remove']

/** The fields of a new key. */
const CHOSEN: readonly (keyof NewApiKey)[] = ['name', 'scopes', 'expiresAt']

const MAX_NAME_LENGTH = 100

const STRING = { type: 'string' } as const
const TIME: JSONSchema = { type: 'string', format: 'date-time' }
const TIME_OR_NULL: JSONSchema = { type: ['string', 'null'], format: 'date-time' }

const FIELDS: Readonly<Record<keyof ApiKey, JSONSchema>> = {
  ...{ _id: STRING, name: STRING, start: STRING, scopes: { type: 'array', items: STRING } },
  ...{ createdAt: TIME, expiresAt: TIME_OR_NULL, usedAt: TIME_OR_NULL },
}

/** Returns the describer of the service that stores API keys. */
export function createKeyDescriber(
  authentication: Authentication,
  readConfiguration: () => Pick<ApiKeyConfiguration, 'scopes'>,
): MethodDescriber {
  return (method) => {
    if (!KEY_METHODS.includes(method)) return null
    if (method !== 'create') return describeOwn(authentication, FIELDS)
    const key = { ...STRING, description: 'The key itself, which no later response contains.' }
    const { scopes } = readConfiguration()
    const list = scopes.length > 0 ? { items: { type: 'string', enum: scopes } } : { maxItems: 0 }
    const properties: Readonly<Record<keyof NewApiKey, JSONSchema>> = {
      name: { type: 'string', minLength: 1, maxLength: MAX_NAME_LENGTH },
      scopes: { type: 'array', ...list },
      expiresAt: TIME_OR_NULL,
    }
    const data = { type: 'object', required: ['name'], properties, additionalProperties: false }
    return describeOwn(authentication, { ...FIELDS, key }, { data, isWhole: true })
  }
}

/** Returns an API key as its user sees it. */
function toOwnApiKey(key: StoredApiKey): ApiKey {
  const { _id, name, scopes, createdAt, expiresAt, usedAt } = key
  return { _id, name, start: toStart(key), scopes, createdAt, expiresAt, usedAt }
}

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
      throw new MethodNotOffered(`Cannot change API keys by '${method}'`)
    }
    // A key cannot create keys: a copy would outlive the key that created it.
    const owner = await proveOwner(keeper.authentication, context, 'API keys')
    if (method === 'create') return createKey(keeper, context, next, owner)
    await serveOwn(context, next, { userId: owner.sub, records: 'API keys' }, toOwnApiKey)
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
  if (userId !== null) {
    // Counted afterwards, so that concurrent calls cannot exceed the limit together.
    const query = { userId, $limit: maxPerUser + 1, $select: ['_id'] }
    const found = await keeper.keys.find({ query, paginate: false })
    if ((found as readonly unknown[]).length > maxPerUser) {
      await keeper.keys._remove(String(stored._id))
      throw new LimitReached(`A user may have ${maxPerUser} API keys: remove one that is not used`)
    }
  }
  context.result = { ...toOwnApiKey(stored), key: formatApiKey(stored, secret) }
  context.dispatch = context.result
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
    throw new InvalidData('An API key is made without a query')
  }
  if (!isPlainObject(data)) throw new InvalidData('An API key is made of an object')
  const allowed: readonly string[] = owner === null ? ['userId', ...CHOSEN] : CHOSEN
  const other = Object.keys(data).find((name) => !allowed.includes(name))
  if (other !== undefined) {
    throw new InvalidData(`An API key is made of ${allowed.join(', ')}, and has no '${other}'`)
  }
  const { userId, name, scopes = [], expiresAt = null } = data
  if (!isKeyString(name) || name.length > MAX_NAME_LENGTH) {
    throw new InvalidData(`'name' must be a string of 1 to ${MAX_NAME_LENGTH} characters`)
  }
  const isKnown = (scope: unknown): boolean => configuration.scopes.includes(scope as string)
  if (!Array.isArray(scopes) || !scopes.every(isKnown)) {
    throw new InvalidData(
      `'scopes' must be a list of: ${configuration.scopes.join(', ') || 'none'}`,
    )
  }
  const held = owner?.['scopes']
  if (held !== undefined && !scopes.every((scope) => Array.isArray(held) && held.includes(scope))) {
    throw new ScopeRequired('A token with scopes can only create keys with these scopes')
  }
  const user = owner?.sub ?? (userId == null ? null : String(userId))
  const isNobody = user === null && authentication.configuration.entity == null
  if (!isNobody && (!isKeyString(user) || user.startsWith('[object'))) {
    throw new InvalidData("'userId' must be the id of a user")
  }
  const createdAt = new Date()
  const end = readTime(expiresAt)
  if (end !== null && !(end > createdAt)) {
    throw new InvalidData("'expiresAt' must be a time to come: '2030-01-31T12:00:00Z', or null")
  }
  return { userId: user, name, scopes: [...new Set(scopes)], createdAt, expiresAt: end }
}

/** Returns `null` for `null`, and an invalid date for anything that is not a time. */
function readTime(value: unknown): Date | null {
  if (value === null || value instanceof Date) return value
  return new Date(typeof value === 'string' && ISO_TIME.test(value) ? value : Number.NaN)
}
