import type { IdObject, Params } from '../../core/index.ts'
import type { Serving } from '../../core/services/service-map.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'
import type { Authentication } from '../authentication.ts'
import type { NoQuery, OwnFound, PagingQuery } from '../guarded-service.ts'
import { describeOwn } from '../guarded-service.ts'
import type { MethodDescriber } from '../method-description.ts'
import type { ApiKeyRecord, StoredApiKey } from './api-key.ts'
import { toStart } from './api-key.ts'
import type { ApiKeyConfiguration } from './api-key-options.ts'

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

/** How internal calls create API keys. */
interface MakesApiKeys {
  /** Creates a key for a user, whose id is optional only with `entity: null`. Resolves to the key itself. */
  create(
    data: NewApiKey & { readonly userId?: string | IdObject | null },
    params?: Params<NoQuery>,
  ): Promise<CreatedApiKey>
}

/**
 * The type of the service that stores API keys, for a map of services: `{ 'api-keys':
 * ServedApiKeys<MongoDBService<ApiKeyRecord>> }`. Internal calls see the records, clients see an {@link ApiKey}.
 * `create` creates a key.
 */
export type ServedApiKeys<S> = Omit<S, 'create'> &
  MakesApiKeys &
  Serving<never, OutsideApiKeys<S>, S>

/** The methods that external callers may call. */
export const KEY_METHODS: readonly string[] = ['find', 'get', 'create', 'remove']

/** The fields of a new key. */
export const CHOSEN: readonly (keyof NewApiKey)[] = ['name', 'scopes', 'expiresAt']

export const MAX_NAME_LENGTH = 100

const STRING = { type: 'string' } as const
const TIME: JSONSchema = { type: 'string', format: 'date-time' }
const TIME_OR_NULL: JSONSchema = { type: ['string', 'null'], format: 'date-time' }

const FIELDS: Readonly<Record<keyof ApiKey, JSONSchema>> = {
  ...{ _id: STRING, name: STRING, start: STRING, scopes: { type: 'array', items: STRING } },
  ...{ createdAt: TIME, expiresAt: TIME_OR_NULL, usedAt: TIME_OR_NULL },
}

/** Returns the schema of an object with these fields. */
function toRecord(properties: Readonly<Record<string, JSONSchema>>): JSONSchema {
  return { type: 'object', required: Object.keys(properties), properties }
}

/** Returns the describer of the service that stores API keys. */
export function createKeyDescriber(
  authentication: Authentication,
  readConfiguration: () => Pick<ApiKeyConfiguration, 'scopes'>,
): MethodDescriber {
  return (method) => {
    if (!KEY_METHODS.includes(method)) return null
    if (method !== 'create') return describeOwn(authentication, toRecord(FIELDS))
    const key = { ...STRING, description: 'The key itself, which no later response contains.' }
    const data = toNewKey(readConfiguration().scopes)
    return describeOwn(authentication, toRecord({ ...FIELDS, key }), { data, isWhole: true })
  }
}

function toNewKey(scopes: readonly string[]): JSONSchema {
  const list = scopes.length > 0 ? { items: { type: 'string', enum: scopes } } : { maxItems: 0 }
  const properties: Readonly<Record<keyof NewApiKey, JSONSchema>> = {
    name: { type: 'string', minLength: 1, maxLength: MAX_NAME_LENGTH },
    scopes: { type: 'array', ...list },
    expiresAt: TIME_OR_NULL,
  }
  return { type: 'object', required: ['name'], properties, additionalProperties: false }
}

/** Returns an API key as its user sees it. */
export function toOwnApiKey(key: StoredApiKey): ApiKey {
  const { _id, name, scopes, createdAt, expiresAt, usedAt } = key
  return { _id, name, start: toStart(key), scopes, createdAt, expiresAt, usedAt }
}
