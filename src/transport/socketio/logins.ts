import type { Authentication } from '../../auth/authentication.ts'
import { authenticationServices } from '../../auth/default-authentication.ts'
import { findEntityService, findUserFinder, getEntityIdName } from '../../auth/entity-service.ts'
import type { LoginEnd } from '../../auth/login-end.ts'
import { isEndedBy } from '../../auth/login-end.ts'
import { listLoginFields, readChange, setsPassword } from '../../auth/login-fields.ts'
import { decodeClaims } from '../../auth/tokens/access-token.ts'
import type { AccessTokenPayload } from '../../auth/tokens/token-claims.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import type { Application } from '../../core/index.ts'
import { ServiceError } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { Client, Connection } from './connection.ts'
import type { ServiceEvent } from './publishing.ts'

/** The events of users that may end logins. */
const CHANGES: readonly string[] = ['updated', 'patched', 'removed']

/** A change of a user who may be logged in. */
export interface UserChange {
  /** The key of the settings of the user's authentication service. */
  readonly login: string
  readonly id: string
  /** Whether the change ends the logins of the user. */
  readonly isEnd: boolean
}

/** Keeps the users of connections current, and ends connections whose logins have ended. */
export class Logins {
  readonly #app: Application
  readonly #clients: ReadonlyMap<object, Client>
  readonly #end: (client: Client) => void
  /** Counts changes of users and ends of logins. A login during which it has grown is checked again. */
  changes = 0

  constructor(
    app: Application,
    clients: ReadonlyMap<object, Client>,
    end: (client: Client) => void,
  ) {
    this.#app = app
    this.#clients = clients
    this.#end = end
  }

  /** Ends the connections of logins that have ended. */
  end(end: LoginEnd): void {
    this.changes += 1
    for (const client of this.#clients.values()) {
      if (isEndedBy(end, readClaims(client.connection))) this.#end(client)
    }
  }

  /** Returns the change of a user that an event reports, for each authentication service with users of this service. */
  findUserChanges({ entry, event, data, context }: Omit<ServiceEvent, 'path'>): UserChange[] {
    if (!CHANGES.includes(event) || !isObject(data)) return []
    return [...authenticationServices(this.#app)].flatMap(([login, authentication]) => {
      const { configuration } = authentication
      const entityService = findEntityService(this.#app, configuration.service)
      const isOther = (entityService as object | null) !== entry.service
      if (configuration.entity == null || isOther) return []
      const id = String(data[getEntityIdName({ configuration, entityService })])
      const change = readChange(context?.data)
      const isEnd = event === 'removed' || setsPassword(listLoginFields(authentication), change)
      return [{ login, id, isEnd }]
    })
  }

  /**
   * Replaces the user of connections by the stored one, or ends them: if the user is gone, may not log in any more, cannot
   * be read, or has another password. Never rejects.
   */
  async followUser({ login, id, isEnd }: UserChange): Promise<void> {
    this.changes += 1
    const authentication = authenticationServices(this.#app).get(login)
    const entity = authentication?.configuration.entity
    if (authentication === undefined || entity == null) return
    const idName = this.#getIdName(authentication)
    const isOwn = ({ connection: { [entity]: user } }: Client): boolean =>
      isObject(user) && String(user[idName]) === id
    const own = [...this.#clients.values()].filter(isOwn)
    const [first] = own
    if (first === undefined) return
    // The read that began last has the newest record, whichever ends last.
    const read = {}
    for (const { userReads } of own) userReads.set(login, read)
    const user = isEnd ? null : await this.#readUser(authentication, id, first.connection)
    for (const client of own) {
      // Meanwhile, the client may have logged out, or in as another user.
      if (client.userReads.get(login) !== read || !isOwn(client)) continue
      if (user === null) this.#end(client)
      else client.connection[entity] = user
    }
  }

  /**
   * Checks a new login again if users have changed, or logins ended, while it was running: these did not find the
   * connection yet. Never rejects.
   */
  async checkLogin(authentication: Authentication, client: Client): Promise<void> {
    const { connection, changesBefore, userReads } = client
    const { authentication: proof, headers, provider } = connection
    if (proof === undefined || this.changes === changesBefore) return
    const { configKey, configuration } = authentication
    const read = {}
    userReads.set(configKey, read)
    try {
      const params = { headers, provider, query: {} }
      const result = await authentication.authenticate(proof, params, String(proof.strategy))
      if (connection.authentication !== proof || userReads.get(configKey) !== read) return
      const { entity } = configuration
      if (entity != null) connection[entity] = result[entity]
    } catch (error) {
      this.#logFault(error, 'login')
      if (connection.authentication === proof) this.#end(client)
    }
  }

  /** Resolves to a user as external callers see it, `null` if it may not log in, or cannot be read. */
  async #readUser(
    authentication: Authentication,
    id: string,
    { headers, provider }: Connection,
  ): Promise<unknown> {
    const params = { headers, provider, query: {} }
    try {
      return (await findUserFinder(authentication)?.getEntity(id, params)) ?? null
    } catch (error) {
      this.#logFault(error, `${String(authentication.configuration.service)} patched`)
      return null
    }
  }

  /** Logs an error, unless it only rejects the login. */
  #logFault(error: unknown, event: string): void {
    const isRejection = error instanceof ServiceError && error.code < 500
    if (!isRejection) logListenerError(this.#app, error, event)
  }

  #getIdName({ configuration }: Authentication): string {
    const entityService = findEntityService(this.#app, configuration.service)
    return getEntityIdName({ configuration, entityService })
  }
}

/** Returns the claims of the access token of a connection, which the login has verified. */
function readClaims({ authentication }: Connection): Partial<AccessTokenPayload> {
  const { accessToken } = (authentication ?? {}) as { readonly accessToken?: unknown }
  try {
    return typeof accessToken === 'string' ? decodeClaims(accessToken) : {}
  } catch {
    // A custom strategy may issue other tokens than JSON Web Tokens.
    return {}
  }
}
