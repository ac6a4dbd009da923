import { InvalidQuery } from '../../core/errors/coded-errors.ts'
import { ArgumentError, SettingError } from '../../core/errors/setup-errors.ts'
import { afterCommit } from '../../core/events/event-gate.ts'
import type {
  AroundHook,
  AuthenticationRequest,
  HookContext,
  NullableId,
  Query,
  ServiceEntry,
} from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { carryFacts } from '../../core/transport-facts.ts'
import { isObject } from '../../core/value-kind.ts'
import type {
  Authentication,
  AuthenticationHttpRequest,
  AuthenticationResult,
  LoginDescription,
  LoginExtension,
  ProvenLogin,
} from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { findEntityService, findUserFinder, getEntityIdName, getField } from '../entity-service.ts'
import { addAround, KeptRecords, orNotReady } from '../kept-records.ts'
import { emitLoginEnd } from '../login-end.ts'
import { listLoginFields, readChange, setsPassword, writesField } from '../login-fields.ts'
import { getTokenClaims } from '../proof.ts'
import { checkExists } from '../settings/configuration-check.ts'
import type { AccessTokenPayload } from '../tokens/token-claims.ts'
import { RefreshStrategy } from './refresh-strategy.ts'
import { SessionCookies } from './session-cookies.ts'
import { resolveSessionOptions, SESSIONS_RULE, toCookieName } from './session-options.ts'
import type { SessionEnd } from './sessions.ts'
import { Sessions } from './sessions.ts'
import { createSessionDescriber, createSessionGuard } from './stored-session.ts'

/** One finds the sessions of a user, the other lets the database delete ended sessions. */
const INDEXES = [
  { key: { userId: 1 } },
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { key: { endsAt: 1 }, expireAfterSeconds: 0 },
]

/** The methods that change users, or remove them. */
const WATCHED_METHODS = ['update', 'patch', 'remove'] as const

/**
 * The sessions of an authentication service: logins get refresh tokens and can be ended on the server. The hooks are in
 * place as soon as the settings name sessions and the services are registered.
 */
export class SessionLogins implements LoginExtension {
  readonly setting = 'sessions'
  readonly rule: OptionRule = SESSIONS_RULE
  readonly strategies: readonly string[] = ['refresh']
  readonly #authentication: Authentication
  readonly #records: KeptRecords
  readonly #sessions: Sessions
  readonly #cookies: SessionCookies
  /** Ends the sessions of users that change. */
  readonly #watch: AroundHook
  /** Moves the tokens of logins into cookies. */
  readonly #cookieHook: AroundHook
  #isInstalled = false
  /** The path of the service that stores sessions, at the last check. */
  #path: string | undefined

  constructor(authentication: Authentication) {
    const { app } = authentication
    this.#authentication = authentication
    this.#sessions = new Sessions(authentication)
    this.#cookies = new SessionCookies(authentication, this.#sessions)
    this.#cookieHook = this.#cookies.createHook()
    this.#watch = createUserWatch(authentication, this.#sessions)
    this.#records = new KeptRecords({
      ...{ authentication, records: 'sessions', indexes: INDEXES },
      readSetting: () => `${authentication.configKey}.sessions`,
      readPath: () => authentication.configuration.sessions?.service,
      guard: createSessionGuard(authentication, (end) => this.#sessions.noteEnd(end)),
      describe: createSessionDescriber(authentication),
    })
    app.observe((change, path, entry) => {
      if (change === 'added') this.#guardAt(path, entry)
    })
    app.on('sessionEnd', (end: SessionEnd) => emitLoginEnd(app, end))
  }

  check(isRunning: boolean): void {
    const { app, configKey, configuration } = this.#authentication
    const { sessions } = configuration
    const name = `${configKey}.sessions`
    if (sessions !== undefined) {
      checkExists(app, sessions.service, `${name}.service`)
      resolveSessionOptions(sessions, name)
    }
    if (isRunning && sessions?.service !== this.#path) {
      throw new SettingError(
        `'${name}.service' cannot change while the application runs: the service that stores sessions is ` +
          'guarded at startup',
      )
    }
    this.#path = sessions?.service
  }

  /** Adds the hooks of sessions to their services, each as the innermost one. */
  guard(): void {
    this.#records.place()
    for (const [path, entry] of this.#authentication.app.entries) this.#guardAt(path, entry)
  }

  #guardAt(path: string, entry: ServiceEntry): void {
    const { sessions, service } = this.#authentication.configuration
    if (sessions === undefined) return
    if (entry.service === (this.#authentication as object)) {
      addAround(entry, ['create', 'remove'], this.#cookieHook)
    }
    const isOfUsers = typeof service === 'string' && path === toServicePath(service)
    if (isOfUsers) addAround(entry, WATCHED_METHODS, this.#watch)
  }

  /**
   * Checks the settings of sessions, creates the indexes, and registers the strategy `refresh`.
   * @throws {TypeError} the setting does not name a `MongoDBService`, or names that of another authentication service;
   *   no strategy finds users; or a strategy `refresh` exists already
   */
  async setup(): Promise<void> {
    const authentication = this.#authentication
    if (this.#isInstalled) return
    if (authentication.getStrategy('refresh') !== undefined) {
      throw new SettingError(
        `'${authentication.configKey}.sessions' adds a strategy 'refresh', and there is one already`,
      )
    }
    // Throws now, rather than at each login, if `accessExpiresIn` exceeds the maximum lifetime of tokens.
    const { accessSeconds } = this.#sessions.options
    await authentication.createAccessToken({}, { expiresIn: accessSeconds, subject: 'start' })
    await this.#records.prepare()
    // Concurrent calls all get here: the first one registers the strategy.
    if (this.#isInstalled) return
    authentication.register('refresh', new RefreshStrategy(authentication, this.#sessions))
    this.#isInstalled = true
  }

  async begin(params: AuthenticationParams): Promise<AuthenticationParams> {
    await this.#open()
    const login = { ...params, proven: [] }
    return carryFacts(params, login)
  }

  async issue(login: ProvenLogin): Promise<AuthenticationResult> {
    return (await this.#open()).begin(login)
  }

  parse(
    request: AuthenticationHttpRequest,
    strategies: readonly string[],
  ): AuthenticationRequest | null {
    return this.#cookies.parse(request, strategies)
  }

  verify({ sid }: AccessTokenPayload): Promise<void> | undefined {
    if (typeof sid !== 'string') return undefined
    return this.#open().then((sessions) => sessions.check(sid))
  }

  isLogoutId(id: NullableId, { query }: AuthenticationParams): boolean {
    if (id !== 'all') return false
    readKeep(query)
    return true
  }

  async end(
    id: NullableId,
    { query }: AuthenticationParams,
    result: AuthenticationResult,
    revoke: () => Promise<void>,
  ): Promise<void> {
    const sessions = await this.#open()
    const { sid, sub = '' } = getTokenClaims(result.authentication)
    const own = typeof sid === 'string' ? sid : undefined
    const isAll = id === 'all'
    if (isAll && readKeep(query) === 'current') return sessions.endAll(sub, own)
    await revoke()
    if (isAll) await sessions.endAll(sub)
    else if (own !== undefined) await sessions.end(own)
  }

  async endAll(userId: unknown, keep: string | undefined): Promise<void> {
    const { configKey, configuration } = this.#authentication
    if (configuration.sessions === undefined) {
      throw new SettingError(`endSessions() needs the setting '${configKey}.sessions'`)
    }
    const id = userId == null ? '' : String(userId)
    if (id === '' || id.startsWith('[object')) {
      throw new ArgumentError('endSessions() takes the id of a user')
    }
    await (await this.#open()).endAll(id, keep)
  }

  toLogEntry(
    { id, method, params }: HookContext,
    { authentication }: AuthenticationResult,
  ): { readonly event: string; readonly message: string } | null {
    // A refresh is not a new login.
    if (authentication?.strategy === 'refresh' && method === 'create') {
      return { event: 'refresh', message: 'Session renewed' }
    }
    // The caller stays logged in.
    const isOther = id === 'all' && params.query?.['keep'] !== undefined
    return isOther ? { event: 'end', message: 'Other sessions ended' } : null
  }

  describe(): LoginDescription {
    const { configKey, configuration, parseStrategies } = this.#authentication
    const { cookie = false, cookiePath = '/' } = configuration.sessions ?? {}
    const toScheme = (kind: 'access' | 'refresh', path: string) => {
      return { type: 'apiKey', in: 'cookie', name: toCookieName(configKey, kind, path) }
    }
    const refreshToken = { refreshToken: { type: 'string' } }
    if (!cookie) return { data: refreshToken, result: refreshToken }
    const refresh = { name: 'refreshCookie', scheme: toScheme('refresh', cookiePath) }
    const schemes = [{ ...refresh, strategy: null as string | null }]
    // A token in a cookie is not in the response body.
    if (cookie !== 'all') return { schemes }
    const finder = findUserFinder(this.#authentication)?.name
    if (finder !== undefined && parseStrategies.includes(finder)) {
      schemes.push({ name: 'cookie', scheme: toScheme('access', '/'), strategy: finder })
    }
    return { result: { accessToken: null }, schemes }
  }

  /**
   * Resolves to the sessions once they are set up. If that fails, the next call tries again.
   * @throws {Unavailable} the set-up fails
   */
  async #open(): Promise<Sessions> {
    if (!this.#isInstalled) await orNotReady('sessions', this.setup())
    return this.#sessions
  }
}

/** @throws {BadRequest} a query that means nothing here: which sessions end must not be guessed */
function readKeep({ keep, ...others }: Query = {}): 'current' | null {
  const [other] = Object.keys(others)
  if (other !== undefined || (keep !== undefined && keep !== 'current')) {
    throw new InvalidQuery(`All sessions are ended by '?keep=current' or without a query`)
  }
  return keep === undefined ? null : 'current'
}

/**
 * Returns a hook that ends the sessions of users whose password or user name changes, who are removed, or who are set
 * to `isActive: false`. A session that changes its user's own password continues.
 */
function createUserWatch(authentication: Authentication, sessions: Sessions): AroundHook {
  return async (context, next) => {
    const { app, configuration } = authentication
    const entityService = findEntityService(app, configuration.service)
    const idName = getEntityIdName({ configuration, entityService })
    const ends = await endsLogins(authentication, context)
    await next()
    // Checked again: a hook may have set the password from a field with another name.
    const change = readChange(context.data)
    if (!ends && !setsPassword(listLoginFields(authentication), change)) return
    const { sid, sub } = getTokenClaims(context.params.authentication)
    const found = [context.result].flat().map((user) => (isObject(user) ? user[idName] : undefined))
    const changed = context.id == null ? found : [context.id]
    const ids = changed.filter((id) => id != null).map(String)
    for (const id of ids) {
      const isOwn = sub === id && context.method !== 'remove'
      const keep = isOwn && typeof sid === 'string' ? sid : undefined
      // Both at once: a refresh of the session in between finds it outdated.
      await Promise.all([
        sessions.endAll(id, keep),
        keep !== undefined && sessions.keep(keep, id, 'isActive' in change.fields),
      ])
    }
    // Logins read the user unchanged until a transaction commits.
    afterCommit(() => {
      sessions
        .endOutdated(ids)
        .catch((error: unknown) =>
          app.logger.error({ err: error }, 'Sessions of before a transaction could not be ended'),
        )
    })
  }
}

/** Returns whether a call changes the password or the user name of users, or disables them. */
async function endsLogins(authentication: Authentication, context: HookContext): Promise<boolean> {
  const { id, data, method, service } = context
  // An update replaces the whole record, including the password.
  if (method === 'remove' || method === 'update') return true
  const change = readChange(data)
  const { fields, targets, removed } = change
  const loginFields = listLoginFields(authentication)
  const { names } = loginFields
  if (setsPassword(loginFields, change)) return true
  if (targets.includes('isActive') || ('isActive' in fields && !fields['isActive'])) return true
  if (names.some((name) => removed.includes(name) || targets.includes(name))) return true
  const given = names.filter((name) => writesField(change, name))
  if (given.length === 0 || id == null) return given.length > 0
  // Forms send all fields, changed or not, so the name is compared with the stored one.
  const users = service as unknown as { get(id: unknown, params: object): Promise<unknown> }
  const before = (await users.get(id, {}).catch(() => null)) as Record<string, unknown> | null
  const readNew = (name: string): unknown => fields[name] ?? getField(fields, name)
  return before === null || given.some((name) => getField(before, name) !== readNew(name))
}
