import type { Authentication } from '../../auth/authentication.ts'
import type { AuthenticationParams } from '../../auth/authentication-params.ts'
import { authenticationServices } from '../../auth/default-authentication.ts'
import { findEntityService, findUserFinder, getEntityIdName } from '../../auth/entity-service.ts'
import type { LoginEnd } from '../../auth/login-end.ts'
import { isEndedBy } from '../../auth/login-end.ts'
import { listLoginFields, readChange, setsPassword } from '../../auth/login-fields.ts'
import { decodeClaims } from '../../auth/tokens/access-token.ts'
import type { AccessTokenPayload } from '../../auth/tokens/token-claims.ts'
import { NotFound } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { Client, Connection, Hub } from './connection.ts'
import { logFault } from './connection.ts'
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
  readonly #hub: Hub
  /** Counts changes of users and ends of logins. A login during which it has grown is checked again. */
  changes = 0

  constructor(hub: Hub) {
    this.#hub = hub
  }

  /** Ends the connections of logins that have ended. */
  end(end: LoginEnd): void {
    this.changes += 1
    for (const client of this.#hub.clients.values()) {
      if (isEndedBy(end, readClaims(client.connection))) this.#hub.end(client)
    }
  }

  /** Returns the change of a user that an event reports, for each authentication service with users of this service. */
  findUserChanges({ entry, event, data, context }: ServiceEvent): UserChange[] {
    if (!CHANGES.includes(event) || !isObject(data)) return []
    return [...authenticationServices(this.#hub.app)].flatMap(([login, authentication]) => {
      const { entity, service, idName } = this.#findUsers(authentication)
      if (entity == null || (service as object | null) !== entry.service) return []
      const fields = listLoginFields(authentication)
      const isEnd = event === 'removed' || setsPassword(fields, readChange(context?.data))
      return [{ login, id: String(data[idName]), isEnd }]
    })
  }

  /** Ends the connections of a user, or replaces their user by the stored one. */
  followUser({ login, id, isEnd }: UserChange): void {
    this.changes += 1
    const authentication = authenticationServices(this.#hub.app).get(login)
    if (authentication === undefined) return
    const { entity, idName } = this.#findUsers(authentication)
    // One read for all connections of the user.
    let reading: Promise<unknown> | undefined
    for (const client of this.#hub.clients.values()) {
      const isOwn = (): boolean => {
        const user = client.connection[String(entity)]
        return isObject(user) && String(user[idName]) === id
      }
      if (!isOwn()) continue
      const finder = findUserFinder(authentication)
      if (isEnd || finder === undefined) this.#hub.end(client)
      else {
        void this.#replace(client, entity, isOwn, async (params) => {
          reading ??= finder.getEntity(id, params)
          return (await reading) ?? Promise.reject(new NotFound('The user is gone'))
        })
      }
    }
  }

  /**
   * Checks a new login again if users have changed, or logins ended, while it was running: these did not find the
   * connection yet. Never rejects.
   */
  async checkLogin(authentication: Authentication, client: Client): Promise<void> {
    const { connection, changesBefore } = client
    const { authentication: proof } = connection
    if (proof === undefined || this.changes === changesBefore) return
    const { entity } = authentication.configuration
    const isCurrent = (): boolean => connection.authentication === proof
    await this.#replace(client, entity, isCurrent, async (params) => {
      const result = await authentication.authenticate(proof, params, String(proof.strategy))
      return result[String(entity)]
    })
  }

  /**
   * Replaces the user of a connection by what `read` resolves to. If it rejects, the connection ends: the user is gone, may
   * not log in any more, or cannot be read. Never rejects.
   * @param isCurrent whether the client has neither logged out nor in as another user meanwhile
   */
  async #replace(
    client: Client,
    entity: string | null | undefined,
    isCurrent: () => boolean,
    read: (params: AuthenticationParams) => Promise<unknown>,
  ): Promise<void> {
    const { connection } = client
    const { headers, provider } = connection
    // The read that began last has the newest record, whichever ends last.
    const latest = {}
    client.latestReads.set(entity, latest)
    const isLatest = (): boolean => client.latestReads.get(entity) === latest
    try {
      const user = await read({ headers, provider, query: {} })
      if (isCurrent() && entity != null && isLatest()) connection[entity] = user
    } catch (error) {
      logFault(this.#hub.app, error, 'login')
      if (isCurrent()) this.#hub.end(client)
    }
  }

  #findUsers({ configuration }: Authentication) {
    const service = findEntityService(this.#hub.app, configuration.service)
    const idName = getEntityIdName({ configuration, entityService: service })
    return { entity: configuration.entity, service, idName }
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
