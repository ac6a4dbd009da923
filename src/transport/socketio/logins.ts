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

/** The clients whose logins may change. */
export interface Connections {
  readonly clients: ReadonlyMap<object, Client>
  /** Ends a client whose login has ended. */
  end(client: Client): void
}

/** Ends the connections of logins that have ended. */
export function endLogins(connections: Connections, end: LoginEnd): void {
  for (const client of connections.clients.values()) {
    if (isEndedBy(end, readClaims(client.connection))) connections.end(client)
  }
}

/** Returns the claims of the access token that a connection has logged in by, which was verified then. */
function readClaims({ authentication }: Connection): Partial<AccessTokenPayload> {
  const { accessToken } = (authentication ?? {}) as { readonly accessToken?: unknown }
  try {
    return typeof accessToken === 'string' ? decodeClaims(accessToken) : {}
  } catch {
    // What another strategy than that of JSON Web Tokens has issued.
    return {}
  }
}

/** What an event says of the user of connections. */
export interface UserChange {
  /** The key of the settings of the authentication service. */
  readonly login: string
  readonly id: string
  /** Whether logins of the user have ended. */
  readonly isEnd: boolean
}

/** Returns what an event says of a user, to each authentication service with users of this service. */
export function findUserChanges(
  app: Application,
  { entry, event, data, context }: Omit<ServiceEvent, 'path'>,
): UserChange[] {
  if (event === 'created' || !isObject(data)) return []
  return [...authenticationServices(app)].flatMap(([login, authentication]) => {
    const { configuration } = authentication
    const entityService = findEntityService(app, configuration.service)
    const isOther = (entityService as object | null) !== entry.service
    if (configuration.entity == null || isOther) return []
    const id = String(data[getEntityIdName({ configuration, entityService })])
    const change = readChange(context?.data)
    const isEnd = event === 'removed' || setsPassword(listLoginFields(authentication), change)
    return [{ login, id, isEnd }]
  })
}

/**
 * Keeps the user of connections as it is stored. They end if it is gone, may no longer log in, or has another password.
 * Never rejects.
 */
export async function followUser(
  app: Application,
  { login, id, isEnd }: UserChange,
  connections: Connections,
): Promise<void> {
  const authentication = authenticationServices(app).get(login)
  if (authentication === undefined) return
  const { configuration } = authentication
  const { entity, service } = configuration
  if (entity == null) return
  const idName = getEntityIdName({ configuration, entityService: findEntityService(app, service) })
  const isOwn = ({ connection: { [entity]: user } }: Client): boolean =>
    isObject(user) && String(user[idName]) === id
  const own = [...connections.clients.values()].filter(isOwn)
  const [first] = own
  if (first === undefined) return
  try {
    const user = isEnd ? null : await readUser(authentication, id, first.connection)
    // Others have logged out, or in as somebody else, meanwhile.
    for (const client of own.filter(isOwn)) {
      if (user === null) connections.end(client)
      else client.connection[entity] = user
    }
  } catch (error) {
    logListenerError(app, error, `${String(service)} patched`)
  }
}

/** Resolves to a user as external callers see it, `null` if it may not log in. */
async function readUser(
  authentication: Authentication,
  id: string,
  { headers, provider }: Connection,
): Promise<unknown> {
  const params = { headers, provider, query: {} }
  try {
    return (await findUserFinder(authentication)?.getEntity(id, params)) ?? null
  } catch (error) {
    if (error instanceof ServiceError && error.code < 500) return null
    throw error
  }
}
