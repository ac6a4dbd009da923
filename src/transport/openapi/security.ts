import type { Authentication } from '../../auth/authentication.ts'
import { authenticationServices, isAuthentication } from '../../auth/default-authentication.ts'
import { findStrategies } from '../../auth/hooks/open-methods.ts'
import type { Application, ServiceEntry } from '../../core/index.ts'
import type { JSONSchema, MethodSchemas } from '../../core/services/service-schemas.ts'
import type { DocumentSchema } from './components.ts'

/** What callers of a method have to prove. */
export interface Security {
  /** The schemes that prove it, by their names. */
  readonly schemes: Readonly<Record<string, DocumentSchema>>
  /** The `security` of the operation, of which one is enough; empty where nobody knows how to prove it. */
  readonly requirements: readonly object[]
}

/** The name that the scheme of tokens has in documents. */
const BEARER = 'bearer'

/** @see https://spec.openapis.org/oas/v3.1.1.html#security-scheme-object */
const BEARER_SCHEME: DocumentSchema = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'The `accessToken` that a login returns.',
}

/** The strategy that accepts callers who prove nothing, in Feathers too. */
const ANONYMOUS = 'anonymous'

/** The strategy of tokens, for documents of applications without an authentication service. */
const JWT = 'jwt'

/** The strategy of passwords. */
const LOCAL = 'local'

/**
 * Returns what the `authenticate` hook of a method asks for, `null` where anybody may call it. A logout
 * takes the token that it ends.
 */
export function readSecurity(
  app: Application,
  entry: ServiceEntry,
  method: string,
): Security | null {
  const isLogout = method === 'remove' && isAuthentication(entry.service)
  const strategies = isLogout ? [JWT] : findStrategies(entry, method)
  if (strategies === null) return null
  const schemes: Record<string, DocumentSchema> = {}
  for (const strategy of strategies) {
    const scheme = findScheme(app, strategy) ?? (isLogout ? BEARER_SCHEME : undefined)
    if (scheme === undefined) continue
    const isBearer = scheme['scheme'] === BEARER
    schemes[isBearer ? BEARER : strategy.replace(/[^A-Za-z0-9._-]/g, '')] = scheme
  }
  const requirements: object[] = Object.keys(schemes).map((name) => ({ [name]: [] }))
  if (requirements.length > 0 && strategies.includes(ANONYMOUS)) requirements.push({})
  return { schemes, requirements }
}

/** Strategies say what they read; of those that do not, `authenticate` says that there is a proof. */
function findScheme(app: Application, name: string): DocumentSchema | undefined {
  for (const authentication of authenticationServices(app).values()) {
    const strategy = authentication.getStrategy(name)
    if (strategy !== undefined) return strategy.securityScheme
  }
  return name === JWT ? BEARER_SCHEME : undefined
}

/** Returns what a login sends and gets, by the settings of an authentication service. */
export function toLoginSchemas({ configuration }: Authentication, method: string): MethodSchemas {
  const { authStrategies, entity, sessions } = configuration
  const refresh = sessions === undefined ? [] : ['refresh']
  const local = describeLocal(configuration)
  const any: JSONSchema = { type: 'object', additionalProperties: true }
  const result: JSONSchema = {
    type: 'object',
    required: ['accessToken', 'authentication'],
    properties: {
      accessToken: { type: 'string', description: 'The token for `Authorization: Bearer …`.' },
      ...(sessions === undefined ? {} : { refreshToken: { type: 'string' } }),
      authentication: any,
      ...(entity == null ? {} : { [entity]: any }),
    },
    additionalProperties: true,
  }
  const data: JSONSchema = {
    type: 'object',
    required: ['strategy'],
    properties: {
      strategy: { type: 'string', enum: [...authStrategies, ...refresh] },
      ...local.properties,
      ...(authStrategies.includes(JWT) ? { accessToken: { type: 'string' } } : {}),
      ...(sessions === undefined ? {} : { refreshToken: { type: 'string' } }),
    },
    additionalProperties: true,
    // A page fills in all properties otherwise: the token of one strategy beside the password of another.
    ...(local.example === null ? {} : { examples: [local.example] }),
  }
  const query: JSONSchema = { type: 'object', additionalProperties: false }
  return { data: method === 'remove' ? undefined : data, query, result }
}

/** Returns the fields that the strategy of passwords reads, and a login by it where it is allowed. */
function describeLocal({ authStrategies, ...settings }: Authentication['configuration']) {
  const { usernameField, passwordField } = (settings[LOCAL] ?? {}) as Record<string, string>
  if (usernameField === undefined || passwordField === undefined) {
    return { properties: {}, example: null }
  }
  const login = { [usernameField]: 'ann@example.org', [passwordField]: 'correct horse battery' }
  return {
    properties: {
      [usernameField]: { type: 'string' },
      [passwordField]: { type: 'string', format: 'password' },
    },
    example: authStrategies.includes(LOCAL) ? { strategy: LOCAL, ...login } : null,
  }
}
