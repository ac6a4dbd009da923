import {
  DatabaseUnavailable,
  InvalidQuery,
  LoginRequired,
  StreamUnsupported,
} from '../core/errors/coded-errors.ts'
import { SettingError } from '../core/errors/setup-errors.ts'
import type {
  Application,
  AroundHook,
  HookContext,
  Page,
  Query,
  ServiceEntry,
} from '../core/index.ts'
import { toServicePath } from '../core/index.ts'
import type { ResultOf } from '../core/method-arguments.ts'
import { PAGING_NAMES } from '../core/query-names.ts'
import { replaceRecords } from '../core/results.ts'
import { PAGING_SCHEMAS } from '../core/schema/queries/described-names.ts'
import type { JSONSchema, MethodSchemas } from '../core/services/service-schemas.ts'
import { isEventStream } from '../core/transport-facts.ts'
import type { Authentication } from './authentication.ts'
import { findEntityService, findUserFinder } from './entity-service.ts'
import { proveParams } from './hooks/authenticate.ts'
import type { MethodDescriber, MethodDescription } from './method-description.ts'
import { setDescriber } from './method-description.ts'
import { getTokenClaims } from './proof.ts'

/**
 * Adds an around hook to the named methods that the service has, as the innermost hook.
 * @param replaced the hook that it replaces. Default: itself, which moves to the innermost place
 */
export function addAround(
  entry: ServiceEntry,
  names: readonly string[],
  hook: AroundHook,
  replaced: AroundHook = hook,
): void {
  const { hooks, methods } = entry
  for (const [key, stored] of hooks.stored) {
    hooks.stored.set(
      key,
      stored.filter((one) => one !== replaced),
    )
  }
  const known = names.filter((name) => name === 'all' || methods.has(name))
  hooks.add({ around: Object.fromEntries(known.map((name) => [name, hook])) })
  entry.compile()
}

/** Describes the records that an authentication service or a strategy stores. */
interface KeptRecordsOptions {
  readonly authentication: Authentication
  /** The name of the records in errors. */
  readonly records: string
  /** Returns the name of the settings in errors: `'authentication.api-key'`. */
  readonly readSetting: () => string
  /** Returns the path of the service in the current settings. */
  readonly readPath: () => unknown
  readonly indexes: readonly object[]
  /** Guards all methods of the service. */
  readonly guard: AroundHook
  /** Describes the methods behind the guard. */
  readonly describe: MethodDescriber
}

/** The part of a `MongoDBService` that identifies it and creates indexes. */
interface IndexedService {
  readonly id?: unknown
  getModel?(): Promise<{ createIndexes(indexes: readonly object[]): Promise<unknown> }>
}

/** The key, on the entry of a service, of the owner that guards it and of the guarding hook. */
const KEEPER = Symbol('remex.keeper')

interface Keeper {
  readonly owner: KeptRecords
  readonly hook: AroundHook
}

/**
 * The service that stores the records of an authentication service or a strategy. After the first call of {@link
 * place}, it is guarded as soon as it is registered and the settings name it. Until its indexes are created, external
 * calls return 503, and each of them retries the set-up.
 */
export class KeptRecords {
  readonly #options: KeptRecordsOptions
  /** Whether the set-up has begun: from then on, no other owner can take the service. */
  #isFirm = false
  /** The service that is set up or being set up. */
  #prepared: { readonly service: object | null; readonly done: Promise<void> } | null = null

  constructor(options: KeptRecordsOptions) {
    this.#options = options
    this.#app.observe((change, path) => {
      if (change === 'added' && path === this.#path) this.place()
    })
  }

  get #app(): Application {
    return this.#options.authentication.app
  }

  get #path(): string | undefined {
    const path = this.#options.readPath()
    return typeof path === 'string' ? toServicePath(path) : undefined
  }

  /**
   * Guards the service if it is registered and no other owner has started its set-up. Returns whether it is guarded.
   */
  place(): boolean {
    const path = this.#path
    const entry = path === undefined ? undefined : this.#app.entries.get(path)
    if (path === undefined || entry === undefined) return false
    const before = entry.attachments.get(KEEPER) as Keeper | undefined
    if (before !== undefined && before.owner !== this && before.owner.#isFirm) return false
    const hook: AroundHook = (context, next) => this.#run(path, context, next)
    entry.attachments.set(KEEPER, { owner: this, hook } satisfies Keeper)
    setDescriber(entry, (method) =>
      this.#isFor(path) ? this.#options.describe(method) : undefined,
    )
    // Replaces the hook of another owner: with two guards, each would create a key.
    addAround(entry, ['all'], hook, before?.hook)
    return true
  }

  /**
   * Creates the indexes of the service, once. If that fails, the next call retries.
   * @throws {TypeError} it is not a `MongoDBService`, stores the records of another owner, or no strategy finds users
   */
  prepare(): Promise<void> {
    const service = findEntityService(this.#app, this.#path)
    if (this.#prepared !== null && this.#prepared.service === service) return this.#prepared.done
    const done = this.#prepare(service as IndexedService | null)
    const prepared = { service, done }
    this.#prepared = prepared
    done.catch(() => {
      if (this.#prepared === prepared) this.#prepared = null
    })
    return done
  }

  /**
   * Resolves when the service is set up.
   * @throws {Unavailable} the set-up fails
   */
  async require(): Promise<void> {
    await orNotReady(this.#options.records, this.prepare())
  }

  async #prepare(service: IndexedService | null): Promise<void> {
    const { authentication, records, readSetting, indexes } = this.#options
    // Checked before its indexes are created, which may conflict with those of other records.
    if (service !== null && !this.place()) {
      throw new SettingError(
        `The service '${this.#path}' stores the ${records} of another authentication service or strategy: ` +
          `'${readSetting()}.service' must name another service`,
      )
    }
    this.#isFirm = true
    if (service?.getModel === undefined || service.id !== '_id') {
      throw new SettingError(
        `'${readSetting()}.service' must name a MongoDBService whose id is '_id'`,
      )
    }
    if (authentication.configuration.entity != null && !findUserFinder(authentication)) {
      throw new SettingError(
        `'${readSetting()}' needs a JwtStrategy, which finds users by their ids`,
      )
    }
    const collection = await service.getModel()
    await collection.createIndexes(indexes)
  }

  /** Runs a call of the service behind the guard. */
  async #run(path: string, context: HookContext, next: () => Promise<void>): Promise<void> {
    if (!this.#isFor(path)) return next()
    if (context.params.provider !== undefined) await this.require()
    await this.#options.guard(context, next)
  }

  /**
   * Returns whether the service at a path is the one to guard. Before the start, the settings may have changed to name
   * another.
   */
  #isFor(path: string): boolean {
    const named = this.#path
    return named === undefined || named === path
  }
}

/**
 * Resolves to the result of a set-up.
 * @param records how the error names what is set up: `'API keys'`
 * @throws {Unavailable} the set-up fails
 */
export async function orNotReady<T>(records: string, pending: Promise<T>): Promise<T> {
  try {
    return await pending
  } catch (cause) {
    const message = `The service that stores the ${records} is not set up: try again`
    throw new DatabaseUnavailable(message, { retryAfter: 1 }, { cause })
  }
}

/**
 * Returns the service at a path that stores records of the authentication.
 * @param records how errors name them: `API keys`
 * @throws {TypeError} the service no longer exists
 */
export function findRecordService<Service>(
  app: Application,
  path: string,
  records: string,
): Service {
  const found = findEntityService(app, path)
  if (found !== null) return found as unknown as Service
  throw new SettingError(`The '${path}' service that keeps the ${records} does not exist`)
}

/** The query for a caller's own records: the size and the order of a page. */
export interface PagingQuery<T> {
  /** The maximum number of records. */
  readonly $limit?: number
  /** The number of records to skip. */
  readonly $skip?: number
  /** The fields to sort by, in order: 1 ascending, -1 descending. */
  readonly $sort?: { readonly [Name in keyof T & string]?: 1 | -1 }
}

/** A query without parameters. */
export type NoQuery = Record<string, never>

/** The result of `find` of a service, a page or a list, with records as their owner sees them. */
export type OwnFound<S, T> = ResultOf<S, 'find'> extends readonly unknown[] ? T[] : Page<T>

/**
 * Returns the description of a method of a service whose records are shown to their owners.
 * @param fields the schemas of the fields of a record as its owner sees it
 */
export function describeOwn(
  authentication: Authentication,
  fields: Readonly<Record<string, JSONSchema>>,
  schemas: Partial<MethodSchemas> = {},
): MethodDescription {
  const query = { type: 'object', properties: PAGING_SCHEMAS, additionalProperties: false }
  const result = { type: 'object', required: Object.keys(fields), properties: fields }
  return {
    proof: { strategies: authentication.configuration.authStrategies, authentication },
    schemas: { data: undefined, query, result, ...schemas },
  }
}

/** The claims of a token that identifies its user. */
export interface OwnerClaims {
  readonly sub: string
  readonly [claim: string]: unknown
}

/**
 * Resolves to the claims of an external caller, who must send an access token.
 * @param records names them in errors: `API keys`
 * @throws {NotAcceptable} the caller asks for a stream of events
 * @throws {NotAuthenticated} there is no token, or it does not identify a user
 */
export async function proveOwner(
  authentication: Authentication,
  context: HookContext,
  records: string,
): Promise<OwnerClaims> {
  // A stream would show a thief at once when the owner acts.
  if (isEventStream(context.params)) throw new StreamUnsupported(`${records} have no stream`)
  await proveParams(authentication, context, authentication.configuration.authStrategies)
  const { sub, ...claims } = getTokenClaims(context.params.authentication)
  // Only an access token identifies its user in a claim.
  if (typeof sub === 'string') return { ...claims, sub }
  throw new LoginRequired(`${records} require an access token`)
}

/**
 * Runs a call for the records of a user only, and replaces each of them in the result with the view for callers, even
 * if hooks have set what is sent.
 * @param records names them in errors: `API keys`
 * @throws {BadRequest} the call would remove all at once, or the query has conditions
 */
export async function serveOwn<Stored>(
  context: HookContext,
  next: () => Promise<void>,
  { userId, records }: { readonly userId: string; readonly records: string },
  toShown: (record: Stored) => object,
): Promise<void> {
  const query: Query = context.params.query ?? {}
  const other = Object.keys(query).find((name) => !PAGING_NAMES.includes(name))
  if (other !== undefined) throw new InvalidQuery(`${records} cannot be queried by '${other}'`)
  if (context.method === 'remove' && context.id == null) {
    throw new InvalidQuery(`${records} are removed one by one, by their ids`)
  }
  context.params.query = { ...query, userId }
  await next()
  const show = (record: unknown): object => toShown(record as Stored)
  context.result = replaceRecords(context.method, context.result, (found) =>
    Array.isArray(found) ? found.map(show) : show(found),
  )
  context.dispatch = context.result
}
