import { isAuthentication } from '../../auth/default-authentication.ts'
import { isPageService } from '../../auth/oauth/page-services.ts'
import type { Application, ServiceEntry, StandardMethod } from '../../core/index.ts'
import { isStandardMethod } from '../../core/index.ts'
import { findIdNames } from '../../core/schema/resolvers/selection.ts'
import { allowsMany } from '../../core/services/multi-option.ts'
import type { MethodSchemas } from '../../core/services/service-schemas.ts'
import { toLoginSchemas } from './login-schemas.ts'
import type { OperationKind } from './operation-kinds.ts'
import { LOGIN_KINDS, RECORD_KINDS, SINGLETON_KINDS } from './operation-kinds.ts'
import type { Paging } from './page-schema.ts'
import { readPaging } from './page-schema.ts'
import type { Security } from './service-security.ts'
import { readLogoutSecurity, readSecurity } from './service-security.ts'

/** What the document says of one method. */
export interface MethodDescription {
  readonly name: string
  /** `undefined` where nothing is known. */
  readonly schemas: MethodSchemas | undefined
  /** `null` where anybody may call it. */
  readonly security: Security | null
}

/** What the document says of a service: all that it is written from. */
export interface ServiceDescription {
  /** The path that the service is registered at. */
  readonly path: string
  readonly methods: readonly MethodDescription[]
  readonly paging: Paging
  /** The standard methods that may write many records at once. */
  readonly multi: ReadonlySet<StandardMethod>
  /** The operations that it may have. */
  readonly kinds: readonly OperationKind[]
  /** The names that the id of a record may have. */
  readonly idNames: readonly string[]
  /** Whether this is an authentication service. */
  readonly isLogin: boolean
}

/** Returns the schemas of a method as they hold over HTTP, `undefined` where there are none. */
export type SchemaSource = (entry: ServiceEntry, method: string) => MethodSchemas | undefined

/** The methods of an authentication service that callers need: to log in, and out. */
const LOGIN_METHODS: readonly string[] = ['create', 'remove']

const MULTI_METHODS: readonly StandardMethod[] = ['create', 'patch', 'remove']

/** Returns what the document says of a service, `null` for one that only browsers are sent to. */
export function describeService(
  app: Application,
  path: string,
  entry: ServiceEntry,
  toSchemas: SchemaSource,
): ServiceDescription | null {
  const { service } = entry
  if (isPageService(service)) return null
  const isLogin = isAuthentication(service)
  const names = [...entry.methods].flatMap(([name, { external }]) => (external ? [name] : []))
  const shown = isLogin ? names.filter((name) => isShownOfLogin(name)) : names
  const methods = shown.map((name): MethodDescription => {
    const schemas = toSchemas(entry, name) ?? (isLogin ? toLoginSchemas(service, name) : undefined)
    const isLogout = isLogin && name === 'remove'
    const security = isLogout ? readLogoutSecurity(app) : readSecurity(app, entry, name)
    return { name, schemas, security }
  })
  const kinds = isLogin ? LOGIN_KINDS : toRecordKinds(entry)
  const { options } = service as { readonly options?: unknown }
  // Of services that are no adapters nobody knows, and clients rarely ask them.
  const multi = new Set(MULTI_METHODS.filter((name) => allowsMany(name, options) === true))
  const idNames = findIdNames(service)
  return { path, methods, paging: readPaging(service), multi, kinds, idNames, isLogin }
}

function toRecordKinds({ options }: ServiceEntry): readonly OperationKind[] {
  return options.singleton ? SINGLETON_KINDS : RECORD_KINDS
}

function isShownOfLogin(name: string): boolean {
  return !isStandardMethod(name) || LOGIN_METHODS.includes(name)
}
