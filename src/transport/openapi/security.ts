import type { Authentication, LoginDescription, LoginExtension } from '../../auth/authentication.ts'
import { authenticationServices, isAuthentication } from '../../auth/default-authentication.ts'
import { findRequiredProof } from '../../auth/hooks/open-methods.ts'
import type { RequiredProof } from '../../auth/method-description.ts'
import type { Application, ServiceEntry } from '../../core/index.ts'
import type { JSONSchema, MethodSchemas } from '../../core/services/service-schemas.ts'
import { getMiddleware } from '../middleware.ts'
import type { DocumentSchema } from './components.ts'
import { findName } from './components.ts'

/** Schemes that are all to be passed, by their names. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>

/** What callers of a method have to prove. */
export interface Security {
  /** The `security` of the operation, of which one is enough; empty where nobody knows how to prove it. */
  readonly requirements: readonly SecurityRequirement[]
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

/** The security schemes of a document, by their names. */
export type SecuritySchemes = Record<string, DocumentSchema>

/**
 * Returns the security of a method, `null` if anybody may call it. A logout takes the token that it ends.
 * @param schemes gets the schemes that the security names
 */
export function readSecurity(
  app: Application,
  entry: ServiceEntry,
  method: string,
  schemes: SecuritySchemes,
): Security | null {
  const { service } = entry
  if (method === 'remove' && isAuthentication(service)) {
    const logout = toSecurity(app, { strategies: [JWT], authentication: service }, schemes)
    const others = listLoginSchemes(service, null).map(([name, scheme]) => {
      return { [addScheme(schemes, name, scheme)]: [] }
    })
    return { requirements: [...(logout?.requirements ?? []), ...others] }
  }
  const before = getMiddleware(entry)?.before
  return toSecurity(app, findRequiredProof(entry, method, before), schemes)
}

/**
 * Returns the security of what callers must prove, `null` if they need not prove anything.
 * @param schemes gets the schemes that the security names
 */
export function toSecurity(
  app: Application,
  proof: RequiredProof | null,
  schemes: SecuritySchemes,
): Security | null {
  if (proof === null) return null
  const { strategies } = proof
  const names = strategies.flatMap((strategy) =>
    listSchemes(app, proof, strategy).map(([name, scheme]) => addScheme(schemes, name, scheme)),
  )
  const requirements: SecurityRequirement[] = [...new Set(names)].map((name) => ({ [name]: [] }))
  if (requirements.length > 0 && strategies.includes(ANONYMOUS)) requirements.push({})
  return { requirements }
}

type NamedScheme = readonly [name: string, scheme: DocumentSchema]

/** Strategies say what they read; of those that do not, `authenticate` says that there is a proof. */
function listSchemes(app: Application, proof: RequiredProof, name: string): NamedScheme[] {
  const own = proof.authentication === null ? [] : [proof.authentication]
  const authentication = [...own, ...authenticationServices(app).values()].find(
    (service) => service.getStrategy(name) !== undefined,
  )
  const scheme =
    authentication?.getStrategy(name)?.securityScheme ?? (name === JWT ? BEARER_SCHEME : undefined)
  const schemes: NamedScheme[] = []
  if (scheme !== undefined) {
    const isBearer = scheme['scheme'] === BEARER
    schemes.push([isBearer ? BEARER : name.replace(/[^A-Za-z0-9._-]/g, ''), scheme])
  }
  return authentication === undefined
    ? schemes
    : [...schemes, ...listLoginSchemes(authentication, name)]
}

/** Returns what extensions of logins accept in place of a strategy, `null` for a logout. */
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

/** Adds a scheme by a name that is free or has the same scheme already. Returns the name. */
function addScheme(schemes: SecuritySchemes, name: string, scheme: DocumentSchema): string {
  const isFree = (one: string): boolean => {
    return schemes[one] === undefined || JSON.stringify(schemes[one]) === JSON.stringify(scheme)
  }
  const free = findName([name], isFree)
  schemes[free] = scheme
  return free
}

/** Returns what a login sends and gets, by the settings of an authentication service. */
export function toLoginSchemas(
  {
    configuration,
    loginExtensions = [],
  }: Pick<Authentication, 'configuration'> & Partial<Authentication>,
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
