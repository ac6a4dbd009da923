import type { Application, AroundHook, HookContext, ServiceEntry } from '../core/index.ts'
import { toServicePath, Unavailable } from '../core/index.ts'
import type { Authentication } from './authentication.ts'
import { findEntityService, findUserFinder } from './entity-service.ts'
import type { MethodDescriber } from './method-description.ts'
import { setDescriber } from './method-description.ts'

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
      throw new TypeError(
        `The service '${this.#path}' stores the ${records} of another authentication service or strategy: ` +
          `'${readSetting()}.service' must name another service`,
      )
    }
    this.#isFirm = true
    if (service?.getModel === undefined || service.id !== '_id') {
      throw new TypeError(`'${readSetting()}.service' must name a MongoDBService whose id is '_id'`)
    }
    if (authentication.configuration.entity != null && !findUserFinder(authentication)) {
      throw new TypeError(`'${readSetting()}' needs a JwtStrategy, which finds users by their ids`)
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
    throw new Unavailable(message, { retryAfter: 1 }, { cause })
  }
}
