import type { Authentication } from '../../auth/authentication.ts'
import { findEntityService, findUserFinder, getField } from '../../auth/entity-service.ts'
import { onLoginEnd } from '../../auth/login-end.ts'
import { getTokenClaims } from '../../auth/proof.ts'
import type { AccessTokenPayload } from '../../auth/tokens/token-claims.ts'
import type { Application, HookContext, Params } from '../../core/index.ts'
import { ServiceError } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { Connection } from './connection.ts'

/** What is done with the connections whose login has changed. */
export interface Connections {
  all(): Iterable<Connection>
  /** Ends a connection. */
  end(connection: Connection): void
}

/** Ends connections whose login has ended elsewhere: by a logout that revokes the token, or the end of a session. */
export function followLogins(app: Application, connections: Connections): void {
  onLoginEnd(app, (isEnded) => {
    endWhere(connections, (connection) => isEnded(readClaims(connection)))
  })
  app.on('logout', (result: Tokens, params: Params, { service }: HookContext) => {
    if ((service as Partial<Authentication>).revocationList == null) return
    const { jti } = getTokenClaims(result.authentication)
    if (jti === undefined) return
    endWhere(
      connections,
      // That of the logout itself stays open: it has just lost its login.
      (connection) => connection !== params.connection && readClaims(connection).jti === jti,
    )
  })
}

function endWhere(connections: Connections, test: (connection: Connection) => boolean): void {
  for (const connection of connections.all()) if (test(connection)) connections.end(connection)
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

/** What has happened to a record that may be a user. */
interface UserChange {
  readonly service: object
  readonly event: string
  readonly data: unknown
  /** The context of the call, `undefined` for an event that a program has emitted by itself. */
  readonly context: HookContext | undefined
}

/**
 * Keeps the users of connections as they are stored. A connection ends if its user is gone, may no longer log in, or has
 * another password.
 */
export async function followUser(
  authentication: Authentication,
  { service, event, data, context }: UserChange,
  connections: Connections,
): Promise<void> {
  const { app, configuration } = authentication
  const { entity } = configuration
  const users = findEntityService(app, configuration.service)
  if (entity == null || (users as object | null) !== service || !isObject(data)) return
  const idName = String(configuration.entityId ?? users?.id ?? 'id')
  const id = String(data[idName])
  const own = [...connections.all()].filter((connection) => {
    const user = connection[entity]
    return isObject(user) && String(user[idName]) === id
  })
  if (own.length === 0 || event === 'created') return
  const user =
    event === 'removed' || setsPassword(authentication, context?.data)
      ? null
      : await readUser(authentication, id, own[0] as Connection)
  for (const connection of own) {
    if (user === null) connections.end(connection)
    // It may have logged out, or in as somebody else, meanwhile.
    else if (String((connection[entity] as Fields | undefined)?.[idName]) === id) {
      connection[entity] = user
    }
  }
}

type Fields = Record<string, unknown>

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
