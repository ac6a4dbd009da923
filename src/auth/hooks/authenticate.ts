import { LoginMisconfigured, LoginRequired } from '../../core/errors/coded-errors.ts'
import { Hint } from '../../core/errors/hint.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import type { FunctionMetadata, HookPlace } from '../../core/function-metadata.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import type { Application, Params } from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import { suggestName } from '../../core/options/name-suggestion.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { createRefusal } from '../auth-errors.ts'
import type { Authentication, AuthenticationResult } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { createInternalParams } from '../authentication-params.ts'
import { authenticationServices, findAuthentication } from '../default-authentication.ts'
import { findProof, limitProof, proveAuthentication } from '../proof.ts'
import type { HookCall } from './hook-call.ts'
import { reportFailure } from './login-events.ts'
import { warnOfOpenMethods } from './open-methods.ts'

/** The strategies that may authenticate a caller. */
export interface AuthenticateOptions {
  /** The path of the authentication service. Default: the default one. */
  readonly service?: string
  /** The names of the strategies that may authenticate a caller. */
  readonly strategies: readonly string[]
}

/** A before or around hook, as returned by `authenticate`. */
export type AuthenticateHook = (
  context: HookCall,
  next?: () => Promise<void>,
) => Promise<void> | undefined

const RULES: OptionRules = { service: OPTION.string, strategies: OPTION.stringList }

/** The problem of an `authenticate` hook without an authentication service. */
const NO_SERVICE =
  "there is no authentication service: app.use('authentication', new AuthenticationService(app))"

const MISSING = new Hint(NO_SERVICE)

/** Keys of a strategy's result that never become params. */
const KEPT_KEYS: ReadonlySet<string> = new Set(['accessToken', 'provider', 'authentication'])

/**
 * Returns a before or around hook that lets a call pass only if one of the strategies authenticates the caller:
 * `authenticate('jwt')`, or `authenticate({ service, strategies })`. It adds `authentication` and the entity, as
 * `user`, to the params. Internal calls pass without authentication.
 * @throws {NotAuthenticated} in calls: no strategy authenticates the caller
 * @throws {TypeError} when the application is set up: a strategy or the authentication service does not exist
 */
export function authenticate(
  first: string | AuthenticateOptions,
  ...others: string[]
): AuthenticateHook {
  const options = readOptions(first, others)
  const hook: AuthenticateHook = (context, next) => {
    const { type, app } = context
    if (type && type !== 'around' && type !== 'before') {
      throw new LoginMisconfigured('The authenticate hook must be used as a before hook')
    }
    const service = findService(app as Application, options)
    if ((service as object) === context.service) {
      throw new LoginMisconfigured(
        'The authenticate hook does not need to be used on the authentication service',
      )
    }
    const pending = proveParams(service, context, options.strategies)
    if (type === 'before') return pending
    return pending === undefined ? next?.() : pending.then(next)
  }
  return describeFunction(hook, {
    ...describeProof(options),
    checkPlace: (place) => checkAuthenticate(place, options),
  })
}

/**
 * Returns params with the authenticated caller, as the `authenticate` hook sets them. Object literals are copied;
 * instances of a class are changed in place.
 * @throws {NotAuthenticated} no strategy authenticates the caller
 */
export async function authenticateParams(
  app: Application,
  params: Params,
  first: string | AuthenticateOptions,
  ...others: string[]
): Promise<Params> {
  const options = readOptions(first, others)
  const holder = { params }
  await proveParams(findService(app, options), holder, options.strategies)
  return holder.params
}

/** Returns the metadata of a function that authenticates callers. */
export function describeProof({ strategies, service }: AuthenticateOptions): FunctionMetadata {
  return { strategies, ...(service !== undefined && { authentication: service }) }
}

function readOptions(
  first: string | AuthenticateOptions | undefined,
  others: readonly string[],
): AuthenticateOptions {
  const options =
    typeof first === 'object' && first !== null
      ? first
      : { strategies: [first, ...others].filter((name) => typeof name === 'string') }
  if (!Array.isArray(options.strategies) || options.strategies.length === 0) {
    throw new HookError(
      "The authenticate hook needs at least one allowed strategy: authenticate('jwt')",
    )
  }
  checkOptions('authenticate()', options, RULES)
  return options
}

function findService(app: Application, { service: path }: AuthenticateOptions): Authentication {
  const service = findAuthentication(app, path)
  if (typeof service?.authenticate !== 'function') {
    throw createRefusal(
      'Could not find a valid authentication service',
      MISSING,
      LoginMisconfigured,
    )
  }
  return service
}

/** An object that holds the params of a call, for example a hook context. */
type ParamsHolder = Pick<HookCall, 'params'> & Partial<Pick<HookCall, 'service'>>

/**
 * Authenticates the caller, and sets `params` of the holder to params with the entity and the proven `authentication`.
 * Returns `undefined`, and no promise, if there is nothing to prove.
 * @throws {NotAuthenticated} no strategy authenticates the caller
 */
export function proveParams(
  service: Authentication,
  holder: ParamsHolder,
  strategies: readonly string[],
): Promise<void> | undefined {
  const { params } = holder
  if (isProven(service, holder, strategies)) return undefined
  if (params.authentication) return proveAnew(service, holder, strategies)
  if (params.provider) throw new LoginRequired('Not authenticated')
  return undefined
}

/**
 * Returns whether an earlier hook has proven these params, or params that they were spread from. Internal calls may set
 * `authenticated` themselves, as they could leave out the authentication too.
 */
function isProven(
  service: Authentication,
  holder: ParamsHolder,
  strategies: readonly string[],
): boolean {
  const params: AuthenticationParams = holder.params
  if (!params.provider && params.authenticated === true) return true
  const proof = findProof(params.authentication)
  if (proof === undefined) return false
  // The entity's own service is the one that reads the entity for a login.
  const isOfEntity = proof.entityService !== undefined && proof.entityService === holder.service
  return (
    (proof.service === service || isOfEntity) &&
    (proof.strategy === null || strategies.includes(proof.strategy)) &&
    proof.entity === getEntity(service, params, proof.entityName)
  )
}

async function proveAnew(
  service: Authentication,
  holder: ParamsHolder,
  strategies: readonly string[],
): Promise<void> {
  const { params } = holder
  const { authentication, provider } = params
  const prove = (added?: AuthenticationParams): Promise<AuthenticationResult> =>
    service.authenticate(authentication, createInternalParams(params, added), ...strategies)
  const name = authentication?.strategy ?? ''
  const strategy = provider && strategies.includes(name) ? service.getStrategy(name) : undefined
  // Guesses of external callers are limited and logged like those of a login.
  const proving =
    authentication && strategy?.limitGuesses !== undefined
      ? limitProof(service, strategy, authentication, params, prove).catch((error: unknown) => {
          reportFailure(service, 'login', { data: authentication, params }, error)
          throw error
        })
      : prove()
  const result = await proving
  // Instances of a class come from a transport and belong to this call only; a copy would lose their getters. Plain
  // objects may belong to the caller and are copied.
  const changed: Record<string, unknown> = isPlainObject(params)
    ? { ...params }
    : (params as Record<string, unknown>)
  for (const key of Object.keys(result)) {
    if (!KEPT_KEYS.has(key)) changed[key] = result[key]
  }
  changed['authenticated'] = true
  changed['authentication'] = proveAuthentication(result.authentication ?? authentication, {
    service,
    strategy: authentication?.strategy ?? null,
    entity: getEntity(service, changed),
  })
  if (changed !== params) holder.params = changed
}

function getEntity(
  service: Authentication,
  params: object,
  name = service.configuration.entity,
): unknown {
  return name == null ? undefined : (params as Record<string, unknown>)[name]
}

/**
 * Checks an `authenticate` hook when the application is set up: a mistake would reject every call. Warns of methods of
 * the service that lack one.
 * @throws {TypeError} the hook runs too late, or a strategy or the authentication service does not exist
 */
export function checkAuthenticate(
  place: HookPlace,
  { service: path, strategies }: AuthenticateOptions,
): void {
  const names = strategies.map((name) => `'${name}'`).join(', ')
  const hook = `authenticate(${names}) in ${place.label}`
  if (place.group === 'after' || place.group === 'error') {
    throw new HookError(`${hook} runs too late: register it in 'before' or 'around'`)
  }
  const service = checkService(place.app as Application, path, hook)
  if ((service as object) === place.service) {
    throw new HookError(`${hook} would refuse each login: remove it from this service`)
  }
  const { strategyNames, configuration, configKey } = service
  if (place.service !== undefined) warnOfOpenMethods(place.service)
  // A service that is not an `AuthenticationService` may not list its strategies.
  if (!Array.isArray(strategyNames)) return
  // A strategy that is registered later must have a section in the settings.
  const known = [...strategyNames, ...Object.keys(configuration ?? {})]
  const unknown = strategies.find((name) => !known.includes(name))
  if (unknown === undefined) return
  const hint = suggestName(unknown, strategyNames)
  throw new HookError(
    `${hook}: '${unknown}' is not a strategy of '${configKey}'${hint || `, registered are ${strategyNames.join(', ') || 'none'}`}`,
  )
}

function checkService(app: Application, path: string | undefined, hook: string): Authentication {
  if (path !== undefined && !app.entries.has(toServicePath(path))) {
    const hint = suggestName(path, app.entries.keys())
    throw new HookError(`${hook}: its option 'service' is '${path}', where no service is${hint}`)
  }
  const service = findAuthentication(app, path)
  if (typeof service?.authenticate === 'function') return service
  if (path !== undefined) {
    throw new HookError(
      `${hook}: its option 'service' names '${path}', which is not an authentication service`,
    )
  }
  const keys = [...authenticationServices(app).keys()].join(', ')
  throw new HookError(
    `${hook}: ${keys === '' ? NO_SERVICE : `the setting 'defaultAuthentication' must be one of ${keys}`}`,
  )
}

describeFunction(authenticate, { hookFactory: "authenticate('jwt')" })
