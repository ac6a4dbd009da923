import { authenticationServices } from '../../auth/default-authentication.ts'
import { findStrategies } from '../../auth/hooks/open-methods.ts'
import type { Application, ServiceEntry } from '../../core/index.ts'

/** How an HTTP request proves who sends it. @see https://spec.openapis.org/oas/v3.1.1.html#security-scheme-object */
type SecurityScheme = Readonly<Record<string, unknown>>

/** What callers of a method have to prove. */
export interface Security {
  /** The schemes of which one is enough, by their names. Empty where nobody knows them. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>
  /** Whether callers who prove nothing are let in as well. */
  readonly isOptional: boolean
}

/** The name that the scheme of tokens has in documents. */
const BEARER = 'bearer'

const BEARER_SCHEME: SecurityScheme = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'The `accessToken` that a login returns.',
}

/** The strategy that accepts callers who prove nothing, in Feathers too. */
const ANONYMOUS = 'anonymous'

/** The strategy of tokens, for documents of applications without an authentication service. */
const JWT = 'jwt'

/** Returns what the `authenticate` hook of a method asks for, `null` where there is none. */
export function readSecurity(
  app: Application,
  entry: ServiceEntry,
  method: string,
): Security | null {
  const strategies = findStrategies(entry, method)
  if (strategies === null) return null
  const schemes = strategies.flatMap((name) => {
    const scheme = findScheme(app, name)
    return scheme === undefined ? [] : [[toSchemeName(name, scheme), scheme]]
  })
  return { schemes: Object.fromEntries(schemes), isOptional: strategies.includes(ANONYMOUS) }
}

/** Returns what ends a login: its token. */
export function readLogoutSecurity(app: Application): Security {
  const scheme = findScheme(app, JWT) ?? BEARER_SCHEME
  return { schemes: { [toSchemeName(JWT, scheme)]: scheme }, isOptional: false }
}

/** Strategies say what they read; of those that do not, `authenticate` says that there is a proof. */
function findScheme(app: Application, name: string): SecurityScheme | undefined {
  for (const authentication of authenticationServices(app).values()) {
    const strategy = authentication.getStrategy(name)
    if (strategy !== undefined) return strategy.securityScheme
  }
  return name === JWT ? BEARER_SCHEME : undefined
}

function toSchemeName(strategy: string, { scheme }: SecurityScheme): string {
  return scheme === BEARER ? BEARER : strategy.replace(/[^A-Za-z0-9._-]/g, '')
}

/** Returns the security of an operation; `undefined` where anybody may call it, or nobody knows how. */
export function toSecurity(security: Security | null): readonly object[] | undefined {
  if (security === null) return undefined
  const requirements = Object.keys(security.schemes).map((name) => ({ [name]: [] }))
  if (requirements.length === 0) return undefined
  return security.isOptional ? [...requirements, {}] : requirements
}
