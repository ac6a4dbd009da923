import type { AuthenticationRequest, HookContext, NullableId, Query } from '../../core/index.ts'
import { BadRequest } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { carryFacts } from '../../core/transport-facts.ts'
import type {
  Authentication,
  AuthenticationHttpRequest,
  AuthenticationResult,
  LoginDescription,
  LoginExtension,
  ProvenLogin,
} from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { findUserFinder } from '../entity-service.ts'
import { emitLoginEnd } from '../login-end.ts'
import { getTokenClaims } from '../proof.ts'
import { checkExists } from '../settings/configuration-check.ts'
import type { AccessTokenPayload } from '../tokens/access-token.ts'
import { SessionGate } from './session-gate.ts'
import { resolveSessionOptions, SESSIONS_RULE, toCookieName } from './session-options.ts'
import type { SessionEnd, Sessions } from './sessions.ts'

/** The sessions of logins: each login gets a refresh token, and can be ended on the server. */
export class SessionLogins implements LoginExtension {
  readonly setting = 'sessions'
  readonly rule: OptionRule = SESSIONS_RULE
  readonly strategies: readonly string[] = ['refresh']
  readonly #authentication: Authentication
  readonly #gate: SessionGate
  /** The path of the service with the sessions, as the last check has found it. */
  #path: string | undefined

  constructor(authentication: Authentication) {
    const { app } = authentication
    this.#authentication = authentication
    this.#gate = new SessionGate(authentication)
    app.on('sessionEnd', (end: SessionEnd) => {
      emitLoginEnd(app, (claims) => isEndedBy(end, claims))
    })
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
      throw new TypeError(
        `'${name}.service' can not change while the application runs: what keeps sessions is guarded from the start`,
      )
    }
    this.#path = sessions?.service
  }

  guard(): void {
    this.#gate.place()
  }

  setup(): Promise<Sessions> {
    return this.#gate.install()
  }

  async begin(params: AuthenticationParams): Promise<AuthenticationParams> {
    await this.#gate.open()
    const login = { ...params, proven: [] }
    return carryFacts(params, login)
  }

  async issue(login: ProvenLogin): Promise<AuthenticationResult> {
    return (await this.#gate.open()).begin(login)
  }

  parse(
    request: AuthenticationHttpRequest,
    strategies: readonly string[],
  ): AuthenticationRequest | null {
    return this.#gate.cookies?.parse(request, strategies) ?? null
  }

  verify({ sid }: AccessTokenPayload): Promise<void> | undefined {
    if (typeof sid !== 'string') return undefined
    return this.#gate.open().then((sessions) => sessions.check(sid))
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
    const sessions = await this.#gate.open()
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
      throw new TypeError(`endSessions() needs the setting '${configKey}.sessions'`)
    }
    const id = userId == null ? '' : String(userId)
    if (id === '' || id.startsWith('[object')) {
      throw new TypeError('endSessions() takes the id of a user')
    }
    await (await this.#gate.open()).endAll(id, keep)
  }

  toLogEntry(
    { id, method, params }: HookContext,
    { authentication }: AuthenticationResult,
  ): ReturnType<NonNullable<LoginExtension['toLogEntry']>> {
    // Nobody logs in by it: the login goes on.
    if (authentication?.strategy === 'refresh' && method === 'create') {
      return { event: 'refresh', message: 'Session renewed' }
    }
    // The caller goes on.
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
    // Tokens in cookies are in no body.
    if (cookie !== 'all') return { schemes }
    const finder = findUserFinder(this.#authentication)?.name
    if (finder !== undefined && parseStrategies.includes(finder)) {
      schemes.push({ name: 'cookie', scheme: toScheme('access', '/'), strategy: finder })
    }
    return { result: { accessToken: null }, schemes }
  }
}

/** Whether an event ends the login of a token: its session, or all sessions of its user except one. */
function isEndedBy(
  { sid, userId, keep }: SessionEnd,
  claims: Partial<AccessTokenPayload>,
): boolean {
  if (claims['sid'] === undefined || claims['sid'] === keep) return false
  return sid === undefined ? claims.sub === userId : claims['sid'] === sid
}

/** @throws {BadRequest} a query that means nothing here: which sessions end must not be guessed */
function readKeep({ keep, ...others }: Query = {}): 'current' | null {
  const [other] = Object.keys(others)
  if (other !== undefined || (keep !== undefined && keep !== 'current')) {
    throw new BadRequest(`All sessions are ended by '?keep=current' or without a query`)
  }
  return keep === undefined ? null : 'current'
}
