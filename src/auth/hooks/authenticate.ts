import { addHookCheck } from '../../core/advice/hook-check.ts'
import { Hint } from '../../core/errors/hint.ts'
import { markAuthenticating } from '../../core/hooks/authenticating-hook.ts'
import { markHookFactory } from '../../core/hooks/hook-factory.ts'
import type { Application, Params } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { createNotAuthenticated } from '../auth-errors.ts'
import type { Authentication, AuthenticationResult } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { toInternalParams } from '../authentication-params.ts'
import { findAuthentication } from '../default-authentication.ts'
import type { Proof } from '../strategies/proof.ts'
import { findProof, proveAuthentication } from '../strategies/proof.ts'
import { limitProof } from '../throttle/limit-proof.ts'
import { checkAuthenticate, NO_SERVICE } from './authenticate-check.ts'
import type { HookCall } from './hook-call.ts'
import { reportFailure } from './login-events.ts'

/** Which strategies may prove who calls. */
export interface AuthenticateOptions {
  /** The path of the authentication service. Default: the default one. */
  readonly service?: string
  /** The names of the strategies that may prove it. */
  readonly strategies: readonly string[]
}

/** A hook for before or around: what `authenticate` returns. */
export type AuthenticateHook = (
  context: HookCall,
  next?: () => Promise<void>,
) => Promise<void> | undefined

const RULES: OptionRules = { service: OPTION.string, strategies: OPTION.stringList }

const MISSING = new Hint(NO_SERVICE)

/** Keys of a strategy's result that never become params. */
const KEPT_KEYS: ReadonlySet<string> = new Set(['accessToken', 'provider', 'authentication'])

/**
 * Returns a before or around hook that lets a call pass only if one of the strategies proves who
 * calls: `authenticate('jwt')`, or `authenticate({ service, strategies })`. The params then have
 * `authentication`, and the entity as `user`. Internal calls pass without authentication.
 * @throws {NotAuthenticated} in calls: nothing is proven
 * @throws {TypeError} when the application is set up: there is no such strategy, or no
 *   authentication service
 */
export function authenticate(
  first: string | AuthenticateOptions,
  ...others: string[]
): AuthenticateHook {
  const options = toOptions(first, others)
  const hook: AuthenticateHook = (context, next) => {
    const { type, app } = context
    if (type && type !== 'around' && type !== 'before') {
      throw createNotAuthenticated('The authenticate hook must be used as a before hook')
    }
    const service = findService(app as Application, options)
    if ((service as object) === context.service) {
      throw createNotAuthenticated(
        'The authenticate hook does not need to be used on the authentication service',
      )
    }
    const pending = proveParams(service, context, options.strategies)
    if (type === 'before') return pending
    return pending === undefined ? next?.() : pending.then(next)
  }
  const checked = addHookCheck(hook, (place) => checkAuthenticate(place, options))
  return markAuthenticating(checked, options.strategies)
}

/**
 * Returns params with who calls, as the `authenticate` hook makes them: params of a class are
 * changed in place, object literals are copied.
 * @throws {NotAuthenticated} nothing is proven
 */
export async function authenticateParams(
  app: Application,
  params: Params,
  first: string | AuthenticateOptions,
  ...others: string[]
): Promise<Params> {
  const options = toOptions(first, others)
  const holder = { params }
  await proveParams(findService(app, options), holder, options.strategies)
  return holder.params
}

function toOptions(
  first: string | AuthenticateOptions | undefined,
  others: readonly string[],
): AuthenticateOptions {
  const options =
    typeof first === 'object' && first !== null
      ? first
      : { strategies: [first, ...others].filter((name) => typeof name === 'string') }
  if (!Array.isArray(options.strategies) || options.strategies.length === 0) {
    throw new TypeError(
      "The authenticate hook needs at least one allowed strategy: authenticate('jwt')",
    )
  }
  checkOptions('authenticate()', options, RULES)
  return options
}

function findService(app: Application, { service: path }: AuthenticateOptions): Authentication {
  const service = findAuthentication(app, path)
  if (typeof service?.authenticate !== 'function') {
    throw createNotAuthenticated(
      'Could not find a valid authentication service',
      undefined,
      MISSING,
    )
  }
  return service
}

/** What holds the params of a call, a hook's context for example. */
interface ParamsHolder {
  params: Params
  /** The service that is called. */
  readonly service?: object
}

/** Proves who calls. Returns `undefined`, and no promise, where nothing has to be proven. */
function proveParams(
  service: Authentication,
  holder: ParamsHolder,
  strategies: readonly string[],
): Promise<void> | undefined {
  const { params } = holder
  if (isProven(service, holder, strategies)) return undefined
  if (params.authentication) return proveAnew(service, holder, strategies)
  if (params.provider) throw createNotAuthenticated('Not authenticated')
  return undefined
}

/**
 * Whether an earlier hook has proven these params, or params that they were spread from. Calls
 * inside the process may also set `authenticated` themselves, as they could leave out the
 * authentication.
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
  return (
    (proof.service === service || isOfEntity(proof, holder)) &&
    (proof.strategy === null || strategies.includes(proof.strategy)) &&
    proof.entity === getEntity(service, params, proof.entityName)
  )
}

/** Whether the call is for the entity's own service, as the one that reads it for a login is. */
function isOfEntity({ entityService }: Proof, { service }: ParamsHolder): boolean {
  return entityService !== undefined && entityService === service
}

/** Guesses of callers outside are limited and logged as those of a login are. */
function proveCaller(
  service: Authentication,
  params: AuthenticationParams,
  strategies: readonly string[],
): Promise<AuthenticationResult> {
  const { authentication, provider } = params
  const name = authentication?.strategy ?? ''
  const strategy = provider && strategies.includes(name) ? service.getStrategy(name) : undefined
  if (!authentication || strategy?.limitGuesses === undefined) {
    return service.authenticate(authentication, toInternalParams(params), ...strategies)
  }
  const prove = (added?: AuthenticationParams) =>
    service.authenticate(authentication, { ...toInternalParams(params), ...added }, ...strategies)
  return limitProof(service, strategy, authentication, params, prove).catch((error: unknown) => {
    reportFailure(service, 'login', { data: authentication, params }, error)
    throw error
  })
}

async function proveAnew(
  service: Authentication,
  holder: ParamsHolder,
  strategies: readonly string[],
): Promise<void> {
  const { params } = holder
  const { authentication } = params
  const result = await proveCaller(service, params, strategies)
  const changed: Record<string, unknown> = toWritable(params)
  for (const key of Object.keys(result)) {
    if (!KEPT_KEYS.has(key)) changed[key] = result[key]
  }
  changed['authenticated'] = true
  changed['authentication'] = proveAuthentication(toAuthentication(result, params), {
    service,
    strategy: authentication?.strategy ?? null,
    entity: getEntity(service, changed),
  })
  if (changed !== params) holder.params = changed
}

/**
 * Returns params that may be changed. Plain objects may belong to the caller: they are copied.
 * Objects of a class come from a transport and belong to this call alone; a copy would lose
 * their getters.
 */
function toWritable(params: object): Record<string, unknown> {
  return isPlainObject(params) ? { ...params } : (params as Record<string, unknown>)
}

function toAuthentication(result: AuthenticationResult, params: AuthenticationParams): object {
  return result.authentication ?? params.authentication ?? {}
}

function getEntity(
  service: Authentication,
  params: object,
  name = service.configuration.entity,
): unknown {
  return name == null ? undefined : (params as Record<string, unknown>)[name]
}

markHookFactory(authenticate, "authenticate('jwt')")
