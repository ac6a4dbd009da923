import type { AroundHook, ServiceEntry } from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import type { Authentication } from '../authentication.ts'
import { addAround, KeptRecords, orNotReady } from '../kept-records.ts'
import { WATCHED_METHODS } from './changed-users.ts'
import { createSessionDescriber } from './own-session.ts'
import type { SessionCookies } from './session-cookies.ts'
import type { SessionParts } from './session-setup.ts'
import type { Sessions } from './sessions.ts'

/** Indexes that find the sessions of a user, and by which the database removes sessions that have ended. */
const INDEXES = [
  { key: { userId: 1 } },
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { key: { endsAt: 1 }, expireAfterSeconds: 0 },
]

/**
 * The sessions of an authentication service, loaded when they are first used. Their hooks are in place as soon as the
 * settings name sessions and the services are registered.
 */
export class SessionGate {
  readonly #authentication: Authentication
  readonly #records: KeptRecords
  readonly #watch: AroundHook
  readonly #cookieHook: AroundHook
  #parts: Promise<SessionParts> | null = null
  #installed: Promise<Sessions> | null = null
  /** Reads the tokens of sessions from cookies; `null` until it is loaded. */
  cookies: SessionCookies | null = null

  constructor(authentication: Authentication) {
    const run = (pick: (parts: SessionParts) => AroundHook): AroundHook => {
      return async (context, next) => pick(await this.#load())(context, next)
    }
    this.#authentication = authentication
    this.#watch = run(({ watch }) => watch)
    this.#cookieHook = run(({ cookieHook }) => cookieHook)
    this.#records = new KeptRecords({
      ...{ authentication, records: 'sessions', indexes: INDEXES },
      readSetting: () => `${authentication.configKey}.sessions`,
      readPath: () => authentication.configuration.sessions?.service,
      guard: run(({ guard }) => guard),
      describe: createSessionDescriber(authentication),
    })
    authentication.app.observe((change, path, entry) => {
      if (change === 'added') this.#placeAt(path, entry)
    })
  }

  /** Adds the hooks of sessions to their services, each as the innermost one. */
  place(): void {
    this.#records.place()
    for (const [path, entry] of this.#authentication.app.entries) this.#placeAt(path, entry)
  }

  #placeAt(path: string, entry: ServiceEntry): void {
    const { sessions, service } = this.#authentication.configuration
    if (sessions === undefined) return
    if (entry.service === (this.#authentication as object)) {
      addAround(entry, ['create', 'remove'], this.#cookieHook)
    }
    const isOfUsers = typeof service === 'string' && path === toServicePath(service)
    if (isOfUsers) addAround(entry, WATCHED_METHODS, this.#watch)
  }

  /**
   * Resolves to the sessions once they are set up. If that fails, the next call tries again.
   * @throws {Unavailable} the set-up fails
   */
  open(): Promise<Sessions> {
    return this.#installed ?? orNotReady('sessions', this.install())
  }

  /**
   * Checks the settings of sessions, creates the indexes, and registers the strategy `refresh`.
   * @throws {TypeError} the setting names no `MongoDBService` or that of another authentication service, no
   *   strategy finds users, or one is named `refresh` already
   */
  async install(): Promise<Sessions> {
    const authentication = this.#authentication
    const { sessions, strategy } = await this.#load()
    if (this.#installed !== null) return sessions
    if (authentication.getStrategy('refresh') !== undefined) {
      throw new TypeError(
        `'${authentication.configKey}.sessions' adds a strategy 'refresh', and there is one already`,
      )
    }
    // Throws now, and not at each login, if `accessExpiresIn` is longer than tokens may live.
    const { accessSeconds } = sessions.options
    await authentication.createAccessToken({}, { expiresIn: accessSeconds, subject: 'start' })
    await this.#records.prepare()
    // Calls at the same time all get here: the first one registers the strategy.
    if (this.#installed === null) {
      authentication.register('refresh', strategy)
      this.#installed = Promise.resolve(sessions)
    }
    return sessions
  }

  #load(): Promise<SessionParts> {
    this.#parts ??= import('./session-setup.ts').then(({ createSessionParts }) => {
      const parts = createSessionParts(this.#authentication)
      this.cookies = parts.cookies
      return parts
    })
    return this.#parts
  }
}
