import type { Authentication, LoginDescription, LoginExtension } from '../../auth/authentication.ts'
import { authenticationServices, isAuthentication } from '../../auth/default-authentication.ts'
import { findRequiredProof } from '../../auth/hooks/open-methods.ts'
import type { RequiredProof } from '../../auth/method-description.ts'
import type { Application, ServiceEntry } from '../../core/index.ts'
import type { JSONSchema, MethodSchemas } from '../../core/services/service-schemas.ts'
import { getMiddleware } from '../middleware.ts'
import type { DocumentSchema } from './components.ts'
import { findName } from './components.ts'

/** Schemes that must all be passed, by their names. Of several requirements, one is enough. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>

/** The name that the scheme of tokens has in documents. */
const BEARER = 'bearer'

/** @see https://spec.openapis.org/oas/v3.1.1.html#security-scheme-object */
const BEARER_SCHEME: DocumentSchema = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'The `accessToken` that a login returns.',
}

/** The strategy that accepts anonymous callers, as in Feathers. */
const ANONYMOUS = 'anonymous'

/** The strategy of tokens, for documents of applications without an authentication service. */
const JWT = 'jwt'

/** The strategy of passwords. */
const LOCAL = 'local'

/** The security schemes of a document, by their names. */
export type SecuritySchemes = Record<string, DocumentSchema>

/**
 * Returns what callers of a method must prove, `null` if nothing. A logout takes the token that it ends.
 * @param schemes receives the schemes that the requirements name
 */
export function readSecurity(
  app: Application,
  entry: ServiceEntry,
  method: string,
  schemes: SecuritySchemes,
): readonly SecurityRequirement[] | null {
  const { service } = entry
  if (method !== 'remove' || !isAuthentication(service)) {
    const before = getMiddleware(entry)?.before
    return toSecurity(app, findRequiredProof(entry, method, before), schemes)
  }
  const logout = listSchemes(app, { strategies: [JWT], authentication: service }, JWT)
  return addSchemes(schemes, [...logout, ...listLoginSchemes(service, null)])
}

/**
 * Returns requirements for a proof, `null` without one; an empty list if it is unknown how to provide it.
 * @param schemes receives the schemes that the requirements name
 */
export function toSecurity(
  app: Application,
  proof: RequiredProof | null,
  schemes: SecuritySchemes,
): readonly SecurityRequirement[] | null {
  if (proof === null) return null
  const { strategies } = proof
  const named = strategies.flatMap((strategy) => listSchemes(app, proof, strategy))
  const isOptional = named.length > 0 && strategies.includes(ANONYMOUS)
  return [...addSchemes(schemes, named), ...(isOptional ? [{}] : [])]
}

type NamedScheme = readonly [name: string, scheme: DocumentSchema]

/** Strategies describe what they read; for those that do not, `authenticate` says that a proof is needed. */
function listSchemes(app: Application, proof: RequiredProof, name: string): NamedScheme[] {
  const own = proof.authentication === null ? [] : [proof.authentication]
  const authentication = [...own, ...authenticationServices(app).values()].find(
    (service) => service.getStrategy(name) !== undefined,
  )
  const scheme =
    authentication?.getStrategy(name)?.securityScheme ?? (name === JWT ? BEARER_SCHEME : undefined)
  const isBearer = scheme?.['scheme'] === BEARER
  const schemeName = isBearer ? BEARER : name.replace(/[^A-Za-z0-9._-]/g, '')
  return [
    ...(scheme === undefined ? [] : [[schemeName, scheme] as const]),
    ...(authentication === undefined ? [] : listLoginSchemes(authentication, name)),
  ]
}

/** Returns what login extensions accept instead of a strategy, `null` for a logout. */
function listLoginSchemes(
  { loginExtensions = [] }: Authentication,
  strategy: string | null,
): NamedScheme[] {
  return describeLogins(loginExtensions)
    .flatMap(({ schemes = [] }) => schemes)
    .filter((one) => one.strategy === strategy)
    .map(({ name, scheme }) => [name, scheme])
}

function describeLogins(extensions: readonly LoginExtension[]): LoginDescription[] {
  return extensions.flatMap((one) => one.describe?.() ?? [])
}

/** Adds schemes, each under a name that is free or already has the same scheme. Returns a requirement for each. */
function addSchemes(
  schemes: SecuritySchemes,
  named: readonly NamedScheme[],
): readonly SecurityRequirement[] {
  const names = named.map(([name, scheme]) => {
    const text = JSON.stringify(scheme)
    const free = findName([name], (one) => JSON.stringify(schemes[one] ?? scheme) === text)
    schemes[free] = scheme
    return free
  })
  return [...new Set(names)].map((name) => ({ [name]: [] }))
}

/** Returns the data and the result of a login, by the settings of an authentication service. */
export function toLoginSchemas(
  { configuration, loginExtensions = [] }: Authentication,
  method: string,
): MethodSchemas {
  const { authStrategies, entity } = configuration
  const added = describeLogins(loginExtensions)
  const tokens = Object.entries({
    accessToken: { type: 'string', description: 'The token for `Authorization: Bearer …`.' },
    ...Object.assign({}, ...added.map(({ result }) => result)),
  }).filter(([, schema]) => schema !== null)
  const accessToken = tokens.some(([name]) => name === 'accessToken') ? ['accessToken'] : []
  const strategies = loginExtensions.flatMap(({ strategies: names = [] }) => names)
  const local = describeLocal(configuration)
  const any: JSONSchema = { type: 'object', additionalProperties: true }
  const result: JSONSchema = {
    type: 'object',
    required: [...accessToken, 'authentication'],
    properties: {
      ...Object.fromEntries(tokens),
      authentication: any,
      ...(entity == null ? {} : { [entity]: any }),
    },
    additionalProperties: true,
  }
  const data: JSONSchema = {
    type: 'object',
    required: ['strategy'],
    properties: {
      strategy: { type: 'string', enum: [...authStrategies, ...strategies] },
      ...local.properties,
      ...(authStrategies.includes(JWT) ? { accessToken: { type: 'string' } } : {}),
      ...Object.assign({}, ...added.map(({ data: fields }) => fields)),
    },
    additionalProperties: true,
    // Otherwise a page fills in all properties: the token of one strategy next to the password of another.
    ...(local.example === null ? {} : { examples: [local.example] }),
  }
  const query: JSONSchema = { type: 'object', additionalProperties: false }
  return { data: method === 'remove' ? undefined : data, query, result }
}

/** Returns the fields that the strategy of passwords reads, and an example of a login if it is allowed. */
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
