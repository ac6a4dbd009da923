import type { Authentication } from '../../auth/authentication.ts'
import type { AuthenticationParams } from '../../auth/authentication-params.ts'
import { authenticationServices } from '../../auth/default-authentication.ts'
import { findEntityService, findUserFinder, getEntityIdName } from '../../auth/entity-service.ts'
import type { LoginEnd } from '../../auth/login-end.ts'
import { isEndedBy } from '../../auth/login-end.ts'
import { listLoginFields, readChange, setsPassword } from '../../auth/login-fields.ts'
import { decodeClaims } from '../../auth/tokens/access-token.ts'
import type { AccessTokenPayload } from '../../auth/tokens/token-claims.ts'
import { RecordNotFound } from '../../core/errors/coded-errors.ts'
import type { Application } from '../../core/index.ts'
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

/** Ends the connections of logins that have ended. */
export function endLogins(hub: Hub, end: LoginEnd): void {
  hub.changes += 1
  for (const client of hub.clients.values()) {
    if (isEndedBy(end, readClaims(client.connection))) hub.end(client)
  }
}

/** Returns the change of a user that an event reports, for each authentication service with users of this service. */
export function findUserChanges(
  app: Application,
  { entry, event, data, context }: ServiceEvent,
): UserChange[] {
  if (!CHANGES.includes(event) || !isObject(data)) return []
  return [...authenticationServices(app)].flatMap(([login, authentication]) => {
    const { entity, service, idName } = findUsers(app, authentication)
    if (entity == null || (service as object | null) !== entry.service) return []
    const fields = listLoginFields(authentication)
    const isEnd = event === 'removed' || setsPassword(fields, readChange(context?.data))
    return [{ login, id: String(data[idName]), isEnd }]
  })
}

/** Ends the connections of a user, or replaces their user by the stored one. */
export function followUser(hub: Hub, { login, id, isEnd }: UserChange): void {
  hub.changes += 1
  const authentication = authenticationServices(hub.app).get(login)
  if (authentication === undefined) return
  const { entity, idName } = findUsers(hub.app, authentication)
  const finder = findUserFinder(authentication)
  // One read for all connections of the user.
  let reading: Promise<unknown> | undefined
  for (const client of hub.clients.values()) {
    const isOwn = (): boolean => {
      const user = client.connection[String(entity)]
      return isObject(user) && String(user[idName]) === id
    }
    if (!isOwn()) continue
    if (isEnd || finder === undefined) hub.end(client)
    else {
      void replaceUser(hub, client, entity, isOwn, async (params) => {
        reading ??= finder.getEntity(id, params)
        return (await reading) ?? Promise.reject(new RecordNotFound('The user is gone'))
      })
    }
  }
}

/**
 * Checks a new login again if users have changed, or logins ended, while it was running: these did not find the
 * connection yet. Never rejects.
 */
export async function checkLogin(
  hub: Hub,
  authentication: Authentication,
  client: Client,
): Promise<void> {
  const { connection, changesBefore } = client
  const { authentication: proof } = connection
  if (proof === undefined || hub.changes === changesBefore) return
  const { entity } = authentication.configuration
  const isCurrent = (): boolean => connection.authentication === proof
  await replaceUser(hub, client, entity, isCurrent, async (params) => {
    const result = await authentication.authenticate(proof, params, String(proof.strategy))
    return result[String(entity)]
  })
}

/**
 * Replaces the user of a connection by what `read` resolves to. If it rejects, the connection ends: the user is gone, may
 * not log in any more, or cannot be read. Never rejects.
 * @param isCurrent whether the client has neither logged out nor in as another user meanwhile
 */
async function replaceUser(
  hub: Hub,
  client: Client,
  entity: string | null | undefined,
  isCurrent: () => boolean,
  read: (params: AuthenticationParams) => Promise<unknown>,
): Promise<void> {
  const { connection, latestReads } = client
  const { headers, provider } = connection
  // The read that began last has the newest record, whichever ends last.
  const latest = {}
  latestReads.set(entity, latest)
  try {
    const user = await read({ headers, provider, query: {} })
    const isLatest = latestReads.get(entity) === latest
    if (isCurrent() && entity != null && isLatest) connection[entity] = user
  } catch (error) {
    logFault(hub.app, error, 'login')
    if (isCurrent()) hub.end(client)
  }
}

function findUsers(app: Application, { configuration }: Authentication) {
  const service = findEntityService(app, configuration.service)
  const idName = getEntityIdName({ configuration, entityService: service })
  return { entity: configuration.entity, service, idName }
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
