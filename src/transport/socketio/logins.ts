import type { Authentication } from '../../auth/authentication.ts'
import { authenticationServices } from '../../auth/default-authentication.ts'
import { findEntityService, findUserFinder, getField } from '../../auth/entity-service.ts'
import type { LoginEnd } from '../../auth/login-end.ts'
import { isEndedBy, onLoginEnd } from '../../auth/login-end.ts'
import { getTokenClaims } from '../../auth/proof.ts'
import type { AccessTokenPayload } from '../../auth/tokens/token-claims.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import type { Application, HookContext, Params } from '../../core/index.ts'
import { ServiceError } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { Connection } from './connection.ts'
import type { ServiceEvent } from './publishing.ts'

/** What is done with the connections whose login has changed. */
export interface Connections {
  all(): Iterable<Connection>
  /** Ends a connection. */
  end(connection: Connection): void
}

/**
 * Ends connections whose login has ended elsewhere: by a logout that revokes the token, or the end of a session.
 * @param tell called with what has ended
 */
export function followLogins(
  app: Application,
  connections: Connections,
  tell: (end: LoginEnd) => void,
): void {
  onLoginEnd(app, (end) => {
    endLogins(connections, end)
    tell(end)
  })
  app.on('logout', (result: Tokens, params: Params, { service }: HookContext) => {
    if ((service as Partial<Authentication>).revocationList == null) return
    const { jti } = getTokenClaims(result.authentication)
    if (jti === undefined) return
    // That of the logout itself stays open: it has just lost its login.
    endLogins(connections, { jti }, params.connection)
    tell({ jti })
  })
}

/** Ends the connections of logins that have ended, except one. */
export function endLogins(connections: Connections, end: LoginEnd, kept?: unknown): void {
  for (const connection of connections.all()) {
    if (connection !== kept && isEndedBy(end, readClaims(connection))) connections.end(connection)
  }
}

type Tokens = Parameters<typeof getTokenClaims>[0] extends infer A
  ? { readonly authentication?: A }
  : never

/** Returns the claims of the access token that a connection has logged in by, which was verified then. */
function readClaims({ authentication }: Connection): Partial<AccessTokenPayload> {
  const { accessToken } = (authentication ?? {}) as { readonly accessToken?: unknown }
  const [, payload] = typeof accessToken === 'string' ? accessToken.split('.') : []
  if (payload === undefined) return {}
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Partial<AccessTokenPayload>
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
    const { entity, entityId, service } = authentication.configuration
    const users = findEntityService(app, service)
    if (entity == null || (users as object | null) !== entry.service) return []
    const id = String(data[String(entityId ?? users?.id ?? 'id')])
    const isEnd = event === 'removed' || setsPassword(authentication, context?.data)
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
  const { entity, entityId, service } = authentication?.configuration ?? {}
  if (authentication === undefined || entity == null) return
  const idName = String(entityId ?? findEntityService(app, service)?.id ?? 'id')
  const isOfUser = ({ [entity]: user }: Connection): boolean =>
    isObject(user) && String(user[idName]) === id
  const own = [...connections.all()].filter(isOfUser)
  if (own.length === 0) return
  try {
    const user = isEnd ? null : await readUser(authentication, id, own[0] as Connection)
    for (const connection of own) {
      if (user === null) connections.end(connection)
      // It may have logged out, or in as somebody else, meanwhile.
      else if (isOfUser(connection)) connection[entity] = user
    }
  } catch (error) {
    logListenerError(app, error, `${String(service)} patched`)
  }
}

/** Whether the data of a write has a password that somebody logs in by. */
function setsPassword(authentication: Authentication, data: unknown): boolean {
  const fields = authentication.strategyNames.map((name) => {
    const { configuration = {} } = (authentication.getStrategy(name) ?? {}) as Configured
    return configuration['entityPasswordField'] ?? configuration['passwordField']
  })
  return (
    isObject(data) &&
    fields.some(
      (field) =>
        typeof field === 'string' && (field in data || getField(data, field) !== undefined),
    )
  )
}

interface Configured {
  readonly configuration?: Readonly<Record<string, unknown>>
}

/** Resolves to a user as external callers see it, `null` if it may not log in. */
async function readUser(
  authentication: Authentication,
  id: string,
  { headers, provider }: Connection,
): Promise<unknown> {
  try {
    return (
      (await findUserFinder(authentication)?.getEntity(id, { headers, provider, query: {} })) ??
      null
    )
  } catch (error) {
    if (error instanceof ServiceError && error.code < 500) return null
    throw error
  }
}
